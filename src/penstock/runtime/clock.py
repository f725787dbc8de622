"""What the headers tell: how many rows of each stream arrived, and when. The same in every cell."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from penstock.plan.plan import Plan, PromiseKind
from penstock.runtime.codes import Ints

_GRAIN = 32
"""An end that no k needs is kept if the rows since the one before it are at least this part of those after it."""


class Clock:
    """Counts of data rows by stream, before and after the running batch, and at the ends of earlier batches."""

    def __init__(self, plan: Plan) -> None:
        self.batch = -1
        self.count = dict.fromkeys(plan.streams, 0)
        self.before = dict(self.count)
        self._counted = {
            plan.by_alias[p.partner].stream
            for p in plan.promises
            if p.kind is PromiseKind.FOLLOWS_ROWS and p.partner is not None and not plan.in_arrival_order
        }
        self.history: dict[str, list[tuple[int, int]]] = {stream: [] for stream in sorted(self._counted)}
        """For streams that FOLLOWS counts batch by batch: (batch, rows up to its end), while a k may still need it."""

    def begin(self, batch: int) -> None:
        """Start a batch."""
        if batch <= self.batch:
            raise ValueError(f"batch {batch} comes after batch {self.batch}")
        self.batch = batch
        self.before = dict(self.count)

    def end(self, widest: dict[str, int]) -> None:
        """End a batch; `widest` is, by stream, the largest k that counts its rows."""
        for stream, ends in self.history.items():
            if [count for _, count in ends[-2:]] == [self.count[stream]] * 2:
                del ends[-1]  # Of batches without a row of the stream, the first and the last say all.
            ends.append((self.batch, self.count[stream]))
            reach = self.count[stream] - widest.get(stream, 0)
            # Ends that every k has passed only tell how far a row was late: the older, the fewer are kept of them.
            passed = sum(1 for _, count in ends if count <= reach)
            thinned = [ends[0]] if passed else []
            for end, after in pairwise(ends[:passed]):
                if (after[1] - thinned[-1][1]) * _GRAIN >= self.count[stream] - end[1]:
                    thinned.append(after)
            if passed and thinned[-1] != ends[passed - 1]:
                thinned.append(ends[passed - 1])
            ends[:passed] = thinned

    def rows_at(self, stream: str, batches: Ints) -> Ints:
        """How many rows of a stream had arrived at the end of batches; too few, if anything, where ends were let go."""
        ends = self.history[stream]
        if not ends:
            return np.zeros(len(batches), np.int64)
        known, counts = np.array(ends, np.int64).T
        place = np.searchsorted(known, batches, "right") - 1
        return np.where(place < 0, 0, counts[np.maximum(place, 0)])

    def batch_before(self, stream: str, rows: int) -> int:
        """The last batch after whose end at least so many rows of the stream arrived; -1 if there is none."""
        if rows == 0:
            return self.batch
        passed = [batch for batch, count in self.history[stream] if self.count[stream] - count >= rows]
        return max(passed, default=-1)

    def save(self) -> dict[str, Any]:
        """The clock as JSON holds it."""
        return {"batch": self.batch, "count": self.count, "history": self.history}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on where a saved clock stood."""
        self.batch = saved["batch"]
        self.count = dict(saved["count"])
        self.before = dict(self.count)
        self.history = {stream: [(b, c) for b, c in ends] for stream, ends in saved["history"].items()}
