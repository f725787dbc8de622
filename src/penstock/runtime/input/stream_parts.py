"""The parts of one stream: which there are, how far each has risen, and which no longer hold the clock back.

A part is known once its source names it or a row of it came. By ordered column its largest value is remembered, or, for
an order in rows, the climbs that may still matter, as many as the widest k asks for. A part is **silent** until its
first event time. It is **idle** while its latest event time lies more than IDLE AFTER behind the latest of all parts
and it brought nothing in the last batch in which its stream did: one that lags and speaks, as in a catch-up, is waited
for. The latest of a silent one is held to be that of all as it was when the part was named, or the first rows came.

An idle part that no source names is forgotten once all that are not idle are past what it had reached: whatever comes
of it later starts at the clock of the stream like a part that is new, and that clock is no less. So there are as many
as the source names, as are not idle, and as wait for one that lags. Every cell is told the same, by the headers.

What the clocks are is for the watches to say (`promise/part_orders.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import ORDERS, PromiseKind
from penstock.runtime.columns.climbs import NO_CLIMBS, Climbs
from penstock.runtime.columns.codes import DAY_TICKS, INT64, Bools, Ints
from penstock.runtime.input.headers import Header
from penstock.runtime.state.component import Component
from penstock.runtime.state.queue import as_arrow, as_numpy

NONE = int(INT64.min)
"""Stands for a value that is not there."""
_WHOLE = re.compile(r"\d{1,18}")
_NAME, _LATEST, _SILENT, _NAMED, _ROWS, _QUIET, _PEAK = "name", "latest", "silent", "named", "rows", "quiet", "peak/"


class StreamParts(Component):
    """The parts of one stream, each at its place; places change only in `begin`."""

    arrays = ("known", "climbed")
    numbers = ("waited", "_held_by")

    def __init__(self, plan: Plan, stream: str) -> None:
        source = next(source for source in plan.sources if source.stream == stream)
        orders = [p for p in plan.promises if p.kind in ORDERS and plan.by_alias[p.alias].stream == stream]
        self.stream = stream
        self._factor = plan.monitor.factor
        self._idle = source.idle
        self._clock = source.event_time
        self._time = source.event_time if source.idle is not None else None
        types = {column.name: column.type for column in source.read}
        self._per_day = DAY_TICKS if types.get(source.event_time or "") == "DATE" else 1
        self.names: list[str | None] = []
        self._place: dict[str | None, int] = {}
        self.latest: Ints = np.zeros(0, np.int64)
        """The latest event time of each, where parts may be idle."""
        self.silent: Bools = np.zeros(0, np.bool_)
        self.named: Bools = np.zeros(0, np.bool_)
        self.quiet: Bools = np.zeros(0, np.bool_)
        """Which brought nothing in the last batch in which another did."""
        self.rows: Ints = np.zeros(0, np.int64)
        """The rows that came of each."""
        self.waited = 0
        """For how many batches that brought rows the slowest part has brought none, and held the clock where it is."""
        self._held_by: str | None = None
        """Which that was."""
        self.spoke: Bools = np.zeros(0, np.bool_)
        """Which brought rows in the running batch."""
        self.slowest: int | None = None
        """The part that holds the clock of the event time where it is, or that of another column."""
        in_time = {p.columns[0] for p in orders if p.kind is PromiseKind.ORDERED_TIME}
        self.peaks: dict[str, Ints] = {column: np.zeros(0, np.int64) for column in sorted(in_time)}
        """By column that is ordered in time, the largest value of each."""
        in_rows = {p.columns[0] for p in orders if p.kind is not PromiseKind.ORDERED_TIME}
        self.climbs: dict[str, list[Climbs]] = {column: [] for column in sorted(in_rows)}
        """By column that is ordered in rows, the climbs of each that may still matter."""
        self.reach: dict[str, dict[str, int]] = {column: {} for column in self.climbs}
        """By such a column, the k in force of each constraint."""

    def __len__(self) -> int:
        return len(self.names)

    def begin(self) -> None:
        """Start a batch: forget parts that are idle, that nobody names and that the others have passed."""
        self.spoke, self.slowest = np.zeros(len(self), np.bool_), None
        idle = self.idle
        gone = idle & ~self.named
        if gone.any():
            gone &= self.latest <= np.where(self.silent, NONE, self.latest)[~idle].min()
            self._keep(np.flatnonzero(~gone))

    def _keep(self, places: Ints) -> None:
        self.names = [self.names[place] for place in places.tolist()]
        self._place = {name: place for place, name in enumerate(self.names)}
        for held in ("latest", "silent", "named", "quiet", "rows", "spoke"):
            setattr(self, held, getattr(self, held)[places])
        self.peaks = {column: peaks[places] for column, peaks in self.peaks.items()}
        self.climbs = {column: [climbs[p] for p in places.tolist()] for column, climbs in self.climbs.items()}

    def name(self, names: Iterable[str | None]) -> None:
        """The source names its parts."""
        places, top = self.places(names), self.top
        self.named[places] = True
        if top is not None:
            self.latest[self.latest == NONE] = top

    def places(self, names: Iterable[str | None]) -> Ints:
        """Where parts of these names stand; those that are not known become so, and are silent."""
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self._place]
        if new:
            count = len(new)
            self._place.update((name, len(self) + number) for number, name in enumerate(new))
            self.names += new
            self.latest = np.append(self.latest, np.full(count, NONE))
            self.silent = np.append(self.silent, np.ones(count, np.bool_))
            self.named = np.append(self.named, np.zeros(count, np.bool_))
            self.quiet = np.append(self.quiet, np.zeros(count, np.bool_))
            self.spoke = np.append(self.spoke, np.zeros(count, np.bool_))
            self.rows = np.append(self.rows, np.zeros(count, np.int64))
            for column, peaks in self.peaks.items():
                self.peaks[column] = np.append(peaks, np.full(count, NONE))
            for climbs in self.climbs.values():
                climbs.extend([NO_CLIMBS] * count)
        return np.array([self._place[name] for name in wanted], np.int64)

    @property
    def top(self) -> int | None:
        """The latest event time of all parts."""
        told = self.latest[~self.silent]
        return int(told.max()) if len(told) and told.max() != NONE else None

    def read(self, header: Header) -> None:
        """Take note of a chunk."""
        parts = header.parts
        if parts is None or not parts.names:
            return
        places = self.places(parts.names)
        if self._time is not None:
            told = numbers_of(parts.tops.get(self._time, (None,) * len(places)))
            timed, told = places[told != NONE], told[told != NONE]
            self.latest[timed] = np.where(self.silent[timed], told, np.maximum(self.latest[timed], told))
            self.silent[timed] = False
        self.spoke[places] = True
        for column, peaks in self.peaks.items():
            if column in parts.tops:
                peaks[places] = np.maximum(peaks[places], numbers_of(parts.tops[column]))
        for column, climbs in self.climbs.items():
            for place, found in zip(places.tolist(), parts.climbs.get(column, ()), strict=False):
                further = found.above(climbs[place])
                if len(further):
                    before, rows = climbs[place], further.rows + self.rows[place]
                    if len(before):
                        values = np.concatenate([before.values, further.values])
                        climbs[place] = Climbs(values, np.concatenate([before.rows, rows]))
                    else:
                        climbs[place] = Climbs(further.values, rows)
        self.rows[places] += np.array(parts.rows, np.int64)

    def settle(self) -> None:
        """All rows of a batch are read: parts that nothing dates are dated, and those that said nothing are quiet."""
        # A batch of other streams' rows tells of no part that it could have spoken.
        if self.spoke.any():
            self.quiet = ~self.spoke
        top = self.top
        if top is not None:
            self.latest[self.latest == NONE] = top

    def end(self) -> None:
        """End a batch: climbs are let go that no k needs."""
        if self.slowest is not None and self.spoke.any():
            name = self.names[self.slowest]
            held = self.waited if name == self._held_by else 0
            self.waited, self._held_by = 0 if self.spoke[self.slowest] else held + 1, name
        for column, climbs in self.climbs.items():
            reach = ceil(max(self.reach[column].values(), default=0) * self._factor)
            for place in np.flatnonzero(self.spoke).tolist():
                own = climbs[place]
                # Of climbs that are old enough the highest stands for all.
                old = int(np.searchsorted(own.rows, int(self.rows[place]) - 1 - reach, "right")) - 1
                if old > 0:
                    climbs[place] = Climbs(own.values[old:], own.rows[old:])

    @property
    def idle(self) -> Bools:
        """Which parts do not hold the clock back."""
        top = self.top
        if self._idle is None or top is None:
            return np.zeros(len(self), np.bool_)
        dated: Bools = self.latest != NONE
        idle: Bools = (top - np.where(dated, self.latest, top)) > self._idle // self._per_day
        return idle & dated & self.quiet

    @property
    def told(self) -> dict[str, int]:
        """What the metrics say of the parts; what has no answer is left out."""
        found = {"known": len(self), "idle": int(np.count_nonzero(self.idle)), "waited": self.waited}
        if self.slowest is not None:
            name = self.names[self.slowest]
            found |= {"slowest": int(name)} if name is not None and _WHOLE.fullmatch(name) else {}
            peaks = self.peaks.get(self._clock or "")
            if peaks is not None and peaks[self.slowest] != NONE:
                found["behind"] = (int(peaks.max()) - int(peaks[self.slowest])) * self._per_day
        return found

    @property
    def known(self) -> Any:
        """All but the climbs, as a table; None while there are no parts."""
        if not self.names:
            return None
        columns = {_NAME: pa.array(self.names, pa.string())}
        told = {_LATEST: self.latest, _SILENT: self.silent, _NAMED: self.named, _ROWS: self.rows}
        told |= {_QUIET: self.quiet} | {_PEAK + column: peaks for column, peaks in self.peaks.items()}
        return pa.table({**columns, **{name: pa.array(values) for name, values in told.items()}})

    @known.setter
    def known(self, table: Any) -> None:
        if table is None:
            return
        self.names = table.column(_NAME).to_pylist()
        self._place = {name: place for place, name in enumerate(self.names)}

        def column(name: str) -> Any:
            return table.column(name).to_numpy().copy()

        self.latest, self.silent, self.named, self.rows = map(column, (_LATEST, _SILENT, _NAMED, _ROWS))
        # A checkpoint from before it was kept tells of nobody: the next rows of the stream will.
        is_kept = _QUIET in table.column_names
        self.quiet = column(_QUIET) if is_kept else np.zeros(len(self), np.bool_)
        self.spoke = np.zeros(len(self), np.bool_)
        self.peaks = {name: column(_PEAK + name) for name in self.peaks}
        self.climbs = {name: [NO_CLIMBS] * len(self) for name in self.climbs}

    @property
    def climbed(self) -> Any:
        """The climbs of all parts, as a table; None while there are none."""
        tables = []
        for number, climbs in enumerate(self.climbs.values()):
            kept = [(place, one) for place, one in enumerate(climbs) if len(one)]
            if kept:
                values = np.concatenate([one.values for _, one in kept])
                rows = np.concatenate([one.rows for _, one in kept])
                part = np.repeat([place for place, _ in kept], [len(one) for _, one in kept])
                columns = {"part": pa.array(part), "row": pa.array(rows), f"value/{number}": as_arrow(values)}
                tables.append(pa.table(columns))
        # Each row has the value of one column, and none of the others.
        return pa.concat_tables(tables, promote_options="default") if tables else None

    @climbed.setter
    def climbed(self, table: Any) -> None:
        for number, column in enumerate(self.climbs):
            name = f"value/{number}"
            if table is None or name not in table.column_names:
                continue
            own = table.filter(table.column(name).is_valid())
            values = as_numpy(own.column(name).combine_chunks())
            part, rows = own.column("part").to_numpy(), own.column("row").to_numpy()
            starts = np.flatnonzero(np.diff(part, prepend=-1))
            for start, stop in zip(starts, [*starts[1:], len(part)], strict=True):
                self.climbs[column][int(part[start])] = Climbs(values[start:stop], rows[start:stop])


def numbers_of(values: Iterable[Any]) -> Ints:
    """Values as numbers, NONE where there is none."""
    return np.array([NONE if value is None else value for value in values], np.int64)
