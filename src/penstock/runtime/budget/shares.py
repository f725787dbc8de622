"""The share of a cell in the budget of the query, by need. A cell asks no other: the headers tell all of them the same.

Each header says how many rows of its chunk go to each cell and, where all streams are joined by one key, how many fall
into each bucket of keys. A cell's share is first what keys say that it ought to hold; of what is left over, its part of
the rows that were given, older batches counting less. Every cell gets every header of every batch and computes the
needs of all in the same order, so all know the same shares, and their sum is at most the budget after every batch.

**By keys.** Where all streams are joined by one key, cells ought to hold rows by how often keys come. The rows that are
worth most lie with the frequent keys, and a cell that has one of them needs more room than its number of rows says. So
each header tells how many of its rows fall into each **bucket** of keys, finer than cells. Every cell adds up the same
headers: for each source and bucket, the rows that would be alive with room for all. A row is worth what the other
sources have in its bucket, the product of it. The budget, filled from the top, gives each cell what of it lies there;
what is left over goes by the number of rows.

All is whole numbers, or products of two floats at a time: every cell of every host comes to the same, so the shares
together are at most the budget. An estimate of need, and of nothing else: it decides nothing about answers.
Preconditions: one key class over all sources, and no merged rows, of which fewer are stored than come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.plan.plan import Plan, SourcePlan
from penstock.runtime.budget.rates import Floats
from penstock.runtime.columns.codes import DAY_TICKS, Ints, flat
from penstock.runtime.columns.hashing import hash_rows
from penstock.runtime.input.headers import Header
from penstock.runtime.state.component import Component

_LEAST_BUCKETS, _MOST_BUCKETS = 1 << 10, 1 << 14
_ONE = 1 << 16
"""A row; parts of it are what is left of rows that fade."""
_LIVES_OF_BUDGET = 80
"""How many times the budget comes before a row that nothing lets go is taken to have gone half."""
_COUNT_BYTES, _PART = 8, 20
_LEAST_BYTES = 16 << 20
"""A budget in bytes below which there is no room for this."""


def is_shared_by_key(plan: Plan) -> bool:
    """Whether cells know their needs by keys."""
    if plan.evict is None or (plan.evict.bytes is not None and plan.evict.bytes < _LEAST_BYTES):
        return False
    joined = len(plan.axes) == 1 and all(plan.axes[0].column(alias) is not None for alias in plan.aliases)
    return joined and len(plan.aliases) > 1 and all(source.merge is None for source in plan.sources)


def buckets_of(plan: Plan, cells: int) -> int:
    """The number of buckets; a bucket lies in one cell, which is its number modulo the cells."""
    assert plan.evict is not None
    # In bytes they count against the budget themselves.
    fine = 4 * plan.evict.rows if plan.evict.rows is not None else plan.evict.limit >> 16
    wanted = min(_MOST_BUCKETS, max(_LEAST_BUCKETS, fine))
    return cells * max(1, wanted // cells)


def bucket_counts(plan: Plan, alias: str, table: Any, cells: int) -> tuple[int, ...]:
    """How many rows of a chunk fall into each bucket, as bucket and count in turn; a NULL falls into none."""
    column = plan.axes[0].column(alias)
    assert column is not None
    present = flat(table.column(column)).is_valid().to_numpy(zero_copy_only=False)
    places = (hash_rows(table, [column])[present] % np.uint64(buckets_of(plan, cells))).astype(np.int64)
    counts = np.bincount(places, minlength=1)
    filled = np.flatnonzero(counts)
    return tuple(np.stack([filled, counts[filled]], axis=1).ravel().tolist())


class _Life(Component):
    """How many rows of its stream come while a row of a source lives, as far as windows and bands say."""

    numbers = ("last", "moved", "came")

    def __init__(self, plan: Plan, source: SourcePlan, limit: int) -> None:
        self.stream = source.stream
        self.time = source.event_time
        self.longest = _LIVES_OF_BUDGET * limit
        self.rows = source.window_rows
        self.span = None if source.window is None else source.window.ticks
        direct = [a.excess for a in plan.agreements if a.left.alias == source.alias and a.excess.is_direct]
        bands = [excess.tightest.ticks for excess in direct if excess.tightest.ticks > 0]
        if self.span is None and bands:
            self.span = max(bands)
        kinds = {column.name: column.type for column in source.read}
        self.unit = DAY_TICKS if kinds.get(self.time or "", "").upper() == "DATE" else 1
        self.last: int | None = None
        self.moved = 0
        self.came = 0

    def read(self, headers: Sequence[Header]) -> int:
        """Take note of the headers of its stream; gives the rows that came."""
        came = sum(header.rows for header in headers)
        tops = [top for h in headers if self.time is not None and isinstance(top := h.maxima.get(self.time), int)]
        if tops:
            top = max(tops) * self.unit
            if self.last is not None and top > self.last:
                self.moved, self.came = self.moved * 9 // 10 + top - self.last, self.came * 9 // 10 + came
            self.last = top if self.last is None else max(top, self.last)
        return came

    @property
    def length(self) -> int:
        """In rows of the stream."""
        found = [self.longest]
        if self.rows is not None:
            found.append(self.rows)
        if self.span is not None and self.moved > 0:
            found.append(self.span * self.came // self.moved)
        return max(1, min(found))


class KeyNeeds(Component):
    """What would be alive of each source and bucket, in parts of a row."""

    arrays = ("alive",)
    parts = ("lives",)

    def __init__(self, plan: Plan, limit: int) -> None:
        self.plan = plan
        self.aliases = plan.aliases
        self.lives = {source.alias: _Life(plan, source, limit) for source in plan.sources}
        self.alive: dict[str, Ints | None] = dict.fromkeys(plan.aliases)
        """By alias and bucket; None before anything came."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: buckets are of the number of cells, and begin anew."""
        self.alive = dict.fromkeys(self.aliases)

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        return sum(0 if counts is None else counts.nbytes for counts in self.alive.values())

    def fits(self, cells: int) -> bool:
        """Whether so many cells, each of which keeps all of it, have room: a twentieth of a budget in bytes."""
        assert self.plan.evict is not None
        taken = cells * len(self.aliases) * buckets_of(self.plan, cells) * _COUNT_BYTES
        return self.plan.evict.bytes is None or taken * _PART <= self.plan.evict.bytes

    def read(self, headers: Iterable[Header], cells: int) -> None:
        """Take note of the headers of a batch."""
        told = list(headers)
        size = buckets_of(self.plan, cells)
        for alias, life in self.lives.items():
            own = [header for header in told if header.stream == life.stream]
            came, length = life.read(own), life.length
            before = self.alive[alias]
            alive = np.zeros(size, np.int64) if before is None else before
            alive = alive * (_ONE * length // (length + came)) // _ONE
            for header in own:
                pairs = np.array(header.by_key.get(alias, ()), np.int64).reshape(-1, 2)
                alive[pairs[:, 0]] += pairs[:, 1] * _ONE
            self.alive[alias] = alive

    def wanted(self, limit: int, cells: int) -> list[int]:
        """The rows of each cell, at most the limit together, that the budget would be filled with."""
        counts = [alive for alive in self.alive.values() if alive is not None]
        if not counts:
            return [0] * cells
        worth = np.concatenate([self._worth(place, counts) for place in range(len(counts))])
        each = np.concatenate(counts)
        order = np.lexsort((np.arange(len(each)), -worth))
        filled = np.cumsum(each[order])
        limit = min(limit, int(filled[-1]) // _ONE + 1)
        taken = np.clip(limit * _ONE - (filled - each[order]), 0, each[order])
        cell = order % len(counts[0]) % cells
        return [int(taken[cell == number].sum()) // _ONE for number in range(cells)]

    @staticmethod
    def _worth(place: int, counts: Sequence[Ints]) -> Floats:
        found: Floats = np.ones(len(counts[0]))
        for other, alive in enumerate(counts):
            if other != place:
                found = found * (alive / _ONE)
        return found


_KEPT = 0.9
"""How much of the need a batch later still counts."""


class Shares(Component):
    """The needs of all cells, as one of them knows them."""

    numbers = ("needs",)
    parts = ("by_key",)

    def __init__(self, plan: Plan, number: int, rows: int) -> None:
        self.number = number
        """Which of the cells this is."""
        self.needs: list[float] = []
        self.by_key = KeyNeeds(plan, rows) if is_shared_by_key(plan) else None

    @property
    def nbytes(self) -> int:
        """The room that what it knows takes."""
        return 0 if self.by_key is None else self.by_key.nbytes

    def read(self, headers: Iterable[Header]) -> None:
        """Take note of the headers of a batch."""
        told = list(headers)
        by_cell = [header.by_cell for header in told if header.by_cell]
        if not by_cell:
            return
        given = [sum(counts) for counts in zip(*by_cell, strict=True)]
        before = self.needs or [0.0] * len(given)
        self.needs = [need * _KEPT + rows for need, rows in zip(before, given, strict=True)]
        if self.by_key is not None and len(given) > 1 and self.by_key.fits(len(given)):
            self.by_key.read(told, len(given))

    def of(self, limit: int, a_row: int = 1) -> int:
        """This cell's share of a limit, where a row takes so much; all of it where there is but one cell."""
        total = sum(map(Fraction, self.needs))
        if total == 0:
            return limit // max(1, len(self.needs))
        first = self._wanted(limit // a_row)
        rest = limit - sum(first) * a_row
        return first[self.number] * a_row + int(rest * Fraction(self.needs[self.number]) / total)

    def _wanted(self, rows: int) -> list[int]:
        cells = len(self.needs)
        return [0] * cells if self.by_key is None or cells == 1 else self.by_key.wanted(rows, cells)
