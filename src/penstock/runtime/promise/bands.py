"""COOCCURS, and FOLLOWS WITHIN a span: every match of the columns lies in a window of event time.

The promise itself is a time bound, closed once the low of the other stream has passed it; `closing.py` reads it from
the plan, with what was widened here. A match outside the window breaks it: the row that came last is the one that
did, and of two rows of one batch the declaring stream's. Matches with rows that are no longer stored are no longer
watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import INT64, Bools, Ints, union
from penstock.runtime.match.key_matching import Keyed, met_values, new_pairs, nulls
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.key_index import TooManyPairs
from penstock.runtime.state.synopsis import ALL, FRESH, OLD


class BandWatch(Watch):
    """The window of one declaration."""

    numbers = ("widened",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        assert promise.partner is not None
        self.partner = promise.partner
        self.widened = 0
        """Ticks by which ADAPT has moved both ends of the window."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        self.widened = max(one.widened for one in members)

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        own, other = step.synopses[self.promise.alias], step.synopses[self.partner]
        one, two = Keyed(own, self.promise.columns), Keyed(other, self.promise.partner_columns)
        try:
            mine, theirs = new_pairs(one, two)
        except TooManyPairs:
            return self._breaches_of_a_crowd(step, one, two)
        if not len(mine):
            return []
        (own_times, own_missing), (times, missing) = (
            self._times(step, alias, ids) for alias, ids in ((self.promise.alias, mine), (self.partner, theirs))
        )
        outside = self._outside(times - own_times)
        for null in (own_missing, missing):
            outside[null if null is not None else slice(0)] = 0
        if not outside.any():
            return []
        by_own = mine >= own.first_fresh if own.has_fresh else np.zeros(len(mine), np.bool_)
        found = self._broken(self.promise.alias, mine[by_own], outside[by_own])
        return found + self._broken(self.partner, theirs[~by_own], outside[~by_own])

    def _breaches_of_a_crowd(self, step: WatchStep, one: Keyed, two: Keyed) -> list[Breach]:
        """The same without the pairs of hot keys: what lies farthest outside is the earliest match or the latest."""
        found = []
        alias, partner = self.promise.alias, self.partner
        for own, asking, other, asked, part in ((alias, one, partner, two, ALL), (partner, two, alias, one, OLD)):
            fresh = asking.synopsis.ids(FRESH)
            mine, missing = self._times(step, own, fresh)
            fresh, mine = (fresh, mine) if missing is None else (fresh[~missing], mine[~missing])
            places, times = met_values(asking, fresh, asked, part, partial(self._times, step, other))
            difference = times - mine[places] if own == alias else mine[places] - times
            found += self._broken(own, fresh[places], self._outside(difference))
        return found

    def _broken(self, alias: str, rows: Ints, outside: Ints) -> list[Breach]:
        late = outside > 0
        return [Breach(self.promise, alias, *_worst(rows[late], outside[late]))] if late.any() else []

    def _outside(self, difference: Ints) -> Ints:
        """How far matches lie outside of the window as it is declared; 0 within it."""
        outside = np.zeros(len(difference), np.int64)
        if self.promise.high is not None:
            outside = np.maximum(outside, difference - self.promise.high)
        if self.promise.low is not None:
            outside = np.maximum(outside, self.promise.low - difference)
        return outside

    def _times(self, step: WatchStep, alias: str, ids: Ints) -> tuple[Ints, Bools | None]:
        """The event times of rows, and which are NULL: such a row broke the promise when it came, by itself."""
        column, synopsis = self.plan.by_alias[alias].event_time, step.synopses[alias]
        assert column is not None
        # A quarter of the range each way: the difference of two extreme times must not wrap round.
        return np.clip(synopsis.ticks(column, ids), INT64.min // 4, INT64.max // 4), nulls(synopsis, (column,), ids)

    def adapt(self, breach: Breach, step: WatchStep) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.widened = max(self.widened, int(breach.needed.max()))

    @property
    def k(self) -> int | None:
        """See Watch; how far a match may lie from a row, before it or after it."""
        low, high = self.promise.low, self.promise.high
        if low is None and high is None:
            return None
        return max(0, high or 0, -(low or 0)) + self.widened


def _worst(ids: Ints, amounts: Ints) -> tuple[Ints, Ints]:
    """Each row once, with its largest amount."""
    rows = union([ids])
    worst = np.zeros(len(rows), np.int64)
    np.maximum.at(worst, np.searchsorted(rows, ids), amounts)
    return rows, worst
