"""Counts and sums over an outer join of two streams: its matches are counted along their edge, and none is made.

An outer join gives its matches and the rows that have none. The matches are those of the inner join of the rows that
are able to match, so they are added up as `carrying.py` does. Of each kept row it must then be known whether it has
matched: a fresh row is asked whether what lies below its edge is anything, a stored one that has not matched yet only
if a fresh row of the other stream has its keys. So a batch costs what the rows met cost, and not how often they meet.

Precondition: the plan has this edge as its tree (plan/aggregating.py), so nothing is asked of the joined row and no
[ROWS n] of its members. Rows without a match are given by the node when they are certain, and are added up then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.plan.aggregate import AggregatePlan
from penstock.plan.plan import Plan
from penstock.runtime.aggregate.carrying import Carrying
from penstock.runtime.aggregate.numbering import grouped
from penstock.runtime.arrival_order import ArrivalOrder
from penstock.runtime.clock import Clock
from penstock.runtime.codes import Bools, Ints, union
from penstock.runtime.key_matching import Keyed, match_keys
from penstock.runtime.matching import Matcher
from penstock.runtime.outer.node import Node
from penstock.runtime.outer.node_matching import NodeTies
from penstock.runtime.outer.outer_join import OuterJoin
from penstock.runtime.synopsis import ALL, FRESH, OLD


class OuterMatches(Carrying):
    """Works out, for one cell, what the matches of a batch add to the groups, and marks the rows that matched."""

    def __init__(self, plan: Plan, aggregate: AggregatePlan, node: Node) -> None:
        conditions = node.matcher
        predicates = (*conditions.ties.predicates, *node.plan.windows)
        super().__init__(
            plan, aggregate, Matcher(NodeTies(plan.aliases, node.plan.equalities, predicates), conditions.synopses)
        )
        self.node = node

    @property
    def counts_matches(self) -> bool:
        """It is what it is for."""
        return True

    def _able(self, alias: str, ids: Ints) -> Bools | None:
        return self.node.matcher.able({alias: ids})

    def added(self, clock: Clock, across: ArrivalOrder | None) -> Any:
        """What the matches of a batch add; see Carrying."""
        found = super().added(clock, across)
        sides = [self._alias(side) for side in (0, 1)]
        for side, keeps in enumerate(self.node.plan.preserves):
            if keeps:
                self._mark(side, sides[side], sides[1 - side])
        return found

    def _alias(self, side: int) -> str:
        """The stream of a side, which has no other."""
        (alias,) = self.node.sides[side].rows(FRESH)[0]
        return alias

    def _mark(self, side: int, kept: str, other: str) -> None:
        fresh = self._only_able(kept, self.synopses[kept].ids(FRESH))
        stored = self._waiting(side, kept, other)
        met = [fresh[self._meets(kept, fresh, other, ALL)], stored[self._meets(kept, stored, other, FRESH)]]
        self.node.sides[side].mark(union(met))

    def _waiting(self, side: int, kept: str, other: str) -> Ints:
        """The stored rows that have not matched, and that agree with a fresh row of the other stream on their keys."""
        coming = self._only_able(other, self.synopses[other].ids(FRESH))
        axes = self.matcher.shared_axes(frozenset({other}), kept)
        found = self.synopses[kept].ids(OLD)
        if axes:
            theirs, own = (tuple(axis[place] for axis in axes) for place in (1, 2))
            first = grouped(self._values(other, theirs, coming), len(coming)).first
            asking = Keyed(self.synopses[other], theirs)
            found = union([match_keys(asking, coming[first], Keyed(self.synopses[kept], own), OLD)[1]])
        elif not len(coming):
            return coming
        found = self._only_able(kept, found)
        return found[~self.node.sides[side].is_matched(found)] if len(found) else found

    def _meets(self, alias: str, ids: Ints, child: str, part: str) -> Bools:
        """Which of the rows meet some row of a part of the other stream."""
        if not len(ids):
            return np.zeros(0, np.bool_)
        edge = grouped(self._values(alias, self._compared(alias, child), ids), len(ids))
        told = self._met(alias, ids[edge.first], child, {child: part})
        found: Bools = np.zeros(edge.count, np.bool_)
        found[told.owner] = True
        return found[edge.of]


def carrying_of(plan: Plan, aggregate: AggregatePlan, matcher: Matcher, outer: OuterJoin | None) -> Carrying:
    """What works out the groups of one cell."""
    if outer is None or aggregate.tree is None:
        return Carrying(plan, aggregate, matcher)
    (node,) = outer.nodes.values()
    return OuterMatches(plan, aggregate, node)
