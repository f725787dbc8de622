"""FOLLOWS T (b) ON (a) WITHIN k ROWS: on T, `b = s.a` is closed once k tuples of T arrived after s.

Where all streams declare ARRIVES BY, rows are counted in that order: s is closed once T was read past it and k rows of
T stand after it, and a row of T breaks it if more than k rows of T, itself included, stand between a stored s that it
names and itself. Otherwise a micro-batch is one instant: arrivals on T count only from the batch after s. So the rows
of s that are closed are those up to one batch, which the clock knows from the headers, and a row of T breaks it if it
names a stored s that was closed before the batch. Rows that have left are seen as far as they are set aside
(`discarded/`) or their keys are remembered (`past_rows.py`). The distance of a match, which k must not fall below,
is the rows of T that came after s, up to the one that matches (KMON 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.plan.closer_plans import CloserKind
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import INT64, Bools, Ints, empty_ids, union
from penstock.runtime.input.arrival_order import NOTHING, ArrivalOrder
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.match.key_matching import Keyed, met_values, new_pairs, nulls, reached
from penstock.runtime.match.key_ranges import joined
from penstock.runtime.promise.monitor import Monitor
from penstock.runtime.promise.past_rows import PastFollowers, is_sampled, most_sampled
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.key_index import TooManyPairs
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness


class FollowsWatch(Watch):
    """The k of one FOLLOWS."""

    numbers = ("_closed_before", "_rows_read")
    parts = ("monitor", "past")

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        assert promise.partner is not None
        self.parent = promise.partner
        self.parent_stream = plan.by_alias[self.parent].stream
        self.child_stream = plan.by_alias[promise.alias].stream
        self.monitor = Monitor(plan, promise.rows)
        self.past = PastFollowers(plan, promise)
        self._closed_before = -1
        """The last batch whose rows were closed when the running one began."""
        self._rows_read = 0
        self._arrived, self._largest = 0, 0
        """Of the running batch, the rows of the parent and the largest distance among their matches."""

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        if chunk.header.stream == self.parent_stream:
            self._rows_read = count

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        self._closed_before = min(one._closed_before for one in members)

    @property
    def reach(self) -> int:
        """The rows of the parent whose places must be known; where k is measured, of distances that are usual too."""
        monitor = self.monitor
        usual = max(2 * max(monitor.window, monitor.largest, monitor.missed), monitor.sight)
        return max(ceil((self.k or 0) * self.plan.monitor.factor) + 1, usual if monitor.is_active else 0)

    def closed_batch(self, step_clock: Clock) -> int:
        """The last batch whose rows of the child are closed on the parent; -1 if there is none."""
        return -1 if self.k is None else step_clock.batch_before(self.parent_stream, self.k)

    def closed_place(self, across: ArrivalOrder) -> int:
        """The last place in the order across streams whose rows of the child are closed on the parent."""
        return NOTHING if self.k is None else across.followed(self.parent_stream, self.child_stream, self.k)

    def needed_from(self, across: ArrivalOrder) -> int:
        """The first row of the parent whose place must be known."""
        return min(
            across.last_taken(self.parent_stream, self.reach), across.next_at(self.parent_stream, self.child_stream)
        )

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        self._arrived, self._largest = 0, 0
        found = self._by_batch(step) if step.order is None else self._across(step, step.order)
        found += self._met_past(step)
        self.monitor.see(self._arrived, self._largest, self._rows_read)
        if len(found) < 2:
            return found
        return self._broken(np.concatenate([b.ids for b in found]), np.concatenate([b.needed for b in found]))

    def _met_past(self, step: WatchStep) -> list[Breach]:
        """Rows of the parent that match one which has left."""
        parent = step.synopses[self.parent]
        fresh = parent.ids(FRESH)
        if not len(fresh) or not self.past.rows.live:
            return []
        missing = nulls(parent, self.promise.partner_columns, fresh)
        fresh = fresh if missing is None else fresh[~missing]
        place, before = self.past.met_by(Keyed(parent, self.promise.partner_columns), fresh)
        arrival: Ints = parent.gather(fresh[place], lambda s: s.arrival)
        needed = arrival + 1 - before
        if not len(needed):
            return []
        self._largest = max(self._largest, int(needed.max()))
        late: Bools = needed > self._allowed
        return self._broken(fresh[place[late]], needed[late])

    @property
    def _allowed(self) -> int:
        """What a match may need without breaking the constraint."""
        allowed = self.monitor.allowed
        return INT64.max if allowed is None else allowed

    def _by_batch(self, step: WatchStep) -> list[Breach]:
        child, parent = step.synopses[self.promise.alias], step.synopses[self.parent]
        fresh = parent.ids(FRESH)
        self._arrived = len(fresh)
        if not len(fresh) or child.size(OLD) == 0 or (self._closed_before < 0 and not self.monitor.is_active):
            return []
        asking, asked = Keyed(parent, self.promise.partner_columns), Keyed(child, self.promise.columns)
        left, batch = met_values(asking, fresh, asked, OLD, lambda ids: (child.gather(ids, lambda s: s.batch), None))
        if not len(left):
            return []
        late: Bools = batch <= self._closed_before
        wanted = late if not self.monitor.is_active else np.ones(len(late), np.bool_)
        needed = np.zeros(len(late), np.int64)
        needed[wanted] = self._rows_between(step, batch[wanted], fresh[left[wanted]])
        self._largest = int(needed.max())
        if self.monitor.is_active:
            late = late | (needed > self._allowed)
        return self._broken(fresh[left[late]], needed[late])

    def _broken(self, late: Ints, needed: Ints) -> list[Breach]:
        ids, place = np.unique(late, return_inverse=True)
        seen = np.zeros(len(ids), np.int64)
        np.maximum.at(seen, place, needed)
        return [Breach(self.promise, self.parent, ids, seen)] if len(ids) else []

    def _across(self, step: WatchStep, across: ArrivalOrder) -> list[Breach]:
        child, parent = step.synopses[self.promise.alias], step.synopses[self.parent]
        self._arrived = parent.size(FRESH)
        asked, asking = Keyed(child, self.promise.columns), Keyed(parent, self.promise.partner_columns)
        code, theirs = _orders_met(asked, asking)
        arrival: Ints = parent.gather(theirs, lambda s: s.arrival)
        if not self.monitor.is_active:
            far = self._beyond(child, code, arrival, across)
            code, theirs, arrival = code[far], theirs[far], arrival[far]
        if not len(code):
            return []
        before = across.count_before(self.parent_stream, self.child_stream, code)
        if self.monitor.is_learned:
            # Places before the first that is known were let go: what is not known is taken as far away as can be, so
            # that k is not learned too small. A declared one is widened by what is known.
            before = np.where(before <= across.base(self.parent_stream), 0, before)
        needed: Ints = np.maximum(arrival + 1 - before, 0)
        self._largest = int(needed.max())
        late = needed > self._allowed
        return self._broken(theirs[late], needed[late])

    def _beyond(self, child: Synopsis, code: Ints, arrival: Ints, across: ArrivalOrder) -> Ints:
        """The pairs with more than k rows between them, of orders of the child and arrival numbers of the parent."""
        if self.k is None or not len(code):
            return empty_ids()
        # A row that keeps it with the eldest of the child keeps it with all: most often these are all but the fresh.
        eldest = min(segment.span(ORDER)[0] for _, segment in child.part(ALL))
        last = across.count_before(self.parent_stream, self.child_stream, eldest) + self.k
        far = np.flatnonzero(arrival >= last)
        after = across.is_after(self.parent_stream, arrival[far] - self.k, self.child_stream, code[far])
        return far[after]

    def _rows_between(self, step: WatchStep, batch: Ints, late: Ints) -> Ints:
        """How many rows of the parent arrived after the batch of s, up to and with the late row."""
        arrival: Ints = step.synopses[self.parent].gather(late, lambda s: s.arrival)
        return arrival + 1 - step.clock.rows_at(self.parent_stream, batch)

    def adapt(self, breach: Breach, step: WatchStep) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.monitor.exceeded(int(breach.needed.max()))

    def make(self, step: WatchStep) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self.monitor.settle()

    def learn(self, step: WatchStep) -> dict[str, Ints]:
        """See Watch."""
        if step.order is None:
            self._closed_before = self.closed_batch(step.clock)
        return {}

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """See Watch."""
        if not self.past.is_kept or self.k is None:
            return
        came = self._rows_read if step.order is None else step.order.last_taken(self.parent_stream, 0)
        limit = self.past.limit(came, self.k)
        self._remember(step, removed.get(self.promise.alias, empty_ids()), closing, came, limit)
        self.past.review(limit, most_sampled(self.plan.monitor, step.kept_rows))

    def _remember(self, step: WatchStep, ids: Ints, closing: Closedness, came: int, limit: int) -> None:
        """Of the rows that leave, those whose match would break k."""
        assert self.k is not None
        child = step.synopses[self.promise.alias]
        for closer in self.plan.closers_between(self.promise.alias, self.parent):
            if closer.kind is CloserKind.KEY and len(ids):
                # The row that it names has come.
                ids = ids[~closing.closed_by(closer, child, ids)]
        if limit >= came - self.k and len(ids):
            # What is closed is beyond c times k as well, as for k = 0: most rows need not be looked at.
            ids = ids[is_sampled(self.plan.monitor, child.gather(ids, lambda s: s.arrival))]
        missing = nulls(child, self.promise.columns, ids)
        ids = ids if missing is None else ids[~missing]
        if not len(ids):
            return
        before = self._came_before(step, ids)
        closed = before <= came - self.k
        ids, before = ids[closed], before[closed]
        if not len(ids):
            return
        self.past.remember(Keyed(child, self.promise.columns), ids, before, limit)

    def _came_before(self, step: WatchStep, ids: Ints) -> Ints:
        """Of rows of the child, the rows of the parent that came before."""
        child = step.synopses[self.promise.alias]
        if step.order is not None:
            before: Ints = step.order.count_before(self.parent_stream, self.child_stream, child.codes(ORDER, ids))
            return before
        batch: Ints = child.gather(ids, lambda s: s.batch)
        now = step.clock.count[self.parent_stream]
        return np.where(batch == step.clock.batch, now, step.clock.rows_at(self.parent_stream, batch))

    @property
    def position(self) -> int:
        """See Watch."""
        return self._rows_read

    @property
    def k(self) -> int | None:
        """See Watch."""
        return self.monitor.k


def _orders_met(child: Keyed, parent: Keyed) -> tuple[Ints, Ints]:
    """Pairs with a fresh row, as the order of the child's and the row of the parent; of hot keys the extremes alone."""
    try:
        mine, theirs = new_pairs(child, parent)
        return child.synopsis.codes(ORDER, mine), theirs
    except TooManyPairs:
        met = []
        old = union([reached(child, child.synopsis.ids(FRESH), parent, OLD)])
        for rows, part in ((parent.synopsis.ids(FRESH), ALL), (old, FRESH)):
            places, code = met_values(parent, rows, child, part, lambda ids: (child.synopsis.codes(ORDER, ids), None))
            met.append((code, rows[places]))
        return joined(met)
