"""The account of what eviction loses: a live estimate of recall, results emitted over results due, and its error.

A bounded sample of the evicted rows of each source is kept (`sample.py`) and joined along with what is stored: a
combination of rows that has a sampled one in it is a result that is due and lost. It counts as many times as its rows
stand for (Horvitz and Thompson), so the sum is right on average for any join, however many streams, bands and windows
it has; and it is exact while the sample holds all that was evicted. The error is had from what each sampled row was
found to miss over its life: 1.96 standard deviations, so that the truth lies within in 19 of 20 cases. Where few rows
miss much, most samples hold none of these; so where a sample is not all, one more row like the heaviest is counted.

A row that is purged may be missed too: with three streams or more, what it waited for may be useless only because a
partner was evicted. Such a row is not useless by what is stored, sampled and purged together, so it goes on in the
sample; given the sampled partners it is drawn like any other, so weights multiply as before.

Sampled rows are no state that answers: they are statistics, which count in bytes only. So of each only the columns are
kept that say what it meets and when it can leave. One leaves when promises say that it can miss nothing more, by the
rule by which stored rows are purged. Where a budget in bytes has no room for a sample worth the name, the account is
`blind`: what it says is told with an error that leaves everything open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.plan.plan import Closer, Plan
from penstock.runtime.budget.loss import Loss
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.sample import Sample
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import matching_columns
from penstock.runtime.join.merge import Merge, stands_for
from penstock.runtime.join.purge import Purge
from penstock.runtime.join.purged import Purged
from penstock.runtime.match.delta_join import delta_join
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

MOST_VARIANCE = 1 << 50
_LEAST_CHAIN = 3
"""Streams from which on what a row waits for may depend on a third."""
SAMPLED = 2_000
"""The most evicted rows of a source that are sampled in a cell."""
_LEAST_SAMPLED = 30
"""Rows of a full sample below which the spread of what they missed says nothing."""


@dataclass(frozen=True)
class _Shed:
    """Fresh rows that were shed and are sampled: their ids, what each stands for, what each has missed."""

    ids: Ints
    weight: int
    tally: Floats


@dataclass(frozen=True)
class _Rows:
    """One column of combinations of stored and sampled rows: which are stored, which sampled, which shed."""

    own: Ints
    """Ids among the stored ones; for a sampled row without meaning."""
    place: Ints
    """Places in the sample; for others without meaning."""
    sampled: Bools
    weight: Floats
    """What a sampled or shed row stands for; 0 for a stored one."""


class Account(Component):
    """The sampled rows of one cell, and what they were found to miss."""

    numbers: ClassVar[tuple[str, ...]] = ("emitted", "lost", "_variance", "blind")
    parts = ("samples",)

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], merge: Merge) -> None:
        self.plan = plan
        self.synopses = synopses
        self.merge = merge
        self.samples = {alias: Sample(SAMPLED, place) for place, alias in enumerate(plan.aliases)}
        self.emitted = 0
        self.lost = 0.0
        self._variance = 0.0
        self.lost_now = 0
        self.blind = False
        """Whether a sample had to be given up, so that nobody knows what was missed."""
        self.cells = 1
        """Over how many cells the account is added up."""
        self._columns = {a: matching_columns(plan, a, synopses[a].columns) for a in plan.aliases}
        self._shed: dict[str, _Shed] = {}
        self._both = {alias: Synopsis(synopses[alias].columns) for alias in plan.aliases}
        """Stored and sampled rows together, while a batch is looked at."""
        self._matcher_of_both = Matcher(plan, self._both)
        self._purge: Purge | None = None

    def shed(self, alias: str, ids: Ints) -> None:
        """Let fresh rows go before they are joined, but for those that are sampled: these go after it."""
        synopsis = self.synopses[alias]
        ids = np.sort(ids)
        picked, weight, variance = self.samples[alias].picks(synopsis.segments[-1], ids - synopsis.first_fresh)
        self._variance += variance
        synopsis.kill(ids[~picked])
        self._shed[alias] = _Shed(ids[picked], weight, np.zeros(int(picked.sum())))

    def _leave(self, alias: str) -> None:
        """The sampled ones of the rows that were shed go too."""
        shed = self._shed[alias]
        if len(shed.ids):
            arrival: Ints = self.synopses[alias].gather(shed.ids, lambda s: s.arrival)
            self.note(alias, shed.ids)
            self.synopses[alias].kill(shed.ids)
            self.samples[alias].missed(arrival, shed.tally)

    def join(self, matcher: Matcher, clock: Clock, across: ArrivalOrder | None) -> list[Partial]:
        """The results of a batch; those that eviction has lost are counted on the way."""
        self.lost_now = 0
        if not self.is_missing:
            found = delta_join(self.plan, matcher, clock, across)
        else:
            self._with_samples()
            both = delta_join(self.plan, self._matcher_of_both, clock, across)
            found = [self._kept(partial) for partial in both]
        for partial in found if self.plan.aggregate is None else ():
            copies = self.merge.copies(partial)
            self.emitted += len(next(iter(partial.values()))) if copies is None else int(copies.sum())
        for alias in self._shed:
            self._leave(alias)
        self._shed = {}
        return found

    @property
    def is_missing(self) -> bool:
        """Whether a result may be found to be lost."""
        return bool(self._shed) or any(len(sample) for sample in self.samples.values())

    def _with_samples(self) -> None:
        """Put stored and sampled rows together: old ones, sampled ones, those of the batch."""
        for alias, both in self._both.items():
            synopsis, sample = self.synopses[alias], self.samples[alias].segment
            old = synopsis.segments[:-1] if synopsis.has_fresh else synopsis.segments
            both.segments = [*old, *(() if sample is None else (sample,)), *synopsis.segments[len(old) :]]
            both.has_fresh = synopsis.has_fresh
            both.rebase()

    def part(self) -> None:
        """Hold no longer what stood together: segments may be rewritten."""
        for both in self._both.values():
            both.segments, both.has_fresh = [], False
            both.rebase()

    def _asking(self, closing: Closedness, clock: Clock, across: ArrivalOrder | None) -> Purge:
        """The purge rule over stored and sampled rows, as they stand together now."""
        if self._purge is None:
            windows = RowsWindows(self.plan, self._both, clock, across)
            self._purge = Purge(self.plan, self.plan.tree.root, self._matcher_of_both, closing, windows)
        self._purge.look_anew()
        return self._purge

    def _first(self, alias: str) -> int:
        """The id of the first sampled row where stored and sampled ones stand together."""
        synopsis = self.synopses[alias]
        return sum(len(s) for s in (synopsis.segments[:-1] if synopsis.has_fresh else synopsis.segments))

    def _kept(self, partial: Partial) -> Partial:
        """The combinations of stored rows alone, by their own ids; the others are noted as lost."""
        rows = {alias: self._told_apart(alias, ids) for alias, ids in partial.items()}
        lost = np.logical_or.reduce([row.weight > 0 for row in rows.values()])
        if lost.any():
            self._note(rows, np.flatnonzero(lost))
        return {alias: row.own[~lost] for alias, row in rows.items()}

    def _told_apart(self, alias: str, ids: Ints) -> _Rows:
        sample, shed = self.samples[alias], self._shed.get(alias)
        place = ids - self._first(alias)
        sampled: Bools = (place >= 0) & (place < len(sample))
        own = np.where(place >= len(sample), ids - len(sample), ids)
        weight = np.zeros(len(ids))
        weight[sampled] = sample.weight[place[sampled]]
        if shed is not None:
            weight[~sampled & np.isin(own, shed.ids)] = shed.weight
        return _Rows(own, place, sampled, weight)

    def _note(self, rows: Mapping[str, _Rows], which: Ints) -> None:
        """Count lost combinations by what their rows stand for, and what each sampled row has missed."""
        copies = np.ones(len(which))
        weights = {alias: np.maximum(row.weight[which], 1.0) for alias, row in rows.items()}
        for alias, row in rows.items():
            here, place = row.sampled[which], row.place[which]
            copies[here] *= self.samples[alias].stands[place[here]]
            if not here.all():
                copies[~here] *= stands_for(self.synopses[alias], row.own[which[~here]])
        counted = copies * np.prod(list(weights.values()), axis=0)
        self.lost += float(counted.sum())
        self.lost_now += int(copies.sum())
        for alias, row in rows.items():
            here, missed = row.sampled[which], counted / weights[alias]
            sample = self.samples[alias]
            sample.tally += np.bincount(row.place[which][here], missed[here], len(sample))
            if (shed := self._shed.get(alias)) is not None and len(shed.ids):
                fresh = ~here & (row.weight[which] > 0)
                places = np.searchsorted(shed.ids, row.own[which][fresh])
                np.add(shed.tally, np.bincount(places, missed[fresh], len(shed.ids)), out=shed.tally)

    def mark(self, step: WatchStep) -> None:
        """Let sampled rows learn of the keys and punctuations of this batch, as stored ones do."""
        for closer in self.plan.key_closers:
            self._mark(closer, (step.synopses[closer.target], step.dropped[closer.target]))
        for closer in self.plan.held_closers:
            self._mark(closer, step.promised[closer.target, closer.target_columns])

    def _mark(self, closer: Closer, named: tuple[Synopsis, ...]) -> None:
        segment = self.samples[closer.source].segment
        if segment is None:
            return
        rows = Synopsis(self.synopses[closer.source].columns)
        rows.segments = [segment]
        rows.rebase()
        for keys in named:
            own = Keyed(keys, closer.target_columns)
            _, met = match_keys(own, keys.ids(FRESH), Keyed(rows, closer.columns), ALL)
            rows.mark(mark_name(closer), met)

    def expire(self, closing: Closedness, clock: Clock, across: ArrivalOrder | None) -> None:
        """Let sampled rows go that can miss nothing more."""
        block = self.plan.tree.root.block
        if (block is None or not block.purge_trees) and not any(s.window is not None for s in self.plan.sources):
            return
        if not any(len(sample) for sample in self.samples.values()):
            return
        self._with_samples()
        purge = self._asking(closing, clock, across)
        for alias, sample in self.samples.items():
            if sample.segment is None:
                continue
            ids = self._first(alias) + np.arange(len(sample))
            gone = purge.useless(alias, ids)
            source = self.plan.by_alias[alias]
            if source.window_rows is not None and across is None:
                gone |= sample.segment.arrival < clock.count[source.stream] - source.window_rows
            if gone.any():
                self._variance += sample.drop(gone)

    def outlive(self, purged: Purged, closing: Closedness, clock: Clock, across: ArrivalOrder | None) -> None:
        """Sample rows that were purged only because what they waited for was evicted."""
        if len(self.plan.aliases) < _LEAST_CHAIN or not any(len(sample) for sample in self.samples.values()):
            return
        gone = {alias: np.sort(purged.by_promises(alias)) for alias in self.plan.aliases}
        self._with_samples()
        first = {}
        for alias, ids in gone.items():
            both = self._both[alias]
            first[alias] = sum(len(segment) for segment in both.segments)
            both.segments = [*both.segments, *((self._copied(alias, ids),) if len(ids) else ())]
            both.has_fresh = False
            both.rebase()
        purge = self._asking(closing, clock, across)
        missed = {a: ids[~purge.useless(a, first[a] + np.arange(len(ids)))] for a, ids in gone.items() if len(ids)}
        for alias, ids in missed.items():
            self.note(alias, ids)

    def note(self, alias: str, ids: Ints) -> None:
        """Sample rows that leave, and that a result to come may miss."""
        if len(ids):
            ids = np.sort(ids)
            stands = stands_for(self.synopses[alias], ids)
            self._variance += self.samples[alias].add(self._copied(alias, ids), stands)

    def _copied(self, alias: str, ids: Ints) -> Segment:
        synopsis = self.synopses[alias]
        pieces = [_part(segment, rows, self._columns[alias]) for segment, _, rows in synopsis.split(ids)]
        return pieces[0] if len(pieces) == 1 else Segment.merged(pieces)

    def forgot(self) -> None:
        """Promise rows were forgotten: inner joins purge later for it, and lose nothing."""

    @property
    def nbytes(self) -> int:
        """The room that the samples take."""
        return sum(sample.nbytes for sample in self.samples.values())

    def shrink(self, room: int) -> None:
        """Make the samples fit into so many bytes from now on."""
        for sample in self.samples.values():
            while sample.nbytes > room // len(self.samples) and len(sample):
                sample.most = len(sample) // 2
                self.blind |= sample.most < _LEAST_SAMPLED
                if sample.most:
                    self._variance += sample.add(_nothing(sample), np.zeros(0, np.int64))
                else:
                    sample.is_all = False
                    self._variance += sample.drop(np.ones(len(sample), np.bool_))

    def loss(self, evicted: int, needed: int) -> Loss:
        """What was lost, after a batch in which so many rows were evicted, and which would have needed so much room."""
        variance = self._variance + sum(sample.variance for sample in self.samples.values())
        variance += max(sample.unseen for sample in self.samples.values())
        due = self.emitted + round(self.lost)
        variance = MOST_VARIANCE if self.blind else min(round(variance), MOST_VARIANCE)
        return Loss(evicted, needed, self.lost_now, self.emitted, due, variance)


def _part(segment: Segment, rows: Ints, columns: tuple[str, ...]) -> Segment:
    marks = {name: mask[rows] for name, mask in segment.marks.items()}
    table = segment.table.select(list(columns)).take(rows)
    return Segment(table, segment.arrival[rows], segment.batch[rows], np.ones(len(rows), np.bool_), marks)


def _nothing(sample: Sample) -> Segment:
    assert sample.segment is not None
    return _part(sample.segment, np.zeros(0, np.int64), tuple(sample.segment.table.column_names))
