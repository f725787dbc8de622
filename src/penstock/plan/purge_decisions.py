"""What of the purge is decided by the plan alone: which promises are marked on rows, and how each block is asked.

**Marks.** A promise about values is marked on the rows that carry them. A punctuation and the end of a cluster always
are. A key is, where the purge rule may ask for it and no FOLLOWS closes at once: on a join tree the rule asks along the
purge trees; on other graphs, below other joins, and where punctuations close for several rows together, it may ask of
any two streams.

**By key.** Theorem. Let one class of equal columns tie all streams, and nothing else tie any; let every closer look at
the column of that class alone, and let whatever closes x for the rows of one stream close it for those of all others.
Then x is closed for a value, whoever carries it. If u leaves as dead or complete, every stored row p of its value for
which u's stream is closed is dead or complete by itself: the streams that closed for u closed for p at the same time,
and that one of them stores no row of the value is as true for p. So rows that leave by the rule stir no others, and one
look at each other stream decides (a star for a purge tree).

A promise about a value is remembered while a row that carries it is stored, so a row that comes later learns of it
too; one that ends by LIFESPAN is not, nor any under a budget. A key stands while its row is stored, and once that has
left no row is left that it closed. Once a broken promise was widened this may fail, and the runtime gives it up.
FOLLOWS closes row by row, and bands of other columns do not look at the key: there the theorem says nothing.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind
from penstock.plan.tree import BlockPlan, NodePlan

_HELD = (CloserKind.PUNCTUATION, CloserKind.CLUSTER)
_BY_VALUE = (CloserKind.KEY, *_HELD, CloserKind.BAND, CloserKind.ORDER)


def with_decisions(plan: Plan) -> Plan:
    """The plan with these decisions made."""
    nodes = tuple(_decided(plan, node) for node in plan.nodes)
    plan = replace(plan, tree=replace(plan.tree, nodes=nodes))
    plan = replace(plan, closers=tuple(replace(c, is_marked=_is_marked(plan, c)) for c in plan.closers))
    root = plan.tree.root
    if root.block is None or not _closes_by_key(plan):
        return plan
    nodes = (*plan.nodes[:-1], replace(root, block=replace(root.block, by_key=True)))
    return replace(plan, tree=replace(plan.tree, nodes=nodes))


def _decided(plan: Plan, node: NodePlan) -> NodePlan:
    return node if node.block is None else replace(node, block=replace(node.block, expanded=_expanded(plan, node)))


def _expanded(plan: Plan, node: NodePlan) -> bool:
    assert node.block is not None
    return node.block.join_tree is None or any(closer.target in node.aliases for closer in plan.joint_closers)


def _is_marked(plan: Plan, closer: Closer) -> bool:
    if closer.kind is not CloserKind.KEY:
        return closer.kind in _HELD
    at_once = any(
        c.kind is CloserKind.FOLLOWS and c.rows == 0 and not plan.in_arrival_order
        for c in plan.closers_between(closer.source, closer.target)
    )
    return not at_once and _may_be_asked(plan.tree.root.block, closer)


def _may_be_asked(block: BlockPlan | None, closer: Closer) -> bool:
    if block is None or block.expanded:
        return True
    edges = [(edge.parent, edge.child) for tree in block.purge_trees for edge in tree.edges]
    return (closer.source, closer.target) in edges


def _closes_by_key(plan: Plan) -> bool:
    if len(plan.axes) != 1 or plan.predicates or plan.agreements or plan.joint_closers:
        return False
    axis = plan.axes[0]
    if plan.evict is not None or any(axis.column(alias) is None for alias in plan.aliases):
        return False
    if any(p.kind is PromiseKind.PUNCTUATED and p.high is not None for p in plan.promises):
        return False
    for target in plan.aliases:
        closers = [c for c in plan.closers if c.target == target and (c.kind is not CloserKind.KEY or c.is_marked)]
        if not all(_is_about(c, axis.column(c.source)) for c in closers):
            return False
        ways = {
            frozenset((c.kind, c.target_columns, c.constraints) for c in closers if c.source == source)
            for source in plan.aliases
            if source != target
        }
        if len(ways) > 1:
            return False
    return True


def _is_about(closer: Closer, column: str | None) -> bool:
    """Whether a closer looks at that column alone, and at its very value."""
    return closer.kind in _BY_VALUE and closer.columns == (column,) and closer.is_exact
