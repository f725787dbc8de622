"""FOLLOWS T (b) ON (a) WITHIN k ROWS: on T, `b = s.a` is closed once k tuples of T arrived after s.

Where all streams declare ARRIVES BY, rows are counted in that order: s is closed once T was read past it and k rows of
T stand after it, and a row of T breaks it if more than k rows of T, itself included, stand between a stored s that it
names and itself. Otherwise a micro-batch is one instant: arrivals on T count only from the batch after s. So the rows
of s that are closed are those up to one batch, which the clock knows from the headers, and a row of T breaks it if it
names a stored s that was closed before the batch. What is no longer stored is no longer watched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.arrival_order import ArrivalOrder
from penstock.runtime.codes import Bools, Ints
from penstock.runtime.key_matching import Keyed, match_keys, new_pairs
from penstock.runtime.needs import ORDER
from penstock.runtime.promises.watch import Step, Watch
from penstock.runtime.synopsis import FRESH, OLD
from penstock.runtime.violations import Breach


class FollowsWatch(Watch):
    """The k of one FOLLOWS."""

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        assert promise.partner is not None
        assert promise.rows is not None
        self.parent = promise.partner
        self.parent_stream = plan.by_alias[self.parent].stream
        self.child_stream = plan.by_alias[promise.alias].stream
        self.rows = promise.rows
        self._closed_before = -1
        """The last batch whose rows were closed when the running one began."""

    def closed_batch(self, step_clock: Any) -> int:
        """The last batch whose rows of the child are closed on the parent."""
        batch: int = step_clock.batch_before(self.parent_stream, self.rows)
        return batch

    def closed_place(self, across: ArrivalOrder) -> int:
        """The last place in the order across streams whose rows of the child are closed on the parent."""
        return across.followed(self.parent_stream, self.child_stream, self.rows)

    def needed_from(self, across: ArrivalOrder) -> int:
        """The first row of the parent whose place must be known."""
        return min(
            across.last_taken(self.parent_stream, self.rows), across.next_at(self.parent_stream, self.child_stream)
        )

    def breaches(self, step: Step) -> list[Breach]:
        """See Watch."""
        if step.order is not None:
            return self._breaches_across(step, step.order)
        child, parent = step.synopses[self.promise.alias], step.synopses[self.parent]
        if self._closed_before < 0 or parent.size(FRESH) == 0 or child.size(OLD) == 0:
            return []
        fresh = parent.ids(FRESH)
        left, right = match_keys(
            Keyed(parent, self.promise.partner_columns), fresh, Keyed(child, self.promise.columns), OLD
        )
        if not len(left):
            return []
        late: Bools = child.gather(right, lambda s: s.batch) <= self._closed_before
        left, right = left[late], right[late]
        ids, first = np.unique(fresh[left], return_inverse=True)
        seen = np.zeros(len(ids), np.int64)
        np.maximum.at(seen, first, self._rows_between(step, child.gather(right, lambda s: s.batch), fresh[left]))
        return [Breach(self.promise, self.parent, ids, seen)] if len(ids) else []

    def _breaches_across(self, step: Step, across: ArrivalOrder) -> list[Breach]:
        child, parent = step.synopses[self.promise.alias], step.synopses[self.parent]
        mine, theirs = new_pairs(Keyed(child, self.promise.columns), Keyed(parent, self.promise.partner_columns))
        if not len(mine):
            return []
        before = across.count_before(self.parent_stream, self.child_stream, child.codes(ORDER, mine))
        needed = parent.gather(theirs, lambda s: s.arrival) + 1 - before
        late = needed > self.rows
        ids, place = np.unique(theirs[late], return_inverse=True)
        seen = np.zeros(len(ids), np.int64)
        np.maximum.at(seen, place, needed[late])
        return [Breach(self.promise, self.parent, ids, seen)] if len(ids) else []

    def _rows_between(self, step: Step, batch: Ints, late: Ints) -> Ints:
        """How many rows of the parent arrived after the batch of s, up to and with the late row."""
        arrival: Ints = step.synopses[self.parent].gather(late, lambda s: s.arrival)
        ends = dict(step.clock.history[self.parent_stream])
        known = np.array([ends.get(int(b), 0) for b in np.unique(batch)], np.int64)
        return arrival + 1 - known[np.searchsorted(np.unique(batch), batch)]

    def adapt(self, breach: Breach, step: Step) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.rows = max(self.rows, int(breach.needed.max()))

    def learn(self, step: Step) -> dict[str, Ints]:
        """See Watch."""
        if step.order is None:
            self._closed_before = self.closed_batch(step.clock)
        return {}

    @property
    def k(self) -> int | None:
        """See Watch."""
        return self.rows

    def save(self) -> dict[str, Any]:
        """See Watch."""
        return {"rows": self.rows, "closed": self._closed_before}

    def load(self, saved: dict[str, Any]) -> None:
        """See Watch."""
        self.rows = saved["rows"]
        self._closed_before = saved["closed"]
