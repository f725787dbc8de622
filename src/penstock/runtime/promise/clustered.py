"""CLUSTERED BY a WITHIN k ROWS: `a = v` is closed once more than k rows with other values followed the first v.

KMON 5.2's CA-Aux: of each **open** value one number is kept, the rows of the stream up to and with its first row, plus
its later rows. What the count of the stream exceeds it by is the rows with other values since the first v. Every row of
the stream with v reaches every cell that may hold a partner, as a row or as a key, and the headers tell the count of
all rows: so the count is exact in every cell, and rows of other values need not come.

A cluster that ends becomes a promise row like that of a punctuation: it marks the rows that carry v, is held while one
may still come, and is forgotten by the same need (`punctuated.py`, `forgetting.py`). A row whose value is held as ended
breaks the constraint, as does one that comes too late within the batch; when k is widened, ended clusters that the
larger k leaves open are open again. NULL is no value, and differs from every one. Ends that nothing needs are
remembered a while, only to see values come again (`past_rows.py`).

Where other constraints would do, clusters are counted only as long as that pays (`choosing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.plan.memory_choice import cluster_memories
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, flat, is_coded, union
from penstock.runtime.input.batch import INDEX, Chunk
from penstock.runtime.input.wire_columns import ORDER, belongs, order_column
from penstock.runtime.match.key_matching import Keyed, lookup, meets
from penstock.runtime.promise.choosing import ClusterChoice
from penstock.runtime.promise.monitor import Monitor
from penstock.runtime.promise.past_rows import PastClusters, most_sampled
from penstock.runtime.promise.punctuated import PunctuatedWatch
from penstock.runtime.promise.value_table import unmark
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.key_index import is_dense
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness


@dataclass(frozen=True)
class Counted:
    """The rows of a batch, in order of arrival, and what is counted of each value."""

    place: Ints
    value: Ints
    """The number of its value, for each row."""
    size: Ints
    """The rows of each value."""
    base: Ints
    """What was counted of each value before, or the place of its first row."""

    @property
    def largest(self) -> int:
        """The largest distance to a first row: of each value, its last row lies furthest."""
        last = np.zeros(len(self.size), np.int64)
        last[self.value] = self.place
        return int((last - self.base - self.size).max()) + 1

    def distances(self) -> Ints:
        """Of each row, the rows with other values since the first with its own."""
        order = np.argsort(self.value, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return self.place - self.base[self.value] - rank


class ClusteredWatch(PunctuatedWatch):
    """The clusters of one alias's stream."""

    tables = ("open",)
    numbers = ("_rows_read",)
    parts = (*PunctuatedWatch.parts, "monitor", "past", "choice")

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        (self.column,) = promise.columns
        self.stream = plan.by_alias[promise.alias].stream
        self.monitor = Monitor(plan, promise.rows)
        self.open = Synopsis(self.columns)
        """Values that may still come, and in `counts` the number that the count of the stream is compared with."""
        self.past = PastClusters(plan, promise)
        self._read: list[tuple[Any, Ints]] = []
        self._rows_read = 0
        memories = [m for m in cluster_memories(plan) if m.promise == promise]
        self.choice = ClusterChoice(plan, memories[0]) if memories else None

    def _beside(self) -> tuple[str, ...]:
        return order_column(self.plan)

    @property
    def is_used(self) -> bool | None:
        """See Watch."""
        return None if self.choice is None else self.choice.kept

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        if chunk.header.stream != self.stream:
            return
        self._rows_read = count
        if self.is_used is False:
            return
        start = count - chunk.header.rows if chunk.header.start is None else chunk.header.start
        for table in (chunk.rows.get(self.alias), chunk.keys.get(self.alias)):
            if table is not None and table.num_rows:
                if belongs(self.column) in table.column_names:
                    table = table.filter(table.column(belongs(self.column)))  # noqa: PLW2901
                self._read.append((flat(table.column(self.column)), start + codes(table.column(INDEX))))

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        read, self._read = self._read, []
        if not read:
            return []
        counted = self._count(pa.concat_arrays([v for v, _ in read]), np.concatenate([p for _, p in read]))
        if counted is None:
            return []
        largest = counted.largest
        self.monitor.see(len(counted.place), largest, self._rows_read)
        allowed = self.monitor.allowed
        if self.k is None or allowed is None or largest <= allowed:
            return []
        place, distance = counted.place, counted.distances()
        late = distance > allowed
        order = np.argsort(place[late])
        synopsis = step.synopses[self.alias]
        fresh = synopsis.ids(FRESH)
        arrival: Ints = synopsis.gather(fresh, lambda s: s.arrival)
        at = np.searchsorted(place[late][order], arrival)
        broken: Bools = at < len(order)
        broken[broken] = place[late][order][at[broken]] == arrival[broken]
        needed = distance[late][order][at[broken]]
        return [Breach(self.promise, self.alias, fresh[broken], needed)] if broken.any() else []

    def _count(self, values: Any, place: Ints) -> Counted | None:
        """Count the rows of a batch that have a value; None if none has."""
        if values.null_count:
            valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
            values, place = values.take(pa.array(valid)), place[valid]
        if not len(values):
            return None
        if not (place[1:] > place[:-1]).all():
            # Rows come in order of arrival; only keys of rows that live elsewhere are appended to them.
            order = np.argsort(place, kind="stable")
            values, place = values.take(pa.array(order)), place[order]
        value, size, first = _numbered(values)
        distinct = values.take(pa.array(first))
        known, others = self._known(distinct, size)
        base = np.where(others, place[first], known)
        new = np.flatnonzero(others)
        if len(new):
            begun = {self.column: distinct.take(pa.array(new))}
            self.open.segments.append(_rows(begun, place[first[new]], (base + size)[new]))
            self.open.rebase()
        return Counted(place, value, size, base)

    def _known(self, distinct: Any, size: Ints) -> tuple[Ints, Bools]:
        """Add the rows to values that are known; gives what was counted of each before, and which are new."""
        base = np.zeros(len(size), np.int64)
        others: Bools = np.ones(len(size), np.bool_)
        for known in (self.open, self.held, self.past.rows):
            place, met = lookup(known, self.column, distinct)
            if len(place):
                base[place] = known.counts(met)
                others[place] = False
                known.add(met, size[place])
        return base, others

    def adapt(self, breach: Breach, step: WatchStep) -> None:
        """See Watch."""
        needed = int(breach.needed.max())
        self.monitor.exceeded(needed)
        for ended in (self.held, self.past.rows):
            ids = ended.ids(ALL)
            again = ids[step.clock.count[self.stream] - ended.counts(ids) <= needed]
            unmark(step.synopses, Keyed(ended, self.columns), again, self.users)
            self._move(ended, again, self.open)

    def _move(self, source: Synopsis, ids: Ints, target: Synopsis) -> None:
        """Take values, with what was counted of them, from one synopsis to another."""
        if len(ids):
            table = {self.column: source.arrow(self.column, ids)}
            arrival: Ints = source.gather(ids, lambda s: s.arrival)
            target.segments.append(_rows(table, arrival, source.counts(ids)))
            target.rebase()
            source.kill(ids)

    def make(self, step: WatchStep) -> None:
        """See Watch."""
        self.monitor.settle()
        if self.k is None:
            return
        # What is counted of a value only grows, so most segments are known to hold none that is over.
        last = step.clock.count[self.stream] - self.k - 1
        over = []
        for base, segment in self.open.part(ALL):
            if segment.counts is not None and segment.least_count() <= last:
                over.append(np.flatnonzero(segment.alive & (segment.counts <= last)) + base)
        ids = union(over)
        if not len(ids):
            return
        counts = self.open.counts(ids)
        ended = {self.column: self.open.arrow(self.column, ids)}
        if step.order is not None:
            # Not before its last row, so that FOLLOWS closes it no earlier.
            top = step.order.top[self.stream]
            ended[ORDER] = pa.array(np.full(len(ids), INT64.min if top is None else top))
        made = _rows(
            ended,
            self.open.gather(ids, lambda s: s.arrival),
            counts,
            np.full(len(ids), step.clock.batch),
        )
        made.marks = {name: np.zeros(len(ids), np.bool_) for name in self.need.marks}
        self.held.begin(made)
        self.open.kill(ids)

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """See Watch."""
        super().settle(step, removed, closing)
        most = most_sampled(self.plan.monitor, step.kept_rows)
        self._move(self.past.rows, self.past.review(step.clock.count[self.stream], self.k, most), self.open)
        if self.choice is None:
            return
        self.choice.see({alias: synopsis.size(FRESH) for alias, synopsis in step.synopses.items()})
        k = {**step.k, self.promise.constraint: None}
        counted = self.promise_rows - self.past.rows.live
        if self.choice.choose(self.monitor.k, counted, step.clock.count[self.stream], k):
            self.monitor.begin_again(self._rows_read)
            self.open.kill(self.open.ids(ALL))
            self.held.kill(self.held.ids(ALL))
            self.past.rows.kill(self.past.rows.ids(ALL))

    def _forget(self, ids: Ints) -> None:
        """See PunctuatedWatch."""
        if self.past.is_kept:
            arrival: Ints = self.held.gather(ids, lambda s: s.arrival)
            stays = self.past.stays(self._rows_read, self.k, self.held.counts(ids), arrival)
            self._move(self.held, ids[stays], self.past.rows)
            ids = ids[~stays]
        super()._forget(ids)

    def dealt(self, synopses: Mapping[str, Synopsis]) -> None:
        """See Watch: what one cell still counts as open is ended in none; where one has not counted, none has."""
        super().dealt(synopses)
        if self.is_used is False:
            self.monitor.begin_again(self._rows_read)
            for known in (self.open, self.held, self.past.rows):
                known.kill(known.ids(ALL))
        opened = Keyed(self.open, self.columns)
        for ended in (self.held, self.past.rows):
            own = Keyed(ended, self.columns)
            again = ended.ids(ALL)[meets(own, ended.ids(ALL), opened, ALL)]
            unmark(synopses, own, again, self.users)
            ended.kill(again)

    @property
    def position(self) -> int:
        """See Watch."""
        return self._rows_read

    @property
    def k(self) -> int | None:
        """See Watch."""
        return None if self.is_used is False else self.monitor.k

    def forget(self, count: int) -> int:
        """See Watch; a value that comes again after it was forgotten counts as one that comes first."""
        forgotten = super().forget(count)
        opened = self.open.ids(ALL)[: count - forgotten]
        self.open.kill(opened)
        return forgotten + len(opened)


