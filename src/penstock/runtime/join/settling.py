"""When can a row match no more? The purge rule for outer joins and EXISTS (DESIGN section 1).

A row l on one side of a node is **settled** iff no row that the other side will still give can match it. Rows that the
other side gives later are made of tuples still to come, of stored ones, or of both. So, for a row able to match:

- a single stream: the promises rule out every future tuple of it that would agree with l;
- a block: by expansion, as among inner joins (`runtime/join/expansion.py`), starting from l;
- a node with sides of its own: each row that it gives holds a row of one of its sides. **By a side** l is settled if
  that side gives nothing more that agrees with l, and none of the rows that wait there agrees with it. An inner join
  needs that of either side, a LEFT JOIN of the side it keeps, a FULL JOIN of both; a side that the conditions demand
  suffices alone, since what lacks it does not match.

No tuple still to come matches a row with a tuple out of its [ROWS n]; streams and blocks give rows only with one, so
they are settled for it. Rows that wait in a node below may match it yet. Not decided: that l + u is settled for each u
that waits in a deeper node, so l may stay until u leaves. That delays a purge, and no answer: while u waits, its own
rows may come.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.plan import Plan
from penstock.plan.tree import NodePlan
from penstock.runtime.columns.codes import Bools
from penstock.runtime.join.expansion import Expansion
from penstock.runtime.join.rows import Rows, by_presence, count, take
from penstock.runtime.join.sides import Side
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.synopsis import ALL, Synopsis


class Settling:
    """Asks the promises about rows of the nodes of one cell."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], closing: Closedness, windows: RowsWindows) -> None:
        self.plan = plan
        self.nodes = plan.nodes
        self.synopses = synopses
        self.closing = closing
        self.windows = windows
        self.sides: dict[int, tuple[Side, Side]] = {}
        """Of each node that is no block."""

    def settled(self, rows: Rows, matcher: NodeMatcher, other: int) -> Bools:
        """Which rows of one side of a node can match nothing that its other side, a node, will still give."""
        if self.closing.ended:
            return np.ones(count(rows), np.bool_)
        found = ~matcher.able(rows)
        open_ = np.flatnonzero(~found)
        for partial, places in by_presence(take(rows, open_)):
            found[open_[places]] = self._nothing_comes(partial, matcher, other)
        return found

    def _nothing_comes(self, partial: Rows, matcher: NodeMatcher, number: int) -> Bools:
        node = self.nodes[number]
        if node.kind is not NodeKind.BLOCK:
            return self._by_sides(partial, matcher, node, number)
        return self.windows.out_of_reach(partial) | self._closed(partial, matcher, node)

    def _closed(self, partial: Rows, matcher: NodeMatcher, node: NodePlan) -> Bools:
        if len(node.aliases) == 1:
            return self.closing.closed_together(self.synopses, partial, node.aliases[0])
        assert node.block is not None
        aliases = (*partial, *node.aliases)
        ties = PartTies(
            tuple(a for a in self.plan.aliases if a in aliases),
            # The axes of the plan hold wherever two of their streams stand together, so they tie what no ON does.
            (*matcher.ties.axes, *node.block.axes, *self.plan.axes),
            # What ON says of the other side alone holds of whatever matches.
            (*matcher.ties.predicates, *matcher.within, *node.block.predicates),
        ).closed()
        return Expansion(ties, Matcher(ties, self.synopses, frozenset(aliases)), self.closing).useless_together(partial)

    def _by_sides(self, partial: Rows, matcher: NodeMatcher, node: NodePlan, number: int) -> Bools:
        assert node.left is not None
        assert node.right is not None
        demanded = [
            not set(matcher.node.required).isdisjoint(self.nodes[side].aliases) for side in (node.left, node.right)
        ]
        left = self._by_side(partial, matcher, node.left, self.sides[number][0])
        right = self._by_side(partial, matcher, node.right, self.sides[number][1])
        match node.kind:
            case NodeKind.INNER:
                return left | right
            case NodeKind.LEFT:
                return left | right if demanded[1] else left
            case _ if all(demanded):
                return left | right
            case _ if any(demanded):
                return left if demanded[0] else right
            case _:
                return left & right

    def _by_side(self, partial: Rows, matcher: NodeMatcher, number: int, side: Side) -> Bools:
        found = self._nothing_comes(partial, matcher, number)
        places = np.flatnonzero(found)
        if len(places):
            asked = take(partial, places)
            agrees: Bools = np.zeros(len(places), np.bool_)
            for rows, _ in by_presence(matcher.near(asked, side, ALL)[0]):
                implied = tuple(p for alias in rows for p in self.closing.implied(frozenset(partial), alias))
                agrees |= matcher.agreeing(asked, rows, implied)
            found[places] = ~agrees
        return found
