"""Which promises about values are worth marking on the rows that carry them.

A key promise is, where the purge rule may ask for it and no FOLLOWS closes at once; a punctuation and the end of a
cluster always are. On a join
tree the rule asks along the purge trees; on other graphs, and where punctuations close for several rows together, it
may ask of any two streams.
"""

from __future__ import annotations

from penstock.plan.outer import NodePlan
from penstock.plan.plan import Closer, CloserKind, Plan

_SIGNS = {CloserKind.KEY: "", CloserKind.PUNCTUATION: "!", CloserKind.CLUSTER: "~"}

MATCHED, LEFT = "#matched", "#left"
"""Under outer joins: the row has matched, so it is given with no NULLs; it is done where it first meets others, and
stored only because rows that it is part of wait."""

DOUBTED, FOUND, UNSURE = "#doubted", "#found", "#unsure"
"""Where a budget evicts partners: one that was evicted may have matched the row; the account's sample has one that
does; it has none, but is not all that was evicted."""


def mark_name(closer: Closer) -> str:
    """The name of the mask that holds, for rows of the source, whether a promise of the target closed them."""
    by = _SIGNS[closer.kind]
    return f"{closer.source}>{closer.target}{by}({','.join(closer.target_columns)})"


def is_expanded(plan: Plan, node: NodePlan) -> bool:
    """Whether partial results of a block are looked at as a whole: messages along a tree would not decide the rule."""
    assert node.block is not None
    return node.block.join_tree is None or any(closer.target in node.aliases for closer in plan.joint_closers)


def key_closers(plan: Plan) -> tuple[Closer, ...]:
    """The key closers in use."""
    asked = {(edge.parent, edge.child) for tree in plan.purge_trees for edge in tree.edges}
    at_once = {
        (c.source, c.target)
        for c in plan.closers
        if c.kind is CloserKind.FOLLOWS and c.rows == 0 and not plan.in_arrival_order
    }
    return tuple(
        c
        for c in plan.closers
        if c.kind is CloserKind.KEY
        and ((c.source, c.target) in asked or not plan.inner or is_expanded(plan, plan.nodes[-1]))
        and (c.source, c.target) not in at_once
    )


def held_closers(plan: Plan) -> tuple[Closer, ...]:
    """The closers whose promise rows are held apart from the stored ones: of punctuations and of clusters."""
    return tuple(c for c in plan.closers if c.kind in (CloserKind.PUNCTUATION, CloserKind.CLUSTER))


def mark_names(plan: Plan, alias: str) -> tuple[str, ...]:
    """The masks that rows of an alias carry."""
    closers = (*key_closers(plan), *held_closers(plan))
    own = () if plan.outer is None else (MATCHED, LEFT)
    evicting = () if plan.outer is None or plan.evict is None else (DOUBTED, FOUND, UNSURE)
    return (*dict.fromkeys(mark_name(c) for c in closers if c.source == alias), *own, *evicting)