def _numbered(values: Any) -> tuple[Ints, Ints, Ints]:
    """Values without NULLs by numbers from 0: the number of each row; of each number how many rows, and the first."""
    if is_coded(values.type):
        number = codes(values)
        low = int(number.min())
        if is_dense(low, int(number.max()), len(number)):
            number = number - low
        else:
            number = np.unique(number, return_inverse=True)[1]
    else:
        number = values.dictionary_encode().indices.to_numpy().astype(np.int64)
    size = np.bincount(number)
    first = np.empty(len(size), np.int64)
    # Of several rows at one place the last one stays.
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    taken = np.flatnonzero(size)
    if len(taken) == len(size):
        return number, size, first
    return (np.cumsum(size > 0) - 1)[number], size[taken], first[taken]


def _rows(columns: dict[str, Any], arrival: Ints, counts: Ints, batch: Ints | None = None) -> Segment:
    """Values with their counts, in the order of their first rows."""
    table, size = pa.table(columns), len(arrival)
    if not (arrival[1:] >= arrival[:-1]).all():
        order = np.argsort(arrival, kind="stable")
        table, arrival, counts = table.take(pa.array(order)), arrival[order], counts[order]
    batches = np.zeros(size, np.int64) if batch is None else batch
    segment = Segment(table, arrival, batches, np.ones(size, np.bool_), {})
    segment.counts = counts
    return segment
