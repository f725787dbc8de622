"""How long a stored row may still meet rows of another stream, in **steps**: rows, of any stream, that this cell gets.

Each closer has a limit that moves on as the streams do (`promise/closing.py`). A row is closed once the limit passes
its value; so the time left is the distance divided by the speed of the limit, which is measured, recent batches first.
`[ROWS n]` is counted alike. Where nothing says when a row is closed, it is said to live for `horizon` steps.
An estimate, used to choose what to evict and for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.runtime.budget.rates import Floats
from penstock.runtime.columns.codes import Ints
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import Synopsis

_KEPT = 0.8
"""How much a measured distance a batch later still counts."""


class Lifetimes(Component):
    """The speeds of all limits, and what follows for rows."""

    numbers = ("_steps", "_moved", "_rows")

    def __init__(self, plan: Plan, closing: Closedness, clock: Clock, synopses: Mapping[str, Synopsis]) -> None:
        self.plan = plan
        self.closing = closing
        self.clock = clock
        self.synopses = synopses
        self._ways: dict[tuple[str, str], list[Closer]] = {}
        for closer in plan.closers:
            if closer.kind not in (*ABOUT_VALUES, CloserKind.NEVER):
                self._ways.setdefault((closer.source, closer.target), []).append(closer)
        self._steps = 0.0
        self._moved = [0.0] * len(plan.closers)
        self._rows = dict.fromkeys(plan.streams, 0.0)

    def advance(self, steps: int) -> None:
        """Measure how far the limits moved in a batch of so many steps."""
        self._steps = self._steps * _KEPT + steps
        for number, closer in enumerate(self.plan.closers):
            before, now = self.closing.before.get(closer), self.closing.limits.get(closer)
            moved = now - before if isinstance(before, int) and isinstance(now, int) else 0
            self._moved[number] = self._moved[number] * _KEPT + moved
        for stream in self._rows:
            self._rows[stream] = self._rows[stream] * _KEPT + self.clock.count[stream] - self.clock.before[stream]

    def left(self, alias: str, target: str, ids: Ints, horizon: float) -> Floats:
        """The steps in which each row may still meet new rows of the target."""
        found: Floats = np.full(len(ids), horizon)
        if not len(ids):
            return found
        synopsis = self.synopses[alias]
        source = self.plan.by_alias[alias]
        if source.window_rows is not None:
            arrival: Ints = synopsis.gather(ids, lambda s: s.arrival)
            rest = arrival + source.window_rows - self.clock.count[source.stream]
            found = np.minimum(found, self._steps_for(rest, self._rows[source.stream], horizon))
        for closer in self._ways.get((alias, target), ()):
            limit = self.closing.limits[closer]
            if isinstance(limit, int) and (values := self._values(closer, synopsis, ids)) is not None:
                moved = self._moved[self.plan.closers.index(closer)]
                found = np.minimum(found, self._steps_for(values - float(limit), moved, horizon))
        found[self.closing.closed(alias, target, synopsis, ids)] = 0.0
        return found

    def _steps_for(self, distance: Any, moved: float, horizon: float) -> Floats:
        if moved <= 0:
            return np.where(distance <= 0, 0.0, horizon)
        return np.clip(distance * (self._steps / moved), 0.0, horizon)  # type: ignore[no-any-return]

    def _values(self, closer: Closer, synopsis: Synopsis, ids: Ints) -> Ints | None:
        """What of the rows the limit of a closer is compared with; None where that is no number."""
        if closer.kind is CloserKind.FOLLOWS:
            if self.closing.across is None:
                batches: Ints = synopsis.gather(ids, lambda s: s.batch)
                return batches
            return synopsis.codes(ORDER, ids) if ORDER in synopsis.columns else None
        if closer.columns[0] not in synopsis.columns:
            return None
        read = synopsis.ticks if closer.kind is CloserKind.BAND else synopsis.codes
        return read(closer.columns[0], ids)
