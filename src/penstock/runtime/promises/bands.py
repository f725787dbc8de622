"""COOCCURS, and FOLLOWS WITHIN a span: every match of the columns lies in a window of event time.

The promise itself is a time bound, closed once the low of the other stream has passed it; `closing.py` reads it from
the plan, with what was widened here. A match outside the window breaks it: the row that came last is the one that
did, and of two rows of one batch the declaring stream's. Matches with rows that are no longer stored are no longer
watched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.codes import INT64, Ints
from penstock.runtime.key_matching import Keyed, match_keys
from penstock.runtime.promises.watch import Step, Watch
from penstock.runtime.synopsis import ALL, FRESH, OLD
from penstock.runtime.violations import Breach


class BandWatch(Watch):
    """The window of one declaration."""

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        assert promise.partner is not None
        self.partner = promise.partner
        self.widened = 0
        """Ticks by which ADAPT has moved both ends of the window."""

    def breaches(self, step: Step) -> list[Breach]:
        """See Watch."""
        found = []
        own = (self.promise.alias, self.promise.columns)
        other = (self.partner, self.promise.partner_columns)
        for (late, late_columns), (early, early_columns), part in ((own, other, ALL), (other, own, OLD)):
            synopsis, stored = step.synopses[late], step.synopses[early]
            if synopsis.size(FRESH) == 0 or stored.size(part) == 0:
                continue
            fresh = synopsis.ids(FRESH)
            left, right = match_keys(Keyed(synopsis, late_columns), fresh, Keyed(stored, early_columns), part)
            if not len(left):
                continue
            outside = self._outside(step, late, fresh[left], early, right)
            broken = outside > 0
            ids, which = np.unique(fresh[left[broken]], return_inverse=True)
            worst = np.zeros(len(ids), np.int64)
            np.maximum.at(worst, which, outside[broken])
            if len(ids):
                found.append(Breach(self.promise, late, ids, worst))
        return found

    def _outside(self, step: Step, late: str, late_ids: Ints, early: str, early_ids: Ints) -> Ints:
        """How far each match lies outside of the declared window, beyond what it was widened by; 0 if within."""
        times = {late: self._ticks(step, late, late_ids), early: self._ticks(step, early, early_ids)}
        difference = times[self.partner] - times[self.promise.alias]
        outside = np.zeros(len(difference), np.int64)
        if self.promise.high is not None:
            outside = np.maximum(outside, difference - self.promise.high)
        if self.promise.low is not None:
            outside = np.maximum(outside, self.promise.low - difference)
        return np.where(outside > self.widened, outside, 0)

    def _ticks(self, step: Step, alias: str, ids: Ints) -> Ints:
        column = self.plan.by_alias[alias].event_time
        assert column is not None
        # A quarter of the range each way: the difference of two extreme times must not wrap round.
        return np.clip(step.synopses[alias].ticks(column, ids), INT64.min // 4, INT64.max // 4)

    def adapt(self, breach: Breach, step: Step) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.widened = max(self.widened, int(breach.needed.max()))

    @property
    def k(self) -> int | None:
        """See Watch."""
        return None if self.promise.high is None else self.promise.high + self.widened

    def save(self) -> dict[str, Any]:
        """See Watch."""
        return {"widened": self.widened}

    def load(self, saved: dict[str, Any]) -> None:
        """See Watch."""
        self.widened = saved["widened"]
