"""Which key promises are worth marking: those that some purge tree asks for and that no FOLLOWS closes at once."""

from __future__ import annotations

from penstock.plan.plan import Closer, CloserKind, Plan


def mark_name(closer: Closer) -> str:
    """The name of the mask that holds, for rows of the source, whether the key of the target closed them."""
    return f"{closer.source}>{closer.target}({','.join(closer.target_columns)})"


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
        if c.kind is CloserKind.KEY and (c.source, c.target) in asked and (c.source, c.target) not in at_once
    )


def mark_names(plan: Plan, alias: str) -> tuple[str, ...]:
    """The masks that rows of an alias carry."""
    return tuple(mark_name(c) for c in key_closers(plan) if c.source == alias)
