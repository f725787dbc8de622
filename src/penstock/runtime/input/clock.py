"""What the headers tell: how many rows of each stream arrived, when, and of which part. The same in every cell."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from penstock.errors import UsageError
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind
from penstock.runtime.columns.codes import Ints
from penstock.runtime.input.headers import Header
from penstock.runtime.input.stream_parts import StreamParts
from penstock.runtime.input.wire_columns import part_column
from penstock.runtime.state.component import Component
from penstock.runtime.state.queue import Queue

NO_PARTS: Mapping[str, tuple[str | None, ...]] = MappingProxyType({})

_GRAIN = 32
"""An end that no k needs is kept if the rows since the one before it are at least this part of those after it."""
_SPARE = 16
"""Ends that may pile up before they are thinned out again."""


class BatchEnds(Component):
    """How many rows of one stream had arrived at the ends of batches, while a k may still need it.

    An end is noted where the number changed. Those that every k has passed only tell how far a row was late: the older
    they are, the fewer are kept of them, but always the last.
    """

    tables = ("recent",)
    numbers = ("passed", "_thinned")

    def __init__(self) -> None:
        self.passed: list[list[int]] = []
        """(batch, rows up to its end), of ends that every k has passed."""
        self.recent = Queue("batch", "count")
        """All others."""
        self._thinned = 0

    def end(self, batch: int, count: int, widest: int) -> None:
        """Note the end of a batch; `widest` is the largest k that counts the rows."""
        counts = self.recent.column("count")
        before = int(counts[-1]) if len(counts) else self.passed[-1][1] if self.passed else None
        if before != count:
            self.recent.append(batch=np.array([batch]), count=np.array([count]))
            counts = self.recent.column("count")
        old = int(np.searchsorted(counts, count - widest, "right"))
        if old:
            self.passed += np.stack([self.recent.column("batch")[:old], counts[:old]], axis=1).tolist()
            self.recent.drop(old)
        if len(self.passed) > 2 * self._thinned + _SPARE:
            self._thin_out(count)

    def _thin_out(self, count: int) -> None:
        thinned = self.passed[:1]
        for end, after in pairwise(self.passed):
            if (after[1] - thinned[-1][1]) * _GRAIN >= count - end[1]:
                thinned.append(after)
        if thinned[-1] != self.passed[-1]:
            thinned.append(self.passed[-1])
        self.passed, self._thinned = thinned, len(thinned)

    def rows_at(self, batches: Ints) -> Ints:
        """How many rows had arrived at the end of batches; too few, if anything, where ends were let go."""
        old = np.array(self.passed, np.int64).reshape(-1, 2)
        known = np.concatenate([old[:, 0], self.recent.column("batch")])
        counts = np.concatenate([[0], old[:, 1], self.recent.column("count")])
        found: Ints = counts[np.searchsorted(known, batches, "right")]
        return found

    def last_upto(self, count: int, now: int) -> int:
        """The last batch before the running one, `now`, at whose end no more rows had arrived; -1 if there is none."""
        place = int(np.searchsorted(self.recent.column("count"), count, "right"))
        if place == 0 and self.passed and self.passed[-1][1] > count:
            # Of the ends between these some are not known any more.
            return max((batch for batch, rows in self.passed if rows <= count), default=-1)
        if place == 0 and not self.passed:
            return -1
        batches = self.recent.column("batch")
        return int(batches[place]) - 1 if place < len(batches) else now - 1


class Clock(Component):
    """Counts of data rows by stream, before and after the running batch, and at the ends of earlier batches."""

    numbers = ("batch", "count", "ended")
    parts = ("history", "stream_parts")

    def __init__(self, plan: Plan) -> None:
        self.stream_parts = {
            stream: StreamParts(plan, stream) for stream in plan.streams if part_column(plan, stream) is not None
        }
        """Of streams that have some."""
        self.batch = -1
        self.count = dict.fromkeys(plan.streams, 0)
        self.before = dict(self.count)
        self.ended = False
        """Whether the batch that ends every stream has come."""
        counted = {
            plan.by_alias[p.partner].stream
            for p in plan.promises
            if p.kind is PromiseKind.FOLLOWS_ROWS and p.partner is not None and not plan.in_arrival_order
        }
        self.history = {stream: BatchEnds() for stream in sorted(counted)}
        """Of streams that FOLLOWS counts batch by batch."""

    def resume(self) -> None:
        """See Component."""
        self.before = dict(self.count)

    def begin(
        self, batch: int, *, is_last: bool = False, parts: Mapping[str, tuple[str | None, ...]] = NO_PARTS
    ) -> None:
        """Start a batch; `parts` are those that sources name."""
        if self.ended:
            raise UsageError(
                "the streams have ended, and what waited was decided: no more rows are taken in",
                hint="begin anew, without what was saved",
            )
        self.ended = is_last
        if batch <= self.batch:
            raise ValueError(f"batch {batch} comes after batch {self.batch}")
        self.batch = batch
        self.before = dict(self.count)
        for stream, known in self.stream_parts.items():
            known.begin()
            known.name(parts.get(stream, ()))

    def read(self, header: Header) -> None:
        """Take note of a chunk, after whoever looks at what was before it."""
        self.count[header.stream] += header.rows
        if header.stream in self.stream_parts:
            self.stream_parts[header.stream].read(header)

    def settle(self) -> None:
        """All rows of the batch are read."""
        for known in self.stream_parts.values():
            known.settle()

    def end(self, widest: dict[str, int]) -> None:
        """End a batch; `widest` is, by stream, the largest k that counts its rows."""
        for known in self.stream_parts.values():
            known.end()
        for stream, ends in self.history.items():
            ends.end(self.batch, self.count[stream], widest.get(stream, 0))

    @property
    def told_of_parts(self) -> dict[str, int]:
        """What the metrics say of parts: each number under its name and the stream's."""
        return {
            f"{what} {stream}": count
            for stream, known in self.stream_parts.items()
            for what, count in known.told.items()
        }

    def rows_at(self, stream: str, batches: Ints) -> Ints:
        """How many rows of a stream had arrived at the end of batches; too few, if anything, where ends were let go."""
        return self.history[stream].rows_at(batches)

    def batch_before(self, stream: str, rows: int) -> int:
        """The last batch after whose end at least so many rows of the stream arrived; -1 if there is none."""
        return self.batch if rows == 0 else self.history[stream].last_upto(self.count[stream] - rows, self.batch)
