"""ARRIVES BY a: a never falls in the order of arrival; a fall breaks it, and so does a NULL.

It is the order of a within 0 rows, so a fall is found as `ordered.py` finds it. On the event time it also closes what
ORDERED BY it WITHIN 0 closes, and ADAPT widens that; on another column it closes nothing, has no k, and stays in
force. Rows that break it keep their turn on their stream: nothing is sorted.
"""

from __future__ import annotations

import numpy as np

from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.promise.ordered import OrderedWatch
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.synopsis import FRESH


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
