"""Rows by key and, within a key, in the order of one column: so a range of a key's rows is found without its pairs.

A hot key has a square of pairs, of which a band of event times lets few through. So where a key would be met too often
the rows that agree are not paired and then tested: they are sorted by key and by the column that the conditions limit,
each row that asks searches the beginning and the end of what it may meet, and ranges alone are spread out. What is
still too much is spread out in pieces, each of which is tested before the next is made: memory follows the rows that
come in and the pairs that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from penstock.model.predicates import Op
from penstock.runtime.columns.codes import INT64, Bools, Ints, empty_ids
from penstock.runtime.state.key_index import spread

MANY = 1_000_000
"""Pairs of which fewer are made without a thought."""
TIMES = 8
"""How many pairs a row may have, on an average, before they are too many."""


def most_pairs(rows: int) -> int:
    """How many pairs so many rows may make at a time."""
    return max(MANY, TIMES * rows)


class KeyRanges:
    """Rows of which each has the number of its key and, where a range is asked for, a value."""

    def __init__(self, key: Ints, values: Ints | None = None) -> None:
        self.order: Ints = np.argsort(key, kind="stable") if values is None else np.lexsort((values, key))
        self._steps = None if values is None else _distinct(values)
        if values is None or self._steps is None:
            self._places = key[self.order]
        else:
            self._places = key[self.order] * (len(self._steps) + 1) + np.searchsorted(self._steps, values[self.order])

    def all_of(self, key: Ints) -> tuple[Ints, Ints]:
        """For each key where its rows begin in the order, and where they end."""
        lane = 1 if self._steps is None else len(self._steps) + 1
        return self._search(key * lane), self._search((key + 1) * lane)

    def between(self, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """For each key where its rows with low <= value <= high begin in the order, and where they end."""
        assert self._steps is not None
        lane = key * (len(self._steps) + 1)
        begin = self._search(lane + np.searchsorted(self._steps, low, "left"))
        end = self._search(lane + np.searchsorted(self._steps, high, "right"))
        return begin, np.maximum(begin, end)

    def _search(self, places: Ints) -> Ints:
        found: Ints = np.searchsorted(self._places, places, "left")
        return found


def _distinct(values: Ints) -> Ints:
    """The values, each once, ascending; by sorting, which is faster than numpy's table of hashes."""
    ordered = np.sort(values)
    return ordered[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def pieces(begin: Ints, end: Ints, most: int) -> Iterator[tuple[Ints, Ints]]:
    """All (place of a range, number in it), at most about so many at a time; at least one piece."""
    count = end - begin
    upto = np.cumsum(count)
    start, before = 0, 0
    while True:
        stop = max(start + 1, int(np.searchsorted(upto, before + most, "right")))
        places = np.arange(start, min(stop, len(count)))
        yield np.repeat(places, count[places]), spread(begin[places], count[places])
        if stop >= len(count):
            return
        start, before = stop, int(upto[stop - 1])


def joined(found: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Pieces of pairs as one."""
    every = list(found)
    if len(every) < 2:
        return every[0] if every else (empty_ids(), empty_ids())
    return np.concatenate([left for left, _ in every]), np.concatenate([right for _, right in every])


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
