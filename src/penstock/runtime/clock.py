"""What the headers tell: how many rows of each stream arrived, and when. The same in every cell."""

from __future__ import annotations

from typing import Any

from penstock.plan.plan import Plan, PromiseKind


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
            ends.append((self.batch, self.count[stream]))
            reach = self.count[stream] - widest.get(stream, 0)
            # The last end that every k has passed answers for all before it.
            passed = sum(1 for _, count in ends if count <= reach)
            del ends[: max(0, passed - 1)]

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
