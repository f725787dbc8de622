"""Lanes: rows by key and by carried columns, in the order of one column, with running sums along each lane.

So what the rows of a key between two values come to is the difference of two running sums, however many they are. Only
for counts and exact sums: of extremes there is no difference, and a running sum of floats forgets small numbers beside
large ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from penstock.model.predicates import Op
from penstock.runtime.columns.codes import INT64, Bools, Ints
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.measures import Extremes
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.totals import Totals, WideTotals, running_sums
from penstock.runtime.state.key_index import spread


class RangeSums:
    """The rows of a bag, each with its key and its place in the order."""

    def __init__(self, bag: Bag, key: Ints, values: Ints) -> None:
        self._bag = bag
        lanes = grouped([key, *bag.columns.values()], len(bag))
        by_key = np.argsort(key[lanes.first], kind="stable")
        number = np.empty(lanes.count, np.int64)
        number[by_key] = np.arange(lanes.count)
        self._first = lanes.first[by_key]
        self._keys = key[self._first]
        lane = number[lanes.of]
        order = np.lexsort((values, lane))
        self._steps = np.unique(values)
        self._places = lane[order] * (len(self._steps) + 1) + np.searchsorted(self._steps, values[order])
        self._counts = running_sums(bag.count[order])
        self._sums: dict[str, Totals | WideTotals] = {}
        for name, measure in bag.measures.items():
            assert not isinstance(measure, Extremes)
            self._sums[name] = measure.take(order).running()

    def between(self, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Bag]:
        """For each that asks its place, once for each lane of its key, and what of that lane lies from low to high.

        The bag's owners are these places, in order.
        """
        first = np.searchsorted(self._keys, key, "left")
        often = np.searchsorted(self._keys, key, "right") - first
        place, lane = np.repeat(np.arange(len(key)), often), spread(first, often)
        begin = self._before(lane, np.searchsorted(self._steps, low[place], "left"))
        end = self._before(lane, np.searchsorted(self._steps, high[place], "right"))
        some = np.flatnonzero(end > begin)
        place, lane, begin, end = place[some], lane[some], begin[some], end[some]
        chosen = pa.array(self._first[lane])
        columns = {name: column.take(chosen) for name, column in self._bag.columns.items()}
        sums = {name: total.between(begin, end) for name, total in self._sums.items()}
        return place, Bag(place, columns, self._counts[end] - self._counts[begin], sums)

    def _before(self, lane: Ints, step: Ints) -> Ints:
        """How many rows stand before that step of a lane, in the order of lanes and steps."""
        found: Ints = np.searchsorted(self._places, lane * (len(self._steps) + 1) + step, "left")
        return found


def limits(conditions: Iterable[tuple[Op, Ints, int]], size: int) -> tuple[Ints, Ints]:
    """The least and the greatest value with `value op other + ticks` for all conditions; least > greatest if none."""
    low, high = np.full(size, INT64.min), np.full(size, INT64.max)
    never: Bools = np.zeros(size, np.bool_)
    for op, other, ticks in conditions:
        above, below = other > INT64.max - max(ticks, 0), other < INT64.min - min(ticks, 0)
        edge = np.where(above, INT64.max, np.where(below, INT64.min, other + ticks))
        if op in (Op.GE, Op.GT, Op.EQ):
            never |= above | ((edge == INT64.max) & (op is Op.GT))
            low = np.maximum(low, np.where(below, INT64.min, edge + (op is Op.GT)))
        if op in (Op.LE, Op.LT, Op.EQ):
            never |= below | ((edge == INT64.min) & (op is Op.LT))
            high = np.minimum(high, np.where(above, INT64.max, edge - (op is Op.LT)))
    return np.where(never, INT64.max, low), np.where(never, INT64.min, high)
