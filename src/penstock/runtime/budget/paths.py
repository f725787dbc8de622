"""From a tuple to the streams that it joins: for each stream of the query a tree over the others, by shared keys.

A node is a stream seen from its parent in the tree, by the columns that the two share; a stream that shares no key with
any that is reached hangs under the root, by no columns: every row of it may meet. Nodes that look alike below (same
stream, same columns, same children) are one, whatever the root, so that statistics about them are kept once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.plan.plan import Plan


@dataclass(frozen=True)
class PathNode:
    """A stream below a parent; `columns` are its own, `parent_columns` those of the parent that must be equal."""

    alias: str
    columns: tuple[str, ...]
    children: tuple[PathNode, ...]
    parent_columns: tuple[str, ...] = field(compare=False)

    def below(self) -> Iterator[PathNode]:
        """It and all nodes under it, children first."""
        for child in self.children:
            yield from child.below()
        yield self


def paths_from(plan: Plan, root: str) -> tuple[PathNode, ...]:
    """The nodes that hang directly under a stream."""
    parent_of: dict[str, str] = {}
    reached = [root]
    for alias in reached:
        for other in plan.aliases:
            if other not in reached and _shared(plan, alias, other)[0]:
                parent_of[other] = alias
                reached.append(other)
    for other in plan.aliases:
        if other not in reached:
            parent_of[other] = root
            reached.append(other)
    return _children(plan, root, parent_of)


def neighbours_of(plan: Plan, root: str) -> tuple[PathNode, ...]:
    """The streams that share a key with a stream, without what lies behind them."""
    found = []
    for other in plan.aliases:
        own, theirs = _shared(plan, root, other)
        if other != root and own:
            found.append(PathNode(other, theirs, (), own))
    return tuple(found)


def _children(plan: Plan, alias: str, parent_of: dict[str, str]) -> tuple[PathNode, ...]:
    found = []
    for other in plan.aliases:
        if parent_of.get(other) == alias:
            own, theirs = _shared(plan, alias, other)
            found.append(PathNode(other, theirs, _children(plan, other, parent_of), own))
    return tuple(found)


def _shared(plan: Plan, alias: str, other: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the two that are equal in every result."""
    pairs = []
    for axis in plan.axes:
        own, theirs = axis.column(alias), axis.column(other)
        if own is not None and theirs is not None:
            pairs.append((own, theirs))
    return tuple(own for own, _ in pairs), tuple(theirs for _, theirs in pairs)
