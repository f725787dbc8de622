"""ORDERED BY a WITHIN k ROWS or d: `a < m` is closed; m is the largest a with k arrivals after it, or less d.

Known at the grain of chunks: the largest value of a chunk counts once k rows came in later chunks (k = 0: at once).
That makes m no larger than the definition says, so nothing is closed too early. A row breaks it if it lies below the
m that stood when its chunk began; disorder within one chunk goes unseen, since no promise was made in between. NULL
makes no promise and breaks none.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow.compute as pc

from penstock.plan.plan import Plan, PromiseKind, PromisePlan
from penstock.runtime.batch import Chunk
from penstock.runtime.codes import DAY_TICKS, INT64, Bools, Ints, Ordinal, is_coded
from penstock.runtime.promises.watch import Step, Watch
from penstock.runtime.synopsis import FRESH
from penstock.runtime.violations import Breach


class OrderedWatch(Watch):
    """The floor of one ordered column."""

    sees_all_rows = True

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        source = plan.by_alias[promise.alias]
        self.stream = source.stream
        self.column = promise.columns[0]
        types = {column.name: column.type for column in source.read}
        self._per_day = DAY_TICKS if types.get(self.column) == "DATE" else 1
        self.in_time = promise.kind is PromiseKind.ORDERED_TIME
        slack = promise.high if self.in_time else promise.rows
        assert slack is not None
        self.slack = slack
        self._top: tuple[Ordinal, int] | None = None
        """The largest value, and the rows of the stream up to the end of its chunk."""
        self._waiting: list[tuple[Ordinal, int]] = []
        """Larger and larger values that k rows have not yet followed."""
        self._settled: tuple[Ordinal, int] | None = None
        """The largest value that k rows have followed."""
        self._count = 0
        self._floors: list[Ordinal | None] = []
        """The floor at the start of each chunk of the running batch."""

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        if chunk.header.stream != self.stream:
            return
        self._floors.append(self.floor)
        self._count = count
        top = chunk.header.maxima.get(self.column)
        if top is not None and (self._top is None or top > self._top[0]):  # type: ignore[operator] # one type a column
            self._top = (top, count)
            if not self.in_time:
                self._waiting.append(self._top)
        self._move_on()

    def _move_on(self) -> None:
        followed = [entry for entry in self._waiting if self._count - entry[1] >= self.slack]
        if followed:
            self._settled = followed[-1]
            del self._waiting[: len(followed)]

    @property
    def floor(self) -> Ordinal | None:
        """Values below it are closed; None while nothing is."""
        if not self.in_time:
            return None if self._settled is None else self._settled[0]
        ticks = self.floor_ticks
        return None if ticks is None else -(-ticks // self._per_day)

    @property
    def floor_ticks(self) -> int | None:
        """The floor on the clock, for a column of a clock type."""
        known = self._top if self.in_time else self._settled
        if known is None or not isinstance(known[0], int):
            return None
        return known[0] * self._per_day - (self.slack if self.in_time else 0)

    def breaches(self, step: Step) -> list[Breach]:
        """See Watch."""
        floors, self._floors = self._floors, []
        synopsis = step.synopses[self.promise.alias]
        if all(floor is None for floor in floors) or synopsis.size(FRESH) == 0:
            return []
        ids = synopsis.ids(FRESH)
        base = synopsis.first_fresh
        chunk = step.chunk_of[self.promise.alias][ids - base]
        segment = synopsis.segments[-1]
        column = segment.column(self.column)
        below: Bools
        if is_coded(column.type):
            limits = np.array([INT64.min if f is None else _held(f) for f in floors], np.int64)
            below = segment.codes(self.column)[ids - base] < limits[chunk]
        else:
            taken = column.take(ids - base)
            below = np.zeros(len(ids), np.bool_)
            for number, floor in enumerate(floors):
                if floor is not None:
                    less = pc.fill_null(pc.less(taken, floor), False).to_numpy(zero_copy_only=False)
                    below |= less & (chunk == number)
        if column.null_count:
            below &= column.is_valid().to_numpy(zero_copy_only=False)[ids - base]
        broken = ids[below]
        return [Breach(self.promise, self.promise.alias, broken, self._needed(step, broken))] if len(broken) else []

    def _needed(self, step: Step, ids: Ints) -> Ints:
        synopsis = step.synopses[self.promise.alias]
        if self.in_time and self._top is not None and isinstance(self._top[0], int):
            return self._top[0] * self._per_day - synopsis.ticks(self.column, ids)
        if self._settled is None:
            return np.full(len(ids), self.slack + 1)
        arrival: Ints = synopsis.gather(ids, lambda s: s.arrival)
        return np.maximum(arrival + 1 - self._settled[1], self.slack + 1)

    def adapt(self, breach: Breach, step: Step) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.slack = max(self.slack, int(breach.needed.max()))
        if not self.in_time and self._settled is not None and self._count - self._settled[1] < self.slack:
            self._waiting.insert(0, self._settled)
            self._settled = None

    @property
    def k(self) -> int | None:
        """See Watch."""
        return self.slack

    def save(self) -> dict[str, Any]:
        """See Watch."""
        return {
            "slack": self.slack,
            "top": _spell(self._top),
            "waiting": [_spell(entry) for entry in self._waiting],
            "settled": _spell(self._settled),
            "count": self._count,
        }

    def load(self, saved: dict[str, Any]) -> None:
        """See Watch."""
        self.slack = saved["slack"]
        self._top = _read(saved["top"])
        self._waiting = [entry for entry in map(_read, saved["waiting"]) if entry is not None]
        self._settled = _read(saved["settled"])
        self._count = saved["count"]


def _held(value: Ordinal) -> int:
    assert isinstance(value, int)
    return max(INT64.min, min(INT64.max, value))


def _spell(entry: tuple[Ordinal, int] | None) -> list[Any] | None:
    """JSON has no bytes and no decimals: the value's kind goes with its text."""
    if entry is None:
        return None
    value, count = entry
    text = value.hex() if isinstance(value, bytes) else str(value)
    return [type(value).__name__, text, count]


def _read(spelt: list[Any] | None) -> tuple[Ordinal, int] | None:
    if spelt is None:
        return None
    kind, text, count = spelt
    match kind:
        case "int":
            return int(text), count
        case "bytes":
            return bytes.fromhex(text), count
        case "Decimal":
            return Decimal(text), count
        case _:
            return str(text), count
