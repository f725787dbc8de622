"""ORDERED BY and ARRIVES BY of a stream that has parts: within each part alone (DESIGN section 2, "Parts").

Within a part a column rises as in `ordered.py`: WITHIN d the part closes what lies below its largest value less d,
WITHIN k ROWS what lies below the largest that k rows of the part have followed. The **clock** of the stream is the
least that a part closes, over all that are not idle: nothing below it comes of any of them. It never falls; where d is
widened, what it closes does.

A part that first appears later starts at the clock, and so does one that was idle and speaks again: what either brings
below it breaks the order as if a row of its own had been there. From then on the clock waits for it as for any other. A
part that was named and is silent holds the clock where it is; before there is one, nothing is closed.

A batch is one instant: clocks move when all its rows are in, so in which order parts are read in a batch matters
nothing. The k of WITHIN AUTO is learned in time only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.climbs import Climbs
from penstock.runtime.columns.codes import Ints, Ordinal, codes, is_coded
from penstock.runtime.columns.order_numbers import ranks, ticks_below
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.headers import Late
from penstock.runtime.input.stream_parts import NONE, StreamParts
from penstock.runtime.input.wire_columns import PART, PART_ROW
from penstock.runtime.promise.ordered import NOT_LATE, ArrivesWatch, OrderedWatch
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.segment import Segment


@dataclass(frozen=True)
class PartsBefore:
    """What is known of the parts of a chunk before it."""

    start: int
    late: Late
    peaks: Ints
    """In time, the largest value of each, or the clock of the stream."""
    climbs: tuple[Climbs, ...]
    """In rows, the climbs of each."""
    rows: Ints
    """In rows, how many came of each."""
    clock: Ordinal | None
    """In rows, the clock of the stream."""

    @property
    def tells(self) -> bool:
        """Whether a row of the chunk may be late."""
        is_known = (self.peaks != NONE).any() or self.clock is not None or any(len(one) for one in self.climbs)
        return bool(is_known or self.late.index)


class PartOrderWatch(OrderedWatch):
    """How far one column has climbed on each part of a stream."""

    numbers = (*OrderedWatch.numbers, "_clock")

    def __init__(self, plan: Plan, promise: PromisePlan, parts: StreamParts) -> None:
        super().__init__(plan, promise)
        self.of_parts = parts
        self._clock: Ordinal | None = None
        """What every part has passed that is not idle; in time, without d."""

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        header = chunk.header
        if header.stream != self.stream or header.parts is None:
            return
        places = self.of_parts.places(header.parts.names)
        start = count - header.rows if header.start is None else header.start
        late = header.late.get(self.promise.constraint, NOT_LATE)
        peaks = np.zeros(0, np.int64)
        climbs: tuple[Climbs, ...] = ()
        if self.in_time:
            clock = NONE if self._clock is None else self._clock
            peaks = np.maximum(self.of_parts.peaks[self.column][places], clock)  # type: ignore[arg-type] # a number
        else:
            climbs = tuple(self.of_parts.climbs[self.column][place] for place in places.tolist())
        rows = self.of_parts.rows[places]
        self._chunks.append(PartsBefore(start, late, peaks, climbs, rows, None if self.in_time else self._clock))
        self._count = count
        self._swing = max(self._swing, header.swings.get(self.promise.constraint, 0))

    def _needed(self, segment: Segment, rows: Ints, before: Any) -> Ints:
        part = codes(segment.column(PART))[rows]
        if self.in_time:
            heights = before.peaks[part]
            values = segment.codes(self.column)[rows]
            needed = np.where(heights == NONE, 0, ticks_below(heights, values, self._per_day))
        else:
            needed = self._needed_rows(segment, rows, part, before)
        self.late_in_chunk(needed, segment.arrival[rows], before)
        return needed

    def _needed_rows(self, segment: Segment, rows: Ints, part: Ints, before: PartsBefore) -> Ints:
        needed = np.zeros(len(rows), np.int64)
        heights, values, clock = self._numbered(segment, rows, before)
        tops = np.array([one[-1] if len(one) else NONE for one in heights], np.int64)
        late = np.flatnonzero(values < tops[part])
        place = codes(segment.column(PART_ROW))[rows]
        for number in np.unique(part[late]).tolist():
            own = late[part[late] == number]
            above = np.searchsorted(heights[number], values[own], "right")
            needed[own] = before.rows[number] + place[own] - before.climbs[number].rows[above]
        if clock is not None:
            # No row of its own part tells how far it is late.
            below = values < clock
            needed[below] = np.maximum(needed[below], (self.monitor.allowed or 0) + 1)
        return needed

    def _numbered(self, segment: Segment, rows: Ints, before: PartsBefore) -> tuple[list[Ints], Ints, int | None]:
        """The climbs of each part, the values of rows, and the clock, as numbers of one order."""
        column = segment.column(self.column)
        if is_coded(column.type):
            assert before.clock is None or isinstance(before.clock, int)
            return [one.values for one in before.climbs], segment.codes(self.column)[rows], before.clock
        told = [value for one in before.climbs for value in one.values.tolist()]
        told += [] if before.clock is None else [before.clock]
        together = ranks(pa.concat_arrays([pa.array(told, column.type), column.take(pa.array(rows))]))
        ends = np.cumsum([len(one) for one in before.climbs])
        climbs = np.split(together[: int(ends[-1]) if len(ends) else 0], ends[:-1])
        return climbs, together[len(told) :], None if before.clock is None else int(together[len(told) - 1])

    def make(self, step: WatchStep) -> None:
        """See Watch; the clock moves to the least that a part closes which is not idle."""
        super().make(step)
        parts = self.of_parts
        active = np.flatnonzero(~parts.idle)
        if not len(active):
            return
        if self.in_time:
            peaks = parts.peaks[self.column][active]
            slowest = int(np.argmin(peaks))
            parts.slowest = int(active[slowest])
            least = max(int(peaks[slowest]), NONE if self._clock is None else int(self._clock))
            self._clock = None if least == NONE else least
            return
        slack = self.slack
        assert slack is not None
        parts.reach[self.column][self.promise.constraint] = slack
        found: list[tuple[Ordinal | None, int]] = []
        for place in active.tolist():
            climbs = parts.climbs[self.column][place]
            passed = int(np.searchsorted(climbs.rows, int(parts.rows[place]) - 1 - slack, "right"))
            found.append((climbs.value(passed - 1) if passed else None, place))
        closed = [value for value, _ in found if value is not None]
        least_closed = min(closed) if len(closed) == len(found) else None
        if parts.slowest is None:
            parts.slowest = next(place for value, place in found if value == least_closed)
        if least_closed is None:
            return
        if self._clock is None or least_closed > self._clock:  # type: ignore[operator] # one type a column
            self._clock = least_closed

    def move_peak(self, ticks: int) -> None:
        """See OrderedWatch; parts stay where they are."""
        if isinstance(self._clock, int):
            self._clock += ticks // self._per_day

    @property
    def _highest_closed(self) -> Ordinal | None:
        return self._clock

    @property
    def _top(self) -> int:
        peaks = self.of_parts.peaks[self.column]
        top = int(peaks.max()) if len(peaks) else NONE
        return 0 if top == NONE else top * self._per_day


class PartArrivesWatch(PartOrderWatch, ArrivesWatch):
    """The order of arrival within each part of a stream."""
