"""ORDERED BY a WITHIN k ROWS or d: `a < m` is closed; m is the largest a with k arrivals after it, or less d.

The headers tell where a climbed, to the row in the last c times k rows of each chunk, so m is known exactly before any
row that is not of the same chunk; rows that are late within their chunk are told by its header. A row breaks the order
if it would need a larger k or d than is declared, or was learned, be it that ADAPT has widened it since. Of climbs more
than c times k rows back only the highest is remembered, so what a row needs is known up to c times k; one that needs
more is said to need what that climb asks for, at least. NULL makes no promise and breaks none. After ADAPT has widened
k, headers still tell the last rows for the declared one: m may then be lower than it could be, never higher.

Where batches are instants (`Plan.by_batch`), an order in time is promised against earlier batches alone:
the rows of one batch are in no order to each other, and what they would need among themselves breaks nothing. What is
closed is closed after the batch in either case.

The d of WITHIN AUTO, for an event time, is learned from how far rows lie below the highest before them (KMON 6.3): rows
of the cell against earlier chunks, all rows of a chunk among themselves by its header. The latter break nothing: no
promise was made between them.

A k of WITHIN AUTO, for a column that is no event time, is counted in rows and learned (`LearnedOrderWatch`). How far a
row is late is the rows since the first climb above its value. Which climbs will matter is not known before k is, so all
are remembered as **stairs**: neighbours are taken together the more the further back they lie, and a stair knows the
row of its first climb and that of its last. By the first a distance is measured, too large if anything, by at most a
part of itself; by the last a floor is set, too low if anything. So k is never learned too small, and nothing is closed
too early.

ARRIVES BY a (`ArrivesWatch`) is the order of a within 0 rows, which a NULL breaks too. On the event time it also closes
what ORDERED BY it WITHIN 0 closes, and ADAPT widens that; on another column it closes nothing, has no k, and stays in
force. Rows that break it keep their turn on their stream: nothing is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.columns.climbs import NO_CLIMBS, Climbs
from penstock.runtime.columns.codes import DAY_TICKS, Bools, Ints, Ordinal, is_coded
from penstock.runtime.columns.order_numbers import ranks, ticks_below
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.headers import EXACT, GRAIN, Late, Stair
from penstock.runtime.promise.monitor import Monitor
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.queue import Queue
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH

NOT_LATE = Late((), ())


@dataclass(frozen=True)
class Before:
    """What is known of a stream before one of its chunks."""

    start: int
    """The number of the chunk's first row."""
    late: Late
    climbs: Climbs

    @property
    def tells(self) -> bool:
        """Whether a row of the chunk may be late."""
        return bool(len(self.climbs) or self.late.index)


