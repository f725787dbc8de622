"""Lanes: rows by key and by carried columns, in the order of one column, with running sums along each lane.

So what the rows of a key between two values come to is the difference of two running sums, however many they are. Only
for counts and exact sums: of extremes there is no difference, and a running sum of floats forgets small numbers beside
large ones.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Ints
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.totals import Totals, WideTotals, running_sums
from penstock.runtime.match.key_ranges import KeyRanges, joined, most_pairs, pieces


class RangeSums:
    """The rows of a bag, each with its key and its place in the order."""

    def __init__(self, bag: Bag, key: Ints, values: Ints) -> None:
        self._bag, self._key, self._values = bag, key, values
        lanes = grouped([key, *bag.columns.values()], len(bag))
        by_key = np.argsort(key[lanes.first], kind="stable")
        number = np.empty(lanes.count, np.int64)
        number[by_key] = np.arange(lanes.count)
        self._first = lanes.first[by_key]
        self._keys = key[self._first]
        lane = number[lanes.of]
        self._ranges = KeyRanges(lane, values)
        order = self._ranges.order
        self._counts = running_sums(bag.count[order])
        self._sums: dict[str, Totals | WideTotals] = {}
        for name, measure in bag.measures.items():
            assert isinstance(measure, Totals | WideTotals)
            self._sums[name] = measure.take(order).running()

    def between(self, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Bag]:
        """For each that asks its place, once for each lane of its key, and what of that lane lies from low to high.

        The bag's owners are these places, in order. Where a key has more lanes than rows in the ranges asked for, as it
        may where the carried columns tell all rows apart, the rows are given as they are.
        """
        first = np.searchsorted(self._keys, key, "left")
        often = np.searchsorted(self._keys, key, "right") - first
        most = most_pairs(len(key) + len(self._bag))
        if int(often.sum()) > most:
            begin, end = self._by_key.between(key, low, high)
            if int((end - begin).sum()) < int(often.sum()):
                place, row = joined(pieces(begin, end, most))
                bag = self._bag.take(self._by_key.order[row])
                return place, Bag(place, bag.columns, bag.count, bag.measures)
        found = []
        for place, lane in pieces(first, first + often, most):
            begin, end = self._ranges.between(lane, low[place], high[place])
            some = np.flatnonzero(end > begin)
            found.append((place[some], lane[some], begin[some], end[some]))
        place, lane, begin, end = (np.concatenate(parts) for parts in zip(*found, strict=True))
        chosen = pa.array(self._first[lane])
        columns = {name: column.take(chosen) for name, column in self._bag.columns.items()}
        sums = {name: total.between(begin, end) for name, total in self._sums.items()}
        return place, Bag(place, columns, self._counts[end] - self._counts[begin], sums)

    @cached_property
    def _by_key(self) -> KeyRanges:
        return KeyRanges(self._key, self._values)
