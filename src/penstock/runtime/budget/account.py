"""The account of what eviction loses: a live estimate of recall, results emitted over results due, and its error.

A bounded sample of the evicted rows of each source is kept (`sample.py`), and the joins run over stored and sampled
rows together (`with_sampled.py`): what they give is due. A result counts as many times as its sampled rows stand for
(Horvitz and Thompson), so the sum is right on average for any join, however many streams, bands and windows it has; and
it is exact while the sample holds all that was evicted. The error is had from what each sampled row was found to give
over its life: 1.96 standard deviations, so that the truth lies within in 19 of 20 cases. Where few rows give much, most
samples hold none of these; so where a sample is not all, one more row like the heaviest is counted.

How results that are due are told from those emitted depends on the joins: where every stream stands in every result,
one join gives both (`account_of_block.py`); under outer joins and EXISTS a tree of its own runs (`account_of_tree.py`).

A row that is purged may be missed too: what it waited for may be useless only because a partner was evicted. Such a row
is not done by what is stored, sampled and purged together, so it goes on in the sample; given the sampled partners it
is drawn like any other, so weights multiply as before.

Sampled rows are no state that answers: they are statistics, which count in bytes only. So of each only the columns are
kept that say what it meets and when it can leave. One leaves when it is done, by the rule by which stored rows are
purged. The account is **blind**, and its error leaves everything open, where a budget in bytes has no room for a sample
worth the name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from penstock.plan.closer_plans import Closer
from penstock.plan.plan import Plan
from penstock.runtime.budget.loss import DEVIATIONS, Loss
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.sample import Sample
from penstock.runtime.budget.with_sampled import ToldApart, WithSampled
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.input.wire_columns import matching_columns
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.purged import Asking, Purged
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

MOST_VARIANCE = 1 << 50
SAMPLED = 2_000
"""The most evicted rows of a source that are sampled in a cell."""
_LEAST_SAMPLED = 30
"""Rows of a full sample below which the spread of what they gave says nothing."""


class Account(Component, ABC):
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
        """Whether a tree over both has begun."""
        self.cells = 1
        """Over how many cells the account is added up."""
        self._columns = {a: matching_columns(plan, a, self.synopses[a].columns) for a in plan.aliases}

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:
        """See Component: sums stand in one cell. Joins over both that run beside those of the query are given up."""
        for name in ("emitted", "lost", "maybe", "_known", "_told", "_variance"):
            setattr(self, name, sum(getattr(one, name) for one in members) if is_first else 0)
        self.blind = any(one.blind or one._runs for one in members)

    @property
    @abstractmethod
    def is_missing(self) -> bool:
        """Whether a result may be found to be lost."""

    @abstractmethod
    def shed(self, alias: str, ids: Ints) -> None:
        """Let fresh rows go before they are joined."""

    @abstractmethod
    def join(self) -> list[Partial]:
        """The results of a batch; those that are due are counted on the way."""

    def settle(self, step: WatchStep, touched: Mapping[str, Ints], met: Mapping[str, Ints], asking: Asking) -> None:  # noqa: ARG002 - a hook
        """With the promises of a batch made, and before anything is purged: what is due without a match."""
        self._mark(step)

    def gave(self, results: int) -> None:
        """Note what a batch added to the groups of a grouped query, or to the answer of an outer join or EXISTS."""
        self.emitted += results

    @abstractmethod
    def outlive(self, purged: Purged) -> None:
        """Sample rows that were purged only because what they waited for was evicted."""

    @abstractmethod
    def note(self, alias: str, ids: Ints) -> None:
        """Sample rows that leave, and that a result to come may miss."""

    def forgot(self) -> None:
        """Promise rows were forgotten: inner joins purge later for it, and lose nothing."""

    def _told_apart(self, alias: str, ids: Ints) -> ToldApart:
        return self.with_sampled.told_apart(alias, ids)

    def _stand_for(self, alias: str, ids: Ints) -> Ints:  # noqa: ARG002 - a hook
        """How many rows stored ones stand for; a tree has no row that stands for others."""
        return np.ones(len(ids), np.int64)

    def _gave_each(self, alias: str, ids: Ints, missed: Floats) -> None:
        """Note what rows that are still stored, and will be in the sample, were found to give."""

    def _is_over(self, alias: str, segment: Segment) -> Bools:  # noqa: ARG002 - a hook
        """Which sampled rows have left their window."""
        return np.zeros(len(segment), np.bool_)

    @property
    def _share_of_unsure(self) -> float:
        """About which part of the unsure results is due; there are none of inner joins."""
        return 0.0

    def _note(self, rows: Mapping[str, ToldApart], which: Ints) -> int:
        """Count combinations by what their rows stand for, and what each sampled row has given; gives their number."""
        copies = np.ones(len(which))
        weights = {alias: np.maximum(row.weight[which], 1.0) for alias, row in rows.items()}
        for alias, row in rows.items():
            here, place = row.sampled[which], row.place[which]
            copies[here] *= self.samples[alias].stands[place[here]]
            if not here.all():
                copies[~here] *= self._stand_for(alias, row.own[which[~here]])
        counted = copies * np.prod(list(weights.values()), axis=0)
        self.lost += float(counted.sum())
        for alias, row in rows.items():
            here, missed = row.sampled[which], counted / weights[alias]
            sample = self.samples[alias]
            sample.tally += np.bincount(row.place[which][here], missed[here], len(sample))
            fresh = ~here & (row.weight[which] > 0)
            self._gave_each(alias, row.own[which][fresh], missed[fresh])
        return int(copies.sum())

    def _mark(self, step: WatchStep) -> dict[str, list[Ints]]:
        """Let sampled rows learn of the keys and punctuations of this batch, as stored ones do; by alias, which did."""
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
            if len(new):
                found.setdefault(closer.source, []).append(new)

    def expire(self) -> None:
        """Let sampled rows go that can give nothing more."""
        if not any(len(sample) for sample in self.samples.values()) or not self.is_missing:
            return
        self.with_sampled.stand()
        for alias, sample in self.samples.items():
            if sample.segment is None:
                continue
            gone = self.due.is_done(alias, self.with_sampled.sampled(alias)) | self._is_over(alias, sample.segment)
            if gone.any():
                self._variance += sample.drop(gone)
        if self.due.lost is not None:
            self.due.lost.begin_anew()

    def _copied(self, alias: str, ids: Ints) -> Segment:
        synopsis = self.synopses[alias]
        pieces = [_part(segment, rows, self._columns[alias]) for segment, _, rows in synopsis.split(ids)]
        return pieces[0] if len(pieces) == 1 else Segment.merged(pieces)

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
        is_due = self._share_of_unsure
        due = max(self.emitted, self.emitted + round(self.lost + self.maybe * is_due))
        # In all cells the unsure ones may be off to the same side: their errors add up, not their squares.
        variance += self.cells * (self.maybe * max(is_due, 1.0 - is_due) / DEVIATIONS) ** 2
        variance = MOST_VARIANCE if self.blind else min(round(variance), MOST_VARIANCE)
        return Loss(evicted, needed, self.lost_now, self.emitted, due, variance)


def _part(segment: Segment, rows: Ints, columns: tuple[str, ...]) -> Segment:
    marks = {name: mask[rows] for name, mask in segment.marks.items()}
    table = segment.table.select(list(columns)).take(rows)
    return Segment(table, segment.arrival[rows], segment.batch[rows], np.ones(len(rows), np.bool_), marks)


def _nothing(sample: Sample) -> Segment:
    assert sample.segment is not None
    return _part(sample.segment, np.zeros(0, np.int64), tuple(sample.segment.table.column_names))
