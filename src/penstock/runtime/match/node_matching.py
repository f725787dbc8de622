"""Which rows of the two sides of a node match: its ON, or the WHERE of an EXISTS, and the windows.

A row is **able** to match at a node if the streams that the conditions name are there, the columns they read are not
NULL, those that must equal one column of the other side equal each other, the conditions on one side hold, and no event
time is NULL where some stream has [RANGE]. What is not able matches nothing, now or ever. Stored tuples of one stream
are looked up by the index of its synopsis; so are rows that wait, by those that they are made of. What agrees is said
by the matcher of blocks (`matching.py`), of which a node is a use: rows of one side, and tuples or rows of the other.
Conditions on several streams that are no comparison are asked of the pairs that are left (`row_conditions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np

from penstock.plan.parts import KeyAxis, PairPredicate
from penstock.plan.plan import Plan
from penstock.plan.tree import NodePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.join.rows import ABSENT, Rows, count, take
from penstock.runtime.join.sides import Side, StreamSide, WaitingSide
from penstock.runtime.match.key_matching import Keyed, about_distinct, agree, nulls
from penstock.runtime.match.key_ranges import joined
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.row_conditions import RowConditions
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

FEW = 4
"""An index is asked where at most one in so many rows asks."""

LARGEST_CROSSING = 4_000_000
"""Pairs of rows that no key ties beyond which they are taken to agree."""

Truth = Mapping[str, bool]
"""By test, what it is worth where its stream is absent."""

NO_TESTS: Truth = {}


class NodeMatcher:
    """Finds the matches of one node."""

    def __init__(
        self,
        plan: Plan,
        node: NodePlan,
        sides: tuple[frozenset[str], frozenset[str]],
        *,
        synopses: Mapping[str, Synopsis],
        windows: RowsWindows,
        absent: Truth,
    ) -> None:
        self.plan = plan
        self.node = node
        self.synopses = synopses
        self.windows = windows
        self.absent = absent
        across = tuple(p for p in node.predicates if (p.left.alias in sides[0]) != (p.right.alias in sides[0]))
        self.within = tuple(p for p in node.predicates if p not in across)
        self.ties = PartTies(plan.aliases, node.equalities, across)
        self.matcher = Matcher(self.ties, synopses)
        self.conditions = RowConditions(node.conditions, synopses)
        self._by_windows = Matcher(PartTies(plan.aliases, (), node.windows), synopses)
        self._by_axes = Matcher(PartTies(plan.aliases, (*node.equalities, *plan.axes), ()), synopses)
        refs = [ref for axis in node.equalities for ref in axis.columns]
        refs += [ref for p in node.predicates for ref in (p.left, p.right)]
        if any(s.window is not None and s.window.ticks is not None for s in plan.sources):
            timed = [(s.alias, s.event_time) for s in plan.sources if s.event_time is not None]
        else:
            timed = []
        self._read: dict[str, tuple[str, ...]] = {}
        for alias, column in [*((r.alias, r.column) for r in refs), *timed]:
            self._read[alias] = tuple(dict.fromkeys((*self._read.get(alias, ()), column)))
        self._same = tuple(_equal_within(node.equalities))

    @property
    def counts_rows(self) -> bool:
        """Whether some stream has [ROWS n]."""
        return bool(self.windows.rows)

    def able(self, rows: Rows) -> Bools:
        """Which rows of either side can match at all."""
        found: Bools = np.ones(count(rows), np.bool_)
        for alias, ids in rows.items():
            there = ids != ABSENT
            if alias in self.node.required:
                found &= there
            missing = nulls(self.synopses[alias], self._read.get(alias, ()), ids[there])
            if missing is not None:
                found[np.flatnonzero(there)[missing]] = False
        for alias, first, second in self._same:
            if alias in rows:
                places = np.flatnonzero(found & (rows[alias] != ABSENT))
                one, other = (Keyed(self.synopses[alias], (column,)) for column in (first, second))
                found[places] = agree(one, rows[alias][places], other, rows[alias][places])
        for test in self.plan.tree.tests:
            if test.column in self.node.tests and test.alias in rows:
                found &= truth(self.synopses[test.alias], test.column, rows[test.alias], self.absent)
        for predicate in self.within:
            if predicate.left.alias in rows and predicate.right.alias in rows:
                places = np.flatnonzero(found)
                found[places] = self.matcher.holds(predicate, take(rows, places))
        return found

    def with_stream(self, rows: Rows, side: StreamSide, part: str) -> tuple[Ints, Ints]:
        """All (place among the rows, tuple of the stream) that match."""
        able = self.able(rows)
        places = np.flatnonzero(able)
        known = rows if len(places) == len(able) else take(rows, places)
        present = {a: ids for a, ids in known.items() if a in self.node.required}
        in_range = self._by_windows.predicates(frozenset(present), side.alias)
        partial = present or dict([next(iter(known.items()))])
        found = []
        for left, right in self.matcher.pieces(partial, side.alias, part, in_range, self.windows):
            if len(left):
                keep = self.able({side.alias: right})
                if side.retained:
                    keep &= ~side.synopsis.gather(right, _left_reader)
                if not keep.all():
                    left, right = left[keep], right[keep]  # noqa: PLW2901
            found.append(self._in_windows(rows, places[left], {side.alias: right}, np.arange(len(right)), right))
        return joined(found)

    def with_rows(self, rows: Rows, side: WaitingSide, part: str) -> tuple[Ints, Rows, Ints]:
        """All (place among the rows, row of the side) that match; the second as rows and as keys."""
        ones = np.flatnonzero(self.able(rows))
        asking = take(rows, ones)
        stored, keys = self.near({a: ids for a, ids in asking.items() if a in self.node.required}, side, part)
        others = np.flatnonzero(self.able(stored))
        first, second = self.matcher.between(asking, take(stored, others))
        first, second = ones[first], others[second]
        first, second = self._in_windows(rows, first, stored, second, second)
        return first, take(stored, second), keys[second]

    def agreeing(self, partial: Rows, rows: Rows, implied: tuple[PairPredicate, ...]) -> Bools:
        """Which partial results agree with some of the rows; all streams of either are there.

        Only what ties these streams is asked, so it says yes too often, never too seldom. The axes of the plan, and
        what is `implied`, hold wherever two streams stand together; what is out of a [ROWS n] now stays so.
        """
        found: Bools = np.zeros(count(partial), np.bool_)
        if not count(rows):
            return found
        if not self._by_axes.ties_any(partial, rows) and count(partial) * count(rows) > LARGEST_CROSSING:
            return ~found
        first, second = self._by_axes.between(partial, rows, (*self.ties.predicates, *implied))
        inside = self.windows.inside({**take(partial, first), **take(rows, second)})
        found[first if inside is None else first[inside]] = True
        return found

    def near(self, rows: Rows, side: Side, which: str) -> tuple[Rows, Ints]:
        """The rows of a part of a side, and their keys, whose keys agree with some of the rows; or more of them.

        No stream is absent from the rows. Found by the indexes, so it costs what is found; all rows are given where no
        key ties them, or so many ask that it would not pay. A row of the side from which a stream is absent that a
        match needs may be left out.
        """
        if rows and not asks_few(count(rows), side):
            return side.rows(which)
        if isinstance(side, StreamSide):
            tied = self._tied(rows, side.alias, side.part(which))
            if tied is None:
                return side.rows(which)
            ids = side.in_play(tied)
            return {side.alias: ids}, ids
        assert isinstance(side, WaitingSide)
        for alias in side.aliases:
            if alias in side.certain or alias in self.node.required:
                tied = self._tied(rows, alias, ALL)
                if tied is not None:
                    keys = side.naming(alias, tied, which)
                    return side.rows_of(keys), keys
        return side.rows(which)

    def _tied(self, rows: Rows, alias: str, part: str) -> Ints | None:
        """The stored tuples of a stream whose keys agree with some of the rows, each once; None if no key ties them."""
        axes = self._by_axes.shared_axes(frozenset(rows), alias)
        if not axes:
            return None
        asking = {holder: rows[holder] for holder, _, _ in axes}
        if not count(asking):
            return empty_ids()
        if len(asking) == 1:
            # One row of each key finds all that they meet.
            ((holder, ids),) = asking.items()
            own = Keyed(self.synopses[holder], tuple(column for _, column, _ in axes))
            asking = {holder: ids[about_distinct(own, ids)]}
        return union([union([found]) for _, found in self._by_axes.pieces(asking, alias, part)])

    def _in_windows(self, left: Rows, first: Ints, right: Rows, second: Ints, keys: Ints) -> tuple[Ints, Ints]:
        if not len(first):
            return first, keys
        rows = {**take(left, first), **take(right, second)}
        keep: Bools = np.ones(len(first), np.bool_)
        for window in self.node.windows:
            both = np.flatnonzero((rows[window.left.alias] != ABSENT) & (rows[window.right.alias] != ABSENT))
            keep[both] &= self.matcher.holds(window, take(rows, both))
        for passing in (self.conditions.passing(rows), self.windows.inside(rows)):
            if passing is not None:
                keep &= passing
        return (first, keys) if keep.all() else (first[keep], keys[keep])


def _equal_within(equalities: tuple[KeyAxis, ...]) -> Iterator[tuple[str, str, str]]:
    """Pairs of columns of one stream that equal one column of another, so each other in every row that matches."""
    for one, other in combinations(equalities, 2):
        if set(one.columns) & set(other.columns):
            for first in one.columns:
                for second in other.columns:
                    if first.alias == second.alias and first != second:
                        yield first.alias, first.column, second.column


def asks_few(asking: int, side: Side) -> bool:
    """Whether so few ask of a side that its indexes pay."""
    return asking * FEW < side.size


def truth(synopsis: Synopsis, column: str, ids: Ints, absent: Truth) -> Bools:
    """What a test says of rows, where the stream is absent too."""
    found: Bools = np.full(len(ids), absent.get(column, False))
    there = ids != ABSENT
    if there.any():
        found[there] = synopsis.gather(ids[there], _truth_reader(column)).astype(np.bool_)
    return found


def _truth_reader(column: str) -> Callable[[Segment], Ints]:
    return lambda segment: segment.codes(column)


def _left_reader(segment: Segment) -> Bools:
    return segment.marks["#left"]
