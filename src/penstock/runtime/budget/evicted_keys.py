"""Which rows may have had a partner that was lost: what is remembered of lost rows, in a sketch of fixed size.

A sketch is of one stream, `gone`, below one side of a node, and is asked by rows that come to the other side. A row of
the first side is lost with any of its tuples; so of what is lost it is enough to remember the key that one tuple has in
the conditions of the node, and until when rows to come may match it. There are several tables of buckets by key. A
bucket holds, for each **way** in which promises can close a stream of the asking side (a band, an order, FOLLOWS,
[ROWS n]), the largest value of the tuples that fell into it; what is at most the way's limit is closed, so a bucket
whose largest value is, holds nothing that matters. A row is in doubt iff in every table its bucket holds something that
matters to it. Theorem: a row that a lost one would have matched is in doubt, if the promises hold. The converse does
not hold: keys that share all buckets, and conditions other than keys and the ways, are not told apart; so a row may be
withheld that had no match, never given that had one.

A row that comes to a node may be made of old tuples, where it waited below. So a band is compared with the row's own
time, and another way with what is promised only where the tuple that it closes is of this batch.

Halving the tables merges buckets; without room for one, everything is in doubt. Once the promises close all that was
lost, for stored tuples of the asking side as for those to come, they begin anew. Where only keys and punctuations close
the asking side there is no way, and what is in doubt stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.plan.tree import NodePlan
from penstock.runtime.columns.codes import INT64, Bools, Ints, is_coded
from penstock.runtime.columns.hashing import Hashes, combine, mix
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.join.rows import ABSENT, Rows, count
from penstock.runtime.match.key_matching import Keyed, nulls
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, Synopsis

Floats = npt.NDArray[np.float64]

_TABLES = 2
_SALTS = tuple(np.uint64(0x6A09E667 * (2 * n + 1)) for n in range(_TABLES))
_MOST_WIDTH, _LEAST_WIDTH = 1 << 17, 1 << 10
_BUCKETS_A_ROW = 4


class EvictedKeySketch(Component):
    """What is remembered of lost tuples of the stream `gone`, for rows of the side `asking`."""

    arrays = ("largest", "_last")
    numbers = ("everything",)

    def __init__(self, matcher: NodeMatcher, gone: str, asking: NodePlan, closing: Closedness) -> None:
        plan = matcher.plan
        assert plan.evict is not None
        self.gone = gone
        self.asking = asking
        self.matcher = matcher
        self.closing = closing
        self.synopses = matcher.synopses
        self._keys = self._shared_keys()
        self._ways = tuple(
            c
            for c in plan.closers
            if c.source == gone
            and c.target in asking.aliases
            and c.kind not in (*ABOUT_VALUES, CloserKind.NEVER)
            and (self._is_single or c.kind is CloserKind.BAND)
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

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: what any cell has lost may be what a row asks for."""
        self.everything = any(one.everything for one in members)
        self._last = np.maximum.reduce([one._last for one in members])
        known = [one.largest for one in members if one.largest is not None]
        self.largest = None
        if known and not self.everything:
            width = min(table.shape[2] for table in known)
            folded = [table.reshape(*table.shape[:2], -1, width).max(axis=2) for table in known]
            self.largest = np.maximum.reduce(folded)

    @property
    def _is_single(self) -> bool:
        """Whether the asking side is one stream, whose rows come as they arrive."""
        return self.asking.left is None and len(self.asking.aliases) == 1

    def _shared_keys(self) -> tuple[tuple[str, str, str], ...]:
        """What a match makes equal: the column of the stream that is gone; stream and column of the asking side.

        The axes of the plan hold wherever two streams stand together.
        """
        there = {*self.asking.certain, *self.matcher.node.required} & {*self.asking.aliases}
        found: dict[str, tuple[str, str, str]] = {}
        for axis in (*self.matcher.node.equalities, *self.matcher.plan.axes):
            own = axis.column(self.gone)
            theirs = next(((a, c) for a in self.asking.aliases if a in there and (c := axis.column(a))), None)
            if own is not None and theirs is not None and own not in found:
                found[own] = (own, *theirs)
        return tuple(found.values())

    @property
    def sharpness(self) -> tuple[int, int]:
        """How much it tells rows apart: by how many keys, and in how many ways."""
        return len(self._keys), len(self._ways)

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        return 0 if self.largest is None else self.largest.nbytes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in doubt by it."""
        return self.largest is None and not self.everything

    @property
    def _values(self) -> int:
        """How many values a bucket holds."""
        return max(1, len(self._ways) + (self._window is not None))

    def lose(self, ids: Ints) -> None:
        """Remember lost tuples that a row to come may match."""
        if not len(ids):
            return
        synopsis = self.synopses[self.gone]
        values = [self._value(way, synopsis, ids) for way in self._ways]
        if self._window is not None:
            values.append(synopsis.gather(ids, lambda s: s.arrival))
        if not values:
            values.append(np.full(len(ids), INT64.max))
        self._last = np.maximum(self._last, [value.max() for value in values])
        if self.is_empty:
            width = min(_MOST_WIDTH, max(_LEAST_WIDTH, 1 << (_BUCKETS_A_ROW * self.rows).bit_length()))
            self.largest = np.full((_TABLES, self._values, width), INT64.min)
            if self._room is not None:
                self.shrink(self._room)
        if self.largest is None:
            return
        keys = [Keyed(synopsis, (own,)).keys(ids) for own, _, _ in self._keys]
        for table, places in zip(self.largest, self._places(keys, len(ids)), strict=True):
            for row, value in zip(table, values, strict=True):
                np.maximum.at(row, places, value)

    def begin_anew(self) -> None:
        """Forget all, if no row to come can match any row that was lost."""
        if self.is_empty:
            return
        limits: list[Any] = [self._least(way, int(last)) for way, last in zip(self._ways, self._last, strict=False)]
        if self._window is not None and self._is_single:
            limits.append(self.matcher.windows.passed(self.gone))
        if any(isinstance(limit, int) and last <= limit for last, limit in zip(self._last, limits, strict=False)):
            self.largest, self.everything = None, False
            self._last = np.full(self._values, INT64.min)

    def _least(self, way: Closer, last: int) -> int | None:
        """The limit of a way for all rows to come; None where it may be missing from one of them, or below `last`."""
        limit = self.closing.limits[way]
        if not isinstance(limit, int) or limit < last or self._is_single:
            return limit if isinstance(limit, int) else None
        if way.target not in self.asking.certain and way.target not in self.matcher.node.required:
            return None
        ids = self.synopses[way.target].ids(ALL)
        return min(limit, int(self._limit(way, ids).min())) if len(ids) else limit

    def of(self, rows: Rows) -> Bools:
        """Which of the rows that come now may have had a partner that was lost."""
        able = self.matcher.able(rows)
        if self.largest is None or not len(able):
            return able & self.everything
        which = np.flatnonzero(able)
        rows = {alias: ids[which] for alias, ids in rows.items()}
        able[which] = self._in_buckets(rows, self.largest)
        return able

    def _in_buckets(self, rows: Rows, largest: Ints) -> Bools:
        found: Bools = np.ones(count(rows), np.bool_)
        limits = self._limits(rows)
        for table, places in zip(largest, self._places(self._asked(rows), count(rows)), strict=True):
            for row, limit in zip(table, limits, strict=True):
                found &= row[places] > limit
        return found

    def by_chance(self, rows: Rows) -> Floats:
        """How likely each of the new rows is in doubt by its buckets alone, were its key never evicted."""
        found: Floats = np.ones(count(rows))
        if self.largest is None or not count(rows):
            return found * self.everything
        limits = self._limits(rows)
        for table in self.largest:
            filled: Floats = np.ones(count(rows))
            for row, limit in zip(table, limits, strict=True):
                cleared = np.searchsorted(np.sort(row), limit, "right")
                filled = np.minimum(filled, 1.0 - cleared / len(row))
            found *= filled
        return found

    def _asked(self, rows: Rows) -> list[Hashes]:
        return [Keyed(self.synopses[alias], (column,)).keys(rows[alias]) for _, alias, column in self._keys]

    def _places(self, keys: list[Hashes], size: int) -> list[Ints]:
        """The buckets of rows, by table."""
        assert self.largest is not None
        key: Hashes = combine(keys) if keys else np.zeros(size, np.uint64)
        mask = np.uint64(self.largest.shape[2] - 1)
        return [(mix(key ^ salt) & mask).view(np.int64) for salt in _SALTS]

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

    def _limits(self, rows: Rows) -> list[Ints]:
        """For each way and row that comes, the value up to which lost rows cannot match it."""
        found = []
        for way in self._ways:
            limit: Ints = np.full(count(rows), INT64.min)
            there = rows[way.target] != ABSENT
            limit[there] = self._limit(way, rows[way.target][there])
            found.append(limit)
        if self._window is not None:
            found.append(self.matcher.windows.last_seen(self._stream, rows) - self._window - 1)
        return found or [np.full(count(rows), INT64.min)]

    def _limit(self, way: Closer, ids: Ints) -> Ints:
        """A band by the tuple's own time, which tells more than the clock of its stream; else as promised before."""
        synopsis = self.synopses[way.target]
        if way.kind is CloserKind.BAND and way.target_columns[0] in synopsis.columns:
            if not len(ids):
                return ids
            column = way.target_columns[0]
            ticks, strict = self.closing.apart(way)
            least = _less(synopsis.ticks(column, ids), ticks + (0 if strict else 1))
            missing = nulls(synopsis, (column,), ids)
            return least if missing is None else np.where(missing, INT64.min, least)
        limit = self.closing.limits[way]
        # Before anything came, the last place in the order of arrival is less than any integer.
        known = min(INT64.max, max(INT64.min, limit)) if isinstance(limit, int) else INT64.min
        return np.where(self._is_fresh(way.target, ids), known, INT64.min)

    def _is_fresh(self, alias: str, ids: Ints) -> Bools:
        synopsis = self.synopses[alias]
        return ids >= synopsis.first_fresh if synopsis.has_fresh else np.zeros(len(ids), np.bool_)

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
