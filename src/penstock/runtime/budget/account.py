"""The account of what eviction loses: a live estimate of recall, results emitted over results due, and its error.

A bounded sample of the evicted rows of each source is kept (`sample.py`), and the joins run over stored and sampled
rows together (`with_sampled.py`): what they give is due. A result counts as many times as its sampled rows stand for
(Horvitz and Thompson), so the sum is right on average for any join, however many streams, bands and windows it has; and
it is exact while the sample holds all that was evicted. The error is had from what each sampled row was found to give
over its life: 1.96 standard deviations, so that the truth lies within in 19 of 20 cases. Where few rows give much, most
samples hold none of these; so where a sample is not all, one more row like the heaviest is counted.

**The tree.** Of inner joins, what is emitted are the results without a sampled row: one join gives both. Under outer
joins and EXISTS a row that meets a sampled partner has another answer than one that meets none, so there a tree of its
own (`join/join_tree.py`) runs over both, with marks and waiting rows of its own, from the first eviction on; it begins
as the other one stands. While the sample is all, it gives what the query without a budget would. Of evicted rows that
are not sampled it knows by a sketch (`doubt.py`), as the other tree does of all evicted ones: rows that these may have
matched are **unsure**. Of the results made of such rows as many are taken to be in doubt by chance as the filled
buckets say, and the error leaves all of them open.

A row that is purged may be missed too: what it waited for may be useless only because a partner was evicted. Such a row
is not done by what is stored, sampled and purged together, so it goes on in the sample; given the sampled partners it
is drawn like any other, so weights multiply as before.

Sampled rows are no state that answers: they are statistics, which count in bytes only. So of each only the columns are
kept that say what it meets and when it can leave. One leaves when it is done, by the rule by which stored rows are
purged. The account is **blind**, and its error leaves everything open, where a budget in bytes has no room for a sample
worth the name; where rows under outer joins are shed before they are joined; and where nothing but promises about
values closes what waits there and one of these was forgotten, or left with the row that stood for it: in the sample
rows without a match would then never be due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.closer_plans import Closer
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import closed_by_values_alone
from penstock.runtime.budget.loss import DEVIATIONS, Loss
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.sample import Sample
from penstock.runtime.budget.with_sampled import ToldApart, WithSampled
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.input.wire_columns import matching_columns
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import stand_together, stands_for
from penstock.runtime.join.purged import Asking, Purged
from penstock.runtime.join.rows import ABSENT, Rows, count
from penstock.runtime.join.sides import StreamSide
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.promise.marks import LEFT, MATCHED, mark_name, of_account
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

MOST_VARIANCE = 1 << 50
_LEAST_CHAIN = 3
"""Streams from which on what a row of an inner join waits for may depend on a third."""
SAMPLED = 2_000
"""The most evicted rows of a source that are sampled in a cell."""
_LEAST_SAMPLED = 30
"""Rows of a full sample below which the spread of what they gave says nothing."""


@dataclass(frozen=True)
class _Shed:
    """Fresh rows that were shed and are sampled: their ids, what each stands for, what each has missed."""

    ids: Ints
    weight: int
    tally: Floats


class Account(Component):
    """The sampled rows of one cell, and what they were found to give."""

    numbers: ClassVar[tuple[str, ...]] = ("emitted", "lost", "maybe", "_known", "_told", "_variance", "blind", "_runs")
    parts = ("samples", "due")

    def __init__(self, plan: Plan, tree: JoinTree) -> None:
        self.plan = plan
        self.tree = tree
        self.synopses = tree.synopses
        self.samples = {alias: Sample(SAMPLED, place) for place, alias in enumerate(plan.aliases)}
        self.with_sampled = WithSampled(plan, self.synopses, self.samples)
        self.due = JoinTree(
            plan,
            Matcher(plan, self.with_sampled.both),
            tree.closing,
            tree.clock,
            across=tree.across,
            absent=tree.absent,
            of_account=True,
        )
        """The joins over stored and sampled rows."""
        self.emitted = 0
        self.lost = 0.0
        """Results due, as they are found, less those emitted."""
        self.maybe = 0.0
        """Results of which nobody knows whether they are due."""
        self.lost_now = 0
        self._known = 0
        """The same as `lost`, each result counted once."""
        self._told = 0
        """Those of them that were said to be lost."""
        self._variance = 0.0
        self.blind = False
        """Whether nobody knows what was missed."""
        self._runs = False
        """Whether the tree over both has begun."""
        self.cells = 1
        """Over how many cells the account is added up."""
        self._columns = {a: matching_columns(plan, a, self.synopses[a].columns) for a in plan.aliases}
        self._by_values = dict(closed_by_values_alone(plan))
        """The streams that only promises about values close for rows that wait; whether more than keys ties them."""
        self._shed: dict[str, _Shed] = {}

    @property
    def is_missing(self) -> bool:
        """Whether a result may be found to be lost."""
        if self.plan.inner:
            return bool(self._shed) or any(len(sample) for sample in self.samples.values())
        return self._runs and not self.blind

    def shed(self, alias: str, ids: Ints) -> None:
        """Let fresh rows go before they are joined. Of inner joins those that are sampled go after it."""
        synopsis = self.synopses[alias]
        ids = np.sort(ids)
        if not self.plan.inner:
            self.blind = True
            synopsis.kill(ids)
            return
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

    def join(self) -> list[Partial]:
        """The results of a batch; those that are due are counted on the way."""
        self.lost_now = 0
        if not self.is_missing:
            found = self.tree.join()
        else:
            self.with_sampled.stand()
            found = self.due.join()
            if self.plan.inner:
                found = [self._kept(partial) for partial in found]
            else:
                self._count_due(found)
                found = self.tree.join()
        for partial in found if self.plan.aggregate is None and self.plan.inner else ():
            weight = stand_together(self.synopses, partial)
            self.emitted += count(partial) if weight is None else int(weight.sum())
        for alias in self._shed:
            self._leave(alias)
        self._shed = {}
        return found

    def settle(self, step: WatchStep, touched: Mapping[str, Ints], met: Mapping[str, Ints], asking: Asking) -> None:
        """With the promises of a batch made, and before anything is purged: what is due without a match."""
        marked = self._mark(step)
        if self.plan.inner or not self.is_missing:
            return
        self.with_sampled.stand()
        for alias in {**touched, **met}:
            own = [self.with_sampled.ids(alias, found[alias]) for found in (touched, met) if alias in found]
            marked.setdefault(alias, []).extend(own)
        certain, _ = self.due.settle({alias: union(ids) for alias, ids in marked.items()}, asking, {})
        self._count_due(certain)

    def gave(self, results: int) -> None:
        """Note what a batch added to the groups of a grouped query, or to the answer of an outer join or EXISTS."""
        self.emitted += results
        if not self.plan.inner and self.is_missing:
            self.lost -= results
            self._known -= results
            known = self._known - self._waiting_for_an_answer()
            self.lost_now = max(0, known - self._told)
            self._told += self.lost_now

    def _waiting_for_an_answer(self) -> int:
        """At most so many stored rows of EXISTS are due and will be given yet, by a further match."""
        waiting = 0
        for node in self.tree.nodes.values():
            if node.plan.kind is NodeKind.SEMI:
                left = node.sides[0]
                if isinstance(left, StreamSide):
                    found = [s.alive & s.marks[of_account(MATCHED)] & ~s.marks[LEFT] for s in left.synopsis.segments]
                    waiting += int(sum(np.count_nonzero(mask) for mask in found))
                else:
                    waiting += left.size
        return waiting

    def _kept(self, partial: Partial) -> Partial:
        """The combinations of stored rows alone, by their own ids; the others are noted as lost."""
        rows = {alias: self._told_apart(alias, ids) for alias, ids in partial.items()}
        lost = np.logical_or.reduce([row.weight > 0 for row in rows.values()])
        if lost.any():
            self.lost_now += self._note(rows, np.flatnonzero(lost))
        return {alias: row.own[~lost] for alias, row in rows.items()}

    def _told_apart(self, alias: str, ids: Ints) -> ToldApart:
        found, shed = self.with_sampled.told_apart(alias, ids), self._shed.get(alias)
        if shed is not None:
            found.weight[~found.sampled & np.isin(found.own, shed.ids)] = shed.weight
        return found

    def _count_due(self, results: list[Rows]) -> None:
        """Count what the joins over both have given."""
        for given in results:
            size = count(given)
            if not size:
                continue
            rows = {alias: self._told_apart(alias, ids) for alias, ids in given.items()}
            asked: Bools = np.ones(size, np.bool_)
            for window in () if self.plan.aggregate is None else self.plan.aggregate.windows:
                asked &= given[window.alias] != ABSENT  # What has no time is in no window.
            unsure = np.zeros(size, np.bool_) if self.due.unsure is None else self.due.unsure
            self._known += self._note(rows, np.flatnonzero(asked & ~unsure))
            weights = [np.maximum(row.weight[asked & unsure], 1.0) for row in rows.values()]
            self.maybe += float(np.prod(weights, axis=0).sum())

    def _note(self, rows: Mapping[str, ToldApart], which: Ints) -> int:
        """Count combinations by what their rows stand for, and what each sampled row has given; gives their number."""
        copies = np.ones(len(which))
        weights = {alias: np.maximum(row.weight[which], 1.0) for alias, row in rows.items()}
        for alias, row in rows.items():
            here, place = row.sampled[which], row.place[which]
            copies[here] *= self.samples[alias].stands[place[here]]
            if self.plan.inner and not here.all():
                copies[~here] *= stands_for(self.synopses[alias], row.own[which[~here]])
        counted = copies * np.prod(list(weights.values()), axis=0)
        self.lost += float(counted.sum())
        for alias, row in rows.items():
            here, missed = row.sampled[which], counted / weights[alias]
            sample = self.samples[alias]
            sample.tally += np.bincount(row.place[which][here], missed[here], len(sample))
            if (shed := self._shed.get(alias)) is not None and len(shed.ids):
                fresh = ~here & (row.weight[which] > 0)
                places = np.searchsorted(shed.ids, row.own[which][fresh])
                np.add(shed.tally, np.bincount(places, missed[fresh], len(shed.ids)), out=shed.tally)
        return int(copies.sum())

    def _mark(self, step: WatchStep) -> dict[str, list[Ints]]:
        """Let sampled rows learn of the keys and punctuations of this batch, as stored ones do; those among both."""
        found: dict[str, list[Ints]] = {}
        for closer in self.plan.key_closers:
            self._mark_by(closer, (step.synopses[closer.target], step.dropped[closer.target]), found)
        for closer in self.plan.held_closers:
            self._mark_by(closer, step.promised[closer.target, closer.target_columns], found)
        return found

    def _mark_by(self, closer: Closer, named: tuple[Synopsis, ...], found: dict[str, list[Ints]]) -> None:
        segment = self.samples[closer.source].segment
        if segment is None:
            return
        rows = Synopsis(self.synopses[closer.source].columns)
        rows.segments = [segment]
        rows.rebase()
        for keys in named:
            own = Keyed(keys, closer.target_columns)
            _, met = match_keys(own, keys.ids(FRESH), Keyed(rows, closer.columns), ALL)
            new = rows.mark(mark_name(closer), met)
            if len(new) and not self.plan.inner and self.is_missing:
                found.setdefault(closer.source, []).append(self.with_sampled.sampled(closer.source)[new])

    def outlive(self, purged: Purged) -> None:
        """Sample rows that were purged only because what they waited for was evicted."""
        if not self.is_missing or (self.plan.inner and len(self.plan.aliases) < _LEAST_CHAIN):
            return
        leaving = purged.by_promises if self.plan.inner else purged.of
        gone = {alias: np.sort(leaving(alias)) for alias in self.plan.aliases}
        if self.plan.inner:
            copies = {alias: self._copied(alias, ids) for alias, ids in gone.items() if len(ids)}
            self.with_sampled.stand(copies)
            ends = {alias: self.with_sampled.both[alias].rows for alias in copies}
            ids = {alias: np.arange(end - len(gone[alias]), end) for alias, end in ends.items()}
        else:
            self.with_sampled.stand()
            ids = {alias: self.with_sampled.ids(alias, rows) for alias, rows in gone.items() if len(rows)}
        missed = {alias: gone[alias][~self.due.is_done(alias, rows)] for alias, rows in ids.items()}
        for alias, rows in missed.items():
            self.note(alias, rows)

    def expire(self) -> None:
        """Let sampled rows go that can give nothing more."""
        if not any(len(sample) for sample in self.samples.values()) or not self.is_missing:
            return
        self.with_sampled.stand()
        clock, across = self.tree.clock, self.tree.across
        for alias, sample in self.samples.items():
            if sample.segment is None:
                continue
            gone = self.due.is_done(alias, self.with_sampled.sampled(alias))
            source = self.plan.by_alias[alias]
            if self.plan.inner and source.window_rows is not None and across is None:
                gone |= sample.segment.arrival < clock.count[source.stream] - source.window_rows
            if gone.any():
                self._variance += sample.drop(gone)
        if self.due.lost is not None:
            self.due.lost.begin_anew()

    def note(self, alias: str, ids: Ints) -> None:
        """Sample rows that leave, and that a result to come may miss."""
        if not len(ids) or self.blind:
            return
        ids = np.sort(ids)
        if self.plan.inner:
            self._variance += self.samples[alias].add(self._copied(alias, ids), stands_for(self.synopses[alias], ids))
            return
        self.blind |= self._by_values.get(alias, False)
        if not self._runs:
            self._runs = True
            self.with_sampled.begin_as_stored()
            self.due.begin_as(self.tree)
        self.with_sampled.stand()
        both = self.with_sampled.both[alias]
        needed = ~self.due.is_done(alias, self.with_sampled.ids(alias, ids))
        ids = ids[needed]
        if not len(ids):
            return
        leaving = np.concatenate([self.with_sampled.ids(alias, ids), self.with_sampled.sampled(alias)])
        arrival: Ints = both.gather(leaving, lambda s: s.arrival)
        sample = self.samples[alias]
        self._variance += sample.add(self._copied(alias, ids), np.ones(len(ids), np.int64))
        kept = empty_ids() if sample.segment is None else sample.segment.arrival
        self.due.evicting(alias, np.sort(leaving[~np.isin(arrival, kept)]))

    def _copied(self, alias: str, ids: Ints) -> Segment:
        synopsis = self.synopses[alias]
        pieces = [_part(segment, rows, self._columns[alias]) for segment, _, rows in synopsis.split(ids)]
        return pieces[0] if len(pieces) == 1 else Segment.merged(pieces)

    def forgot(self) -> None:
        """Promise rows were forgotten: inner joins purge later for it, and lose nothing."""
        self.blind |= bool(self._by_values)

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        own = sum(sample.nbytes for sample in self.samples.values()) + self.due.nbytes
        return own + (0 if self.due.lost is None else self.due.lost.nbytes)

    def shrink(self, room: int) -> None:
        """Make it fit into so many bytes from now on."""
        if self.due.lost is not None:
            self.due.lost.fit(room // 3)
            room -= self.due.lost.nbytes + self.due.nbytes
        for sample in self.samples.values():
            while sample.nbytes > max(0, room) // len(self.samples) and len(sample):
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
        is_due = self._share_of_unsure()
        due = max(self.emitted, self.emitted + round(self.lost + self.maybe * is_due))
        # In all cells the unsure ones may be off to the same side: their errors add up, not their squares.
        variance += self.cells * (self.maybe * max(is_due, 1.0 - is_due) / DEVIATIONS) ** 2
        variance = MOST_VARIANCE if self.blind else min(round(variance), MOST_VARIANCE)
        return Loss(evicted, needed, self.lost_now, self.emitted, due, variance)

    def _share_of_unsure(self) -> float:
        """About which part of the unsure results is due."""
        doubt = self.due.lost
        by_chance = min(1.0, doubt.chance / doubt.unsure) if doubt is not None and doubt.unsure else 0.0
        return 1.0 - by_chance if self.plan.tree.root.kind is NodeKind.SEMI else by_chance


def _part(segment: Segment, rows: Ints, columns: tuple[str, ...]) -> Segment:
    marks = {name: mask[rows] for name, mask in segment.marks.items()}
    table = segment.table.select(list(columns)).take(rows)
    return Segment(table, segment.arrival[rows], segment.batch[rows], np.ones(len(rows), np.bool_), marks)


def _nothing(sample: Sample) -> Segment:
    assert sample.segment is not None
    return _part(sample.segment, np.zeros(0, np.int64), tuple(sample.segment.table.column_names))
