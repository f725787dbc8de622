"""PUNCTUATED ON (a, b) WHEN c: `a = v and b = w` is closed when that punctuation arrives.

Promise rows are held here. A row of another stream that carries all the values of one is **marked** closed, when the
punctuation comes or when the row comes after it; where only several rows carry them together, the purge rule looks
their values up (`named`). Promise rows go by the need for them (`forgetting.py`) and by LIFESPAN: once the low of the
stream has passed the punctuation's event time + d. The low is known at the grain of batches: a punctuation that dies
in a batch still marks rows stored before it, none of that batch, and no row of that batch breaks it. A mark outlives
its promise: that a value used anew has no partner from before is itself promised.

A row breaks it if it comes after a promise row that names its values, in the order of its own stream, in the same
batch too. What was forgotten is no longer watched. Under ADAPT the values violated are excepted from then on. A NULL
in an ON column, or in the event time of one with a LIFESPAN, promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from penstock.plan.closer_plans import JointCloser
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import CLOCKS, PromisePlan
from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, empty_ids, union
from penstock.runtime.columns.hashing import combine
from penstock.runtime.input.batch import INDEX, Chunk
from penstock.runtime.input.wire_columns import punctuation_columns
from penstock.runtime.match.key_matching import Keyed, agree, match_keys, meets, newly_met, reached
from penstock.runtime.promise.forgetting import Need
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness


class PunctuatedWatch(Watch):
    """The punctuations of one scheme for one alias, as far as they are still needed."""

    parts: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        self.alias = promise.alias
        self.columns = promise.columns
        self.number = plan.promises.index(promise)
        self.time = plan.by_alias[self.alias].event_time
        has_low = any(p.kind in CLOCKS and (p.alias, p.columns) == (self.alias, (self.time,)) for p in plan.promises)
        self.lifespan = promise.high if has_low else None
        self.users = [c for c in plan.held_closers if c.target == self.alias and promise.constraint in c.constraints]
        joint = [c for c in plan.joint_closers if (c.target, c.constraint) == (self.alias, promise.constraint)]
        self.joint = joint
        self.need = Need(plan, promise, self.users, joint, bounded=self.lifespan is not None)
        self.values = ValueTable(self.columns, self._beside())
        self._arrived: list[tuple[Any, int]] = []
        self._noted: Ints = empty_ids()

    def _beside(self) -> tuple[str, ...]:
        """What a promise row holds beside its values."""
        return punctuation_columns(self.plan, self.promise)[len(self.columns) :]

    @property
    def held(self) -> Synopsis:
        """The promise rows."""
        return self.values.rows

    @property
    def own(self) -> Keyed:
        """The promise rows by their values."""
        return self.values.own

    def read(self, chunk: Chunk, count: int) -> None:
        """See Watch."""
        if self.number in chunk.punctuations:
            start = count - chunk.header.rows if chunk.header.start is None else chunk.header.start
            self._arrived.append((chunk.punctuations[self.number], start))

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        self._take(step.clock.batch)
        synopsis = step.synopses[self.alias]
        fresh = synopsis.ids(FRESH)
        places, met = match_keys(Keyed(synopsis, self.columns), fresh, self.own, ALL)
        if not len(places):
            return []
        arrival: Ints = synopsis.gather(fresh[places], lambda s: s.arrival)
        late: Bools = arrival >= self.held.gather(met, lambda s: s.arrival)
        late &= ~self._is_dead(step, met)
        broken = union([fresh[places[late]]])
        return [Breach(self.promise, self.alias, broken, np.zeros(len(broken), np.int64))] if len(broken) else []

    def _take(self, batch: int) -> None:
        """Hold the punctuations of the batch, each value once where they have no LIFESPAN; they are the fresh part."""
        arrived, self._arrived = self._arrived, []
        if arrived and not self.values.given_up:
            table = pa.concat_tables([table for table, _ in arrived])
            place = np.concatenate([start + codes(piece.column(INDEX)) for piece, start in arrived])
            self.values.arrive(table, place, batch, self.need.marks, again=self.lifespan is not None)

    def _is_dead(self, step: WatchStep, ids: Ints) -> Bools:
        """Which promise rows have outlived their LIFESPAN."""
        low = step.closing.low(self.alias, self.time)
        if self.lifespan is None or self.time is None or low is None or not len(ids):
            return np.zeros(len(ids), np.bool_)
        # Beyond the ends of the range a sum would wrap round; the low lies within it.
        return self.held.ticks(self.time, ids) < max(low - self.lifespan, INT64.min)

    def adapt(self, breach: Breach, step: WatchStep) -> None:
        """See Watch."""
        self.values.end(step.synopses, Keyed(step.synopses[self.alias], self.columns), breach.ids, self.users)

    def learn(self, step: WatchStep) -> dict[str, Ints]:
        """See Watch."""
        touched: dict[str, list[Ints]] = {}
        if self.lifespan is not None:
            self._mark(step, touched, of_stored=True)
            living = self.held.ids(ALL)
            self.held.kill(living[self._is_dead(step, living)])
        self._mark(step, touched, of_stored=False)
        for closer in self.joint:
            for alias, ids in self._met_together(step, closer):
                touched.setdefault(alias, []).append(ids)
        self._noted = self.values.note(step, self.need.marking)
        return {alias: union(pieces) for alias, pieces in touched.items()}

    def _mark(self, step: WatchStep, touched: dict[str, list[Ints]], *, of_stored: bool) -> None:
        """Close the rows that carry the values of a promise row, one of the two being new; or stored rows only."""
        for closer in self.users:
            target = step.synopses[closer.source]
            wanted = Keyed(target, closer.columns)
            ids = reached(self.own, self.held.ids(FRESH), wanted, OLD) if of_stored else newly_met(self.own, wanted)
            touched.setdefault(closer.source, []).append(target.mark(mark_name(closer), ids))
            # Keys of rows that a filter dropped become promise rows, which this closes as well.
            dropped = step.dropped[closer.source]
            if not of_stored and dropped.size(FRESH) and set(closer.columns) <= set(dropped.columns):
                fresh = dropped.ids(FRESH)
                dropped.mark(mark_name(closer), fresh[meets(Keyed(dropped, closer.columns), fresh, self.own, ALL)])

    def _met_together(self, step: WatchStep, closer: JointCloser) -> Iterator[tuple[str, Ints]]:
        """The rows that carry values of a fresh promise row all of whose values are carried by some stored row."""
        fresh = self.held.ids(FRESH)
        named: Bools = np.ones(len(fresh), np.bool_)
        found: list[tuple[str, Ints, Ints]] = []
        for column, refs in zip(closer.target_columns, closer.partners, strict=True):
            here: Bools = np.zeros(len(fresh), np.bool_)
            for ref in refs:
                wanted = Keyed(step.synopses[ref.alias], (ref.column,))
                places, rows = match_keys(Keyed(self.held, (column,)), fresh, wanted, ALL)
                here[places] = True
                found.append((ref.alias, places, rows))
            named &= here
        for alias, places, rows in found:
            yield alias, rows[named[places]]

    def named(self, values: Sequence[tuple[Synopsis, str, Ints]]) -> Ints:
        """The places whose values, one of each given column, some promise row names; for the joint closers."""
        if not len(values[0][2]) or self.held.size(ALL) == 0:
            return empty_ids()
        keys = combine([synopsis.hashes(column, ids) for synopsis, column, ids in values])
        places, met = self.held.probe(ALL, self.columns, keys)
        for own, (synopsis, column, ids) in zip(self.columns, values, strict=True):
            equal = agree(Keyed(synopsis, (column,)), ids[places], Keyed(self.held, (own,)), met)
            places, met = places[equal], met[equal]
        return union([places])

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """See Watch."""
        asked = [self.held.ids(FRESH), self._noted, self.need.stirred(step, removed, self.held)]
        asked.append(closing.newly_closed(self.alias, self.held))
        ids = self.held.alive(union(asked))
        self._forget(ids[~self.need.of(step, self.held, ids)])

    def _forget(self, ids: Ints) -> None:
        """Let go of promise rows that nothing needs."""
        self.held.kill(ids)

    def dealt(self, synopses: Mapping[str, Synopsis]) -> None:
        """See Watch."""
        self.values.except_anew(synopses, self.users)

    def forget(self, count: int) -> int:
        """See Watch."""
        return self.values.forget(count)
