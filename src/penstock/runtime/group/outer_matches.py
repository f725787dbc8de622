"""Counts and sums over an outer join of two streams: its matches are counted along their edge, and none is made.

An outer join gives its matches and the rows that have none. The matches are those of the inner join of the rows that
are able to match, so they are added up as `count_along_tree.py` does. Of each kept row it must then be known whether it
has matched (`match/semi_join.py`). So a batch costs what the rows met cost, and not how often they meet.

Precondition: the plan has this edge as its tree (plan/aggregating.py), so nothing is asked of the joined row and no
[ROWS n] of its members. Rows without a match are given by the node when they are certain, and are added up then.
"""

from __future__ import annotations

from typing import Any

from penstock.plan.aggregate import AggregatePlan
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.group.count_along_tree import CountAlongTree
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.node import Node
from penstock.runtime.match.matching import Matcher


class OuterMatches(CountAlongTree):
    """Works out, for one cell, what the matches of a batch add to the groups, and marks the rows that matched."""

    def __init__(self, plan: Plan, aggregate: AggregatePlan, node: Node) -> None:
        super().__init__(plan, aggregate, node.meeting.matcher)
        self.node = node

    @property
    def counts_matches(self) -> bool:
        """It is what it is for."""
        return True

    def _able(self, alias: str, ids: Ints) -> Bools | None:
        return self.node.matcher.able({alias: ids})

    def added(self, clock: Clock, across: ArrivalOrder | None) -> Any:
        """What the matches of a batch add; see CountAlongTree."""
        found = super().added(clock, across)
        for side, keeps in enumerate(self.node.plan.preserves):
            if keeps:
                self.node.sides[side].mark(self.node.first_matches(side))
        return found


def carrying_of(plan: Plan, aggregate: AggregatePlan, matcher: Matcher, tree: JoinTree) -> CountAlongTree:
    """What works out the groups of one cell."""
    if plan.inner or aggregate.tree is None:
        return CountAlongTree(plan, aggregate, matcher)
    (node,) = tree.nodes.values()
    return OuterMatches(plan, aggregate, node)
