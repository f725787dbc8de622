"""Which rows may have had a partner that was evicted: such a row is never given as one without a match.

A batch is joined whole before anything is evicted, so a stored row has met every row that was ever stored beside it,
and carries its mark. In doubt are only rows that arrive **after** the eviction of a partner. So it is enough to
remember of an evicted row its key and until when rows to come may match it, and to ask this of each new row, once.

This is remembered in a sketch of fixed size: several tables of buckets by key. A bucket holds, for each **way** in
which promises can close the other stream (a band, an order, FOLLOWS, [ROWS n]), the largest value of the evicted rows
that fell into it; what is at most the way's limit is closed, so a bucket whose largest value is, holds nothing that
matters. A new row is in doubt iff in every table its bucket holds something that matters to it. Theorem: a row that an
evicted row would have matched is in doubt, if the promises hold. The converse does not hold: keys that share all
buckets, and conditions other than keys and the ways, are not told apart; so a row may be withheld that had no match,
never given that had one. Halving the tables merges buckets; without room for one, everything is in doubt. Once the
promises close all that was evicted, they begin anew. Where only keys and punctuations close the other stream there is
no way, and what is in doubt stays so.

Preconditions: the two sides are single streams, and rows are evicted between batches only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.plan.plan import Closer, CloserKind
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.runtime.columns.codes import INT64, Bools, Ints, is_coded
from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.match.key_matching import Keyed, nulls
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import Synopsis

Floats = npt.NDArray[np.float64]

_TABLES = 2
_SALTS = tuple(np.uint64(0x6A09E667 * (2 * n + 1)) for n in range(_TABLES))
_MOST_WIDTH, _LEAST_WIDTH = 1 << 17, 1 << 10
_BUCKETS_A_ROW = 4


class EvictedKeySketch(Component):
    """What is remembered of the evicted rows of the stream `gone`, for new rows of the stream `asking`."""

    arrays = ("largest", "_last")
    numbers = ("everything",)

    def __init__(self, matcher: NodeMatcher, gone: str, asking: str, closing: Closedness) -> None:
        plan = matcher.plan
        assert plan.evict is not None
        self.gone = gone
        self.asking = asking
        self.matcher = matcher
        self.closing = closing
        self.clock: Clock = matcher.clock
        equal = matcher.node.equalities
        self._columns = {a: tuple(str(axis.column(a)) for axis in equal) for a in (gone, asking)}
        self._ways = tuple(
            c for c in plan.closers if (c.source, c.target) == (gone, asking) and c.kind not in ABOUT_VALUES
        )
        self._window = plan.by_alias[gone].window_rows
        self._stream = plan.by_alias[gone].stream
        self.rows = plan.evict.about_rows
        """For about how many stored rows there is room: by it the tables are sized when they begin."""
        self._room: int | None = None
        self.largest: Ints | None = None
        """By table, way and bucket; where there is no way, whether the bucket is filled. None: nothing was evicted."""
        self.everything = False
        """Whether all new rows are in doubt, for want of room to remember more than that something was evicted."""
        self._last: Ints = np.full(self._values, INT64.min)
        """The largest value of all, by way."""

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        return 0 if self.largest is None else self.largest.nbytes

    @property
    def _values(self) -> int:
        """How many values a bucket holds."""
        return max(1, len(self._ways) + (self._window is not None))

    def evicted(self, synopsis: Synopsis, ids: Ints) -> None:
        """Remember rows that are evicted, and that a row to come may match."""
        self._begin_anew()
        if not len(ids):
            return
        matter = self.matcher.able({self.gone: ids})
        matter &= ~self.closing.closed(self.gone, self.asking, synopsis, ids)
        ids = ids[matter]
        if not len(ids):
            return
        values = [self._value(way, synopsis, ids) for way in self._ways]
        if self._window is not None:
            values.append(synopsis.gather(ids, lambda s: s.arrival))
        if not values:
            values.append(np.full(len(ids), INT64.max))
        self._last = np.maximum(self._last, [value.max() for value in values])
        if self.largest is None and not self.everything:
            width = min(_MOST_WIDTH, max(_LEAST_WIDTH, 1 << (_BUCKETS_A_ROW * self.rows).bit_length()))
            self.largest = np.full((_TABLES, self._values, width), INT64.min)
            if self._room is not None:
                self.shrink(self._room)
        if self.largest is None:
            return
        for table, places in zip(self.largest, self._places(self.gone, synopsis, ids), strict=True):
            for row, value in zip(table, values, strict=True):
                np.maximum.at(row, places, value)

    def _begin_anew(self) -> None:
        """Forget all, if no row to come can match any row that was evicted."""
        limits: list[Any] = [self.closing.limits[way] for way in self._ways]
        if self._window is not None:
            limits.append(self.clock.count[self._stream] - self._window - 1)
        if any(isinstance(limit, int) and last <= limit for last, limit in zip(self._last, limits, strict=False)):
            self.largest, self.everything = None, False
            self._last = np.full(self._values, INT64.min)

    def of(self, synopsis: Synopsis, ids: Ints) -> Bools:
        """Which of the new rows may have had a partner that was evicted."""
        able = self.matcher.able({self.asking: ids})
        if self.largest is None or not len(ids):
            return able & self.everything
        limits = self._limits(synopsis, ids)
        for table, places in zip(self.largest, self._places(self.asking, synopsis, ids), strict=True):
            for row, limit in zip(table, limits, strict=True):
                able &= row[places] > limit
        return able

    def by_chance(self, synopsis: Synopsis, ids: Ints) -> Floats:
        """How likely each of the new rows is in doubt by its buckets alone, were its key never evicted."""
        found: Floats = np.ones(len(ids))
        if self.largest is None or not len(ids):
            return found * self.everything
        limits = self._limits(synopsis, ids)
        for table in self.largest:
            filled: Floats = np.ones(len(ids))
            for row, limit in zip(table, limits, strict=True):
                cleared = np.searchsorted(np.sort(row), limit, "right")
                filled = np.minimum(filled, 1.0 - cleared / len(row))
            found *= filled
        return found

    def _places(self, alias: str, synopsis: Synopsis, ids: Ints) -> list[Ints]:
        """The buckets of rows, by table."""
        assert self.largest is not None
        columns = self._columns[alias]
        keys: Hashes = Keyed(synopsis, columns).keys(ids) if columns else np.zeros(len(ids), np.uint64)
        mask = np.uint64(self.largest.shape[2] - 1)
        return [(mix(keys ^ salt) & mask).view(np.int64) for salt in _SALTS]

    def _value(self, way: Closer, synopsis: Synopsis, ids: Ints) -> Ints:
        """What the limit of a way is compared with; where that is no number, one that no limit reaches."""
        never: Ints = np.full(len(ids), INT64.max)
        if way.kind is CloserKind.FOLLOWS:
            if self.closing.across is None:
                batches: Ints = synopsis.gather(ids, lambda s: s.batch)
                return batches
            return synopsis.codes(ORDER, ids) if ORDER in synopsis.columns else never
        column = way.columns[0]
        if column not in synopsis.columns or not len(ids):
            return never
        if way.kind is CloserKind.BAND:
            return synopsis.ticks(column, ids)
        return synopsis.codes(column, ids) if is_coded(synopsis.kind(column)) else never

    def _limits(self, synopsis: Synopsis, ids: Ints) -> list[Ints]:
        """For each way and new row, the value up to which evicted rows cannot match it."""
        found = [self._limit(way, synopsis, ids) for way in self._ways]
        if self._window is not None:
            # Of the rows of this batch some may have come before the new one.
            found.append(np.full(len(ids), self.clock.before[self._stream] - self._window - 1))
        return found or [np.full(len(ids), INT64.min)]

    def _limit(self, way: Closer, synopsis: Synopsis, ids: Ints) -> Ints:
        """A band by the row's own time, which tells more than the clock of its stream; else as promised before."""
        if way.kind is CloserKind.BAND and way.target_columns[0] in synopsis.columns:
            column = way.target_columns[0]
            ticks, strict = self.closing.apart(way)
            least = _less(synopsis.ticks(column, ids), ticks + (0 if strict else 1))
            missing = nulls(synopsis, (column,), ids)
            return least if missing is None else np.where(missing, INT64.min, least)
        limit = self.closing.limits[way]
        return np.full(len(ids), limit if isinstance(limit, int) else INT64.min)

    def shrink(self, room: int) -> None:
        """Make it fit into so many bytes, now and when it begins; without room for a bucket, all is in doubt."""
        self._room = room
        while self.largest is not None and self.nbytes > room:
            half = self.largest.shape[2] // 2
            self.largest = np.maximum(self.largest[:, :, :half], self.largest[:, :, half:]) if half else None
            self.everything = not half


def _less(values: Ints, amount: int) -> Ints:
    """The values less an amount, held within what an integer can be."""
    if not INT64.min < amount < INT64.max:
        return np.full(len(values), INT64.min if amount > 0 else INT64.max)
    lowest, highest = INT64.min + max(amount, 0), INT64.max + min(amount, 0)
    return np.clip(values, lowest, highest) - amount
