"""Counts and sums under [RANGE d], by the latest row of each result; no result is made.

Precondition: all streams share their keys and have an event time, nothing else ties them, and only counts and exact
sums are asked for. Then a combination of rows of one key is a result iff, m being the latest of its times, each row of
a stream with window d lies after m - d. Every combination has one latest row, of several the one whose stream stands
first. So for each row as the latest, the rows of every other stream that go with it are those of its key in one range
of time (`range_sums.py`). The results that have this row as their latest are all choices of one row from each range:
counts multiply, and each stream's sums by the counts of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from penstock.model.predicates import Op
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Ints, empty_ids
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.range_sums import RangeSums
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.match.key_ranges import limits
from penstock.runtime.state.synopsis import FRESH, Synopsis

Rows = Callable[[str, Ints], Bag]
"""Rows of a stream, by their ids, as a bag."""


@dataclass(frozen=True)
class _Met:
    """The rows of one stream that a pass looks at, each with the number of its key and its time."""

    bag: Bag
    key: Ints
    times: Ints


class Latest:
    """Works out what the fresh rows of one stream add, with given parts of the others."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], rows: Rows) -> None:
        self.plan = plan
        self.synopses = synopses
        self.rows = rows

    def added(self, start: str, parts: Mapping[str, str]) -> list[Bag]:
        """The results that take a fresh row of `start` and rows of the given parts of the others, by latest row."""
        columns = self._keys(start)
        fresh = self.synopses[start].ids(FRESH)
        keys = grouped([self.synopses[start].arrow(name, fresh) for name in columns], len(fresh))
        met = {start: self._met(start, fresh, keys.of)}
        for alias, part in parts.items():
            place, ids = self._meeting(start, fresh[keys.first], alias, part)
            met[alias] = self._met(alias, ids, place)
        lanes = {alias: RangeSums(one.bag, one.key, one.times) for alias, one in met.items()}
        return [self._with_latest(alias, met[alias], lanes) for alias in self.plan.aliases]

    def _keys(self, alias: str) -> tuple[str, ...]:
        return tuple(column for axis in self.plan.axes if (column := axis.column(alias)) is not None)

    def _meeting(self, start: str, ids: Ints, alias: str, part: str) -> tuple[Ints, Ints]:
        """(place in ids, row) of one key, whatever their times."""
        if not self.plan.axes:
            every = self.synopses[alias].ids(part)
            return np.zeros(len(every), np.int64), every
        own = Keyed(self.synopses[start], self._keys(start))
        return match_keys(own, ids, Keyed(self.synopses[alias], self._keys(alias)), part)

    def _met(self, alias: str, ids: Ints, key: Ints) -> _Met:
        source = self.plan.by_alias[alias]
        assert source.event_time is not None
        times = self.synopses[alias].ticks(source.event_time, ids) if len(ids) else empty_ids()
        return _Met(self.rows(alias, ids), key, times)

    def _with_latest(self, alias: str, own: _Met, lanes: Mapping[str, RangeSums]) -> Bag:
        """The results whose latest row is of one stream."""
        bag, key, times = own.bag, own.key, own.times
        is_earlier = True
        for other in self.plan.aliases:
            if other == alias:
                is_earlier = False
                continue
            # What stands before it in FROM and is as late would itself be the latest.
            conditions = [(Op.LT if is_earlier else Op.LE, times, 0)]
            window = self.plan.by_alias[other].window
            if window is not None and window.ticks is not None:
                conditions.append((Op.GT, times, -window.ticks))
            mine, met = lanes[other].between(key, *limits(conditions, len(times)))
            bag, key, times = bag.take(mine).times(met), key[mine], times[mine]
        return bag.owned(np.zeros(len(bag), np.int64))