class OrderedWatch(Watch):
    """How far one ordered column has climbed."""

    sees_all_rows = True
    tables = ("_climbed",)
    numbers: ClassVar[tuple[str, ...]] = ("_count", "_peak")
    parts = ("monitor",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        source = plan.by_alias[promise.alias]
        self.stream = source.stream
        self.column = promise.columns[0]
        types = {column.name: column.type for column in source.read}
        self._per_day = DAY_TICKS if types.get(self.column) == "DATE" else 1
        self.in_time = promise.kind is PromiseKind.ORDERED_TIME
        declared = promise.high if self.in_time else promise.rows
        self.monitor = Monitor(plan, declared, None if self.in_time else 0)
        self._climbed = Queue("value", "row")
        """In rows: higher and higher values and the arrival numbers of their rows, the highest that c times k rows have
        followed, then those that fewer have."""
        self._peak: Ordinal | None = None
        """In time: the highest value, which is all that matters."""
        self._count = 0
        self._chunks: list[Any] = []
        """What is known before each chunk of the running batch, and of rows that are late within it."""
        self._swing = 0
        """The most that rows of a chunk of the running batch need among themselves, where that is monitored."""

    @property
    def slack(self) -> int | None:
        """The k or d in force; None while it is not known."""
        return self.monitor.k

    @property
    def _climbs(self) -> Climbs:
        if self.in_time:
            return NO_CLIMBS if self._peak is None else Climbs.of([self._peak], [0])
        return Climbs(self._climbed.column("value"), self._climbed.column("row"))

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        header = chunk.header
        if header.stream != self.stream:
            return
        start = count - header.rows if header.start is None else header.start
        is_instant = self.plan.by_batch and self.in_time and self._chunks
        climbs = self._chunks[0].climbs if is_instant else self._climbs
        self._chunks.append(Before(start, header.late.get(self.promise.constraint, NOT_LATE), climbs))
        self._count = count
        self._swing = max(self._swing, header.swings.get(self.promise.constraint, 0))
        self._climb(chunk, start)

    def _climb(self, chunk: Chunk, start: int) -> None:
        """Take note of how far a chunk climbed."""
        if self.in_time:
            top = chunk.header.maxima.get(self.column)
            if top is not None and (self._peak is None or top > self._peak):  # type: ignore[operator] # one type a column
                self._peak = top
            return
        further = chunk.header.climbs.get(self.column, NO_CLIMBS).above(self._climbs)
        self._climbed.append(value=further.values, row=further.rows + start)
        if self.slack is not None:
            # Of climbs that are old enough the highest stands for all.
            old = self._count - 1 - ceil(self.slack * self.plan.monitor.factor)
            self._climbed.drop(max(0, int(np.searchsorted(self._climbed.column("row"), old, "right")) - 1))

    def _is_followed(self, number: int) -> bool:
        return self.in_time or (self.slack is not None and self._count - 1 - number >= self.slack)

    @property
    def _highest_closed(self) -> Ordinal | None:
        if self.in_time:
            return self._climbs.value(0) if len(self._climbs) else None
        passed = 0 if self.slack is None else np.searchsorted(self._climbs.rows, self._count - 1 - self.slack, "right")
        return self._climbs.value(int(passed) - 1) if passed else None

    @property
    def floor(self) -> Ordinal | None:
        """Values below it are closed; None while nothing is."""
        if not self.in_time:
            return self._highest_closed
        ticks = self.floor_ticks
        return None if ticks is None else -(-ticks // self._per_day)

    @property
    def floor_ticks(self) -> int | None:
        """The floor on the clock, for a column of a clock type."""
        highest = self._highest_closed
        if not isinstance(highest, int) or self.slack is None:
            return None
        return highest * self._per_day - (self.slack if self.in_time else 0)

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        chunks, self._chunks = self._chunks, []
        swing, self._swing = self._swing, 0
        synopsis = step.synopses[self.promise.alias]
        if synopsis.size(FRESH) == 0:
            return []
        if not any(before.tells for before in chunks):
            self._see(synopsis.size(FRESH), swing, 0)
            return []
        ids = synopsis.ids(FRESH)
        segment = synopsis.segments[-1]
        rows = ids - synopsis.first_fresh
        chunk_of = step.chunk_of[self.promise.alias][rows]
        needed = np.zeros(len(ids), np.int64)
        for number, before in enumerate(chunks):
            here = slice(*np.searchsorted(chunk_of, [number, number + 1]))
            if here.start < here.stop and before.tells:
                needed[here] = self._needed(segment, rows[here], before)
        column = segment.column(self.column)
        if column.null_count:
            needed[column.is_null().to_numpy(zero_copy_only=False)[rows]] = 0
        self._see(len(ids), swing, int(needed.max()))
        allowed = self.monitor.allowed
        if allowed is None or not (needed > allowed).any():
            return []
        broken: Bools = needed > allowed
        return [Breach(self.promise, self.promise.alias, ids[broken], needed[broken])]

    def _see(self, arrivals: int, swing: int, needed: int) -> None:
        self.monitor.see(arrivals, max(swing, needed), self.position)
        self.monitor.stretch(swing)

    def _needed(self, segment: Segment, rows: Ints, before: Any) -> Ints:
        """The k or d that rows of one chunk would need."""
        needed = np.zeros(len(rows), np.int64)
        arrival = segment.arrival[rows]
        climbs = before.climbs
        if len(climbs):
            heights, values = self._numbers(segment, rows, climbs)
            # Most often no row is late, which the least of them shows.
            furthest = int(heights[-1]) - int(values.min())
            most = 0 if self.monitor.is_active else self.monitor.allowed or 0
            if self.in_time and furthest * self._per_day > most:
                needed = ticks_below(heights[-1], values, self._per_day)
            elif not self.in_time and furthest > 0:
                above = np.searchsorted(heights, values, "right")
                below = np.flatnonzero(above < len(heights))
                needed[below] = arrival[below] - climbs.rows[above[below]]
        self.late_in_chunk(needed, arrival, before)
        return needed

    @staticmethod
    def late_in_chunk(needed: Ints, arrival: Ints, before: Any) -> None:
        """Raise what rows need to what the header says of them."""
        if before.late.index:
            index = np.array(before.late.index, np.int64)
            place = np.minimum(np.searchsorted(index, arrival - before.start), len(index) - 1)
            told = index[place] == arrival - before.start
            needed[told] = np.maximum(needed[told], np.array(before.late.needed, np.int64)[place[told]])

    def _numbers(self, segment: Segment, rows: Ints, climbs: Climbs) -> tuple[Ints, Ints]:
        """The climbs and the values of rows as numbers of one order."""
        column = segment.column(self.column)
        if is_coded(column.type):
            return climbs.values, segment.codes(self.column)[rows]
        told = pa.array(climbs.values.tolist(), column.type)
        together = ranks(pa.concat_arrays([told, column.take(pa.array(rows))]))
        return together[: len(climbs)], together[len(climbs) :]

    def adapt(self, breach: Breach, step: WatchStep) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.monitor.exceeded(int(breach.needed.max()))

    def make(self, step: WatchStep) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.monitor.settle()

    def move_peak(self, ticks: int) -> None:
        """In time: go on as if the column had climbed by so much more: with a d that much wider, the floor stays."""
        if isinstance(self._peak, int):
            self._peak += ticks // self._per_day

    @property
    def _top(self) -> int:
        """The highest event time read, in ticks."""
        highest = self._climbs.value(-1) if len(self._climbs) else 0
        return highest * self._per_day if isinstance(highest, int) else 0

    @property
    def position(self) -> int:
        """See Watch."""
        return self._top if self.in_time else self._count

    @property
    def k(self) -> int | None:
        """See Watch."""
        return self.monitor.k


class LearnedOrderWatch(OrderedWatch):
    """The stairs of one ordered column."""

    numbers = (*OrderedWatch.numbers, "_stairs")

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        self._stairs: list[Stair] = []

    @property
    def _climbs(self) -> Climbs:
        return Climbs.of([value for value, _, _ in self._stairs], [since for _, _, since in self._stairs])

    def _climb(self, chunk: Chunk, start: int) -> None:
        for value, row, since in chunk.header.stairs.get(self.column, ()):
            if not self._stairs or value > self._stairs[-1][0]:  # type: ignore[operator] # one type a column
                self._stairs.append((value, start + row, start + since))
        self._take_together()

    def _take_together(self) -> None:
        """Let neighbours become one where the rows between them are a small part of those after them."""
        kept: list[Stair] = []
        for value, row, since in reversed(self._stairs):
            age = self._count - (kept[-1][1] if kept else row)
            if kept and age > EXACT and (kept[-1][1] - since) * GRAIN <= age:
                last, last_row, _ = kept[-1]
                kept[-1] = (last, last_row, since)
            else:
                kept.append((value, row, since))
        self._stairs = kept[::-1]

    @property
    def _highest_closed(self) -> Ordinal | None:
        followed = [value for value, row, _ in self._stairs if self._is_followed(row)]
        return followed[-1] if followed else None


class ArrivesWatch(OrderedWatch):
    """The order of arrival of one alias's stream."""

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        self.is_clock = plan.by_alias[promise.alias].event_time == self.column

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        return [*super().breaches(step), *self._nulls(step)]

    def _nulls(self, step: WatchStep) -> list[Breach]:
        synopsis = step.synopses[self.promise.alias]
        if synopsis.size(FRESH) == 0:
            return []
        column = synopsis.segments[-1].column(self.column)
        if not column.null_count:
            return []
        null = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        ids = synopsis.alive(null + synopsis.first_fresh)
        return [Breach(self.promise, self.promise.alias, ids, np.zeros(len(ids), np.int64))] if len(ids) else []

    def adapt(self, breach: Breach, step: WatchStep) -> None:
        """See Watch."""
        if self.is_clock:
            super().adapt(breach, step)

    @property
    def k(self) -> int | None:
        """See Watch."""
        return self.slack if self.is_clock else None
