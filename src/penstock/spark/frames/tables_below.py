"""A table joined in between: made with the stream that its condition is about, which is then a leaf.

`(a JOIN b) JOIN t` is `(a JOIN t) JOIN b` if the condition reads columns of a and t alone, every row of `a JOIN b`
holds one of a, and every row of the stream's side is looked up in the table, not the other way round. Filters and
columns in between are no matter; groups and distinct rows are. Of an inner join one part of the condition is enough:
what else it asks, of the other streams too, is a filter above.
"""

from __future__ import annotations

from penstock.spark.frames.catalyst import Catalyst, Node, children, conjuncts, items, kind, number_of, output

_TRANSPARENT = ("SubqueryAlias", "ResolvedHint", "View", "Filter")
_BOTH = ("INNER", "CROSS")
_KEEPS_LEFT = (*_BOTH, "LEFT OUTER", "LEFT SEMI", "LEFT ANTI")
_KEEPS_RIGHT = (*_BOTH, "RIGHT OUTER")


def with_table_below(catalyst: Catalyst, join: Node) -> Node | None:
    """A join of joined streams with a table as a join of streams, one of which meets the table; None if it is none."""
    left, right = children(join)
    written = str(join.joinType().sql())
    if written not in (_KEEPS_LEFT if left.isStreaming() else _KEEPS_RIGHT):
        return None
    condition = join.condition()
    named = set() if condition.isEmpty() else _named(condition.get())
    stream = left if left.isStreaming() else right
    found = _Table(catalyst, join, named).below(stream)
    if found is not None or written not in _BOTH:
        return found
    asked = [] if condition.isEmpty() else conjuncts(condition.get())
    # Equalities first: a table that is met by another condition gives many rows.
    for part in sorted(asked, key=lambda one: kind(one) != "EqualTo"):
        own = _named(part)
        on_both = own & {number_of(one) for one in output(stream)} and own - {number_of(one) for one in output(stream)}
        below = _Table(catalyst, catalyst.joined(join, [part]), own).below(stream) if on_both else None
        if below is not None:
            return catalyst.filtered([one for one in asked if one is not part], below)
    return None


def _named(expression: Node) -> set[int]:
    return {number_of(one) for one in items(expression.references().toSeq())}


class _Table:
    """A join with a table, to be made further below."""

    def __init__(self, catalyst: Catalyst, join: Node, named: set[int]) -> None:
        self.catalyst = catalyst
        self.join = join
        self.named = named
        left, right = children(join)
        self.is_right = not right.isStreaming()
        self.table = right if self.is_right else left
        written = str(join.joinType().sql())
        self.added = [] if written in ("LEFT SEMI", "LEFT ANTI") else output(self.table)

    def below(self, node: Node) -> Node | None:
        if sum(child.isStreaming() for child in children(node)) == 0 or not _has_join(node):
            pair = [node, self.table] if self.is_right else [self.table, node]
            return self.join.withNewChildren(self.catalyst.seq(pair))
        if kind(node) in _TRANSPARENT:
            child = self.below(children(node)[0])
            return None if child is None else node.withNewChildren(self.catalyst.seq([child]))
        if kind(node) == "Project":
            return self._below_columns(node)
        return self._below_join(node) if kind(node) == "Join" else None

    def _below_columns(self, node: Node) -> Node | None:
        asked = self.named & {number_of(one) for one in output(node)}
        if not asked <= {number_of(one) for one in output(node.child())}:
            return None
        child = self.below(node.child())
        if child is None:
            return None
        return self.catalyst.project([*items(node.projectList()), *self.added], child)

    def _below_join(self, node: Node) -> Node | None:
        left, right = children(node)
        written = str(node.joinType().sql())
        asked = self.named & {number_of(one) for one in output(node)}
        for side, keeps in ((left, _KEEPS_LEFT), (right, _KEEPS_RIGHT)):
            if side.isStreaming() and written in keeps and asked <= {number_of(one) for one in output(side)}:
                new = self.below(side)
                pair = [new if one is side else one for one in (left, right)]
                return None if new is None else node.withNewChildren(self.catalyst.seq(pair))
        return None


def _has_join(node: Node) -> bool:
    """Whether a sub-plan holds a join of streams, or anything else that keeps its rows."""
    if kind(node) in ("Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark"):
        return True
    return sum(child.isStreaming() for child in children(node)) > 1 or any(map(_has_join, children(node)))
