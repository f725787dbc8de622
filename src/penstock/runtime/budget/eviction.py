"""Keeping a budget: after every batch, at most this cell's share of it is left, and what leaves is what is worth least.

A step goes as without a budget, on the whole batch: join, promises, purge, what to forget. Only then, if more is left
than the share, rows are evicted; purging comes first. Promise rows are forgotten before tuples are evicted where they
take more than half of the share, the oldest first, and after all tuples if these do not suffice: that delays purges and
loses sight of broken promises, but never makes a wrong answer. A row that was evicted is as if a future result could
never have had it: what is emitted is always a part of the exact answer.

Rows are ranked among those that were worth least when all were ranked last (`candidates.py`).

In rows, a stored copy and a promise row count one each. In bytes all that `state_bytes` counts is bounded: columns,
masks, promise rows, and the statistics of this room, which shrink to a fifth of the share if they must.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.plan.aggregate import COUNT
from penstock.plan.evict import BYTES_A_ROW, EvictPlan
from penstock.plan.plan import Plan
from penstock.plan.second_stage_budget import second_room
from penstock.runtime.budget.account_of_block import BlockAccount
from penstock.runtime.budget.account_of_tree import TreeAccount
from penstock.runtime.budget.archive import Archived, Archiver
from penstock.runtime.budget.candidates import Candidates
from penstock.runtime.budget.lifetimes import Lifetimes
from penstock.runtime.budget.loss import Loss
from penstock.runtime.budget.outer_gain import OuterGain
from penstock.runtime.budget.policies import Ranking
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.shares import Shares
from penstock.runtime.columns.codes import Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.batch import Batch
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import stands_for
from penstock.runtime.join.purged import Asking, Purged
from penstock.runtime.match.matching import Partial
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

_PART_FOR_STATISTICS = 5
_PART_FOR_PROMISES = 2


@dataclass(frozen=True)
class CellParts:
    """The parts of a cell that a budget bounds or looks at."""

    synopses: Mapping[str, Synopsis]
    closedness: Closedness
    clock: Clock
    watches: tuple[Watch, ...]
    across: ArrivalOrder | None
    tree: JoinTree


class Eviction(Component):
    """Keeps one cell within its share."""

    numbers = ("unasked",)
    parts = ("shares", "lifetimes", "ranking", "account", "archiver")

    def __init__(self, plan: Plan, evict: EvictPlan, number: int, held: CellParts) -> None:
        self.plan = plan
        self.evict = evict
        self.held = held
        rows = evict.about_rows
        self.shares = Shares(plan, number, rows)
        self._second = second_room(plan)
        self._share = 0
        self.lifetimes = Lifetimes(plan, held.closedness, held.clock, held.synopses)
        gain = None if plan.inner else OuterGain(plan, held.synopses)
        self.ranking = Ranking(plan, evict.policy, held.synopses, self.lifetimes, rows, outer=gain)
        self.account = (BlockAccount if plan.inner else TreeAccount)(plan, held.tree)
        self.doubt = held.tree.lost
        self.candidates = Candidates(held.synopses)
        self.archiver = Archiver(held.synopses, held.clock) if evict.archive is not None else None
        self._fresh: dict[str, Ints] = {}
        self._stood: dict[str, Ints] = {}
        """How many rows each of them stood for when it came."""
        self.evicted = 0
        """Rows evicted in this batch."""
        self.needed = 0
        """What the rows of this batch that purging left would take, in the unit of the budget."""
        self.unasked = 0
        """Rows evicted since all stored rows were last asked whether they can go."""

    @property
    def share(self) -> int:
        """This cell's part of the budget, as the headers of the batch have it."""
        return self._share

    def join(self, batch: Batch) -> list[Partial]:
        """The results of a batch, and a look at what arrived."""
        self.shares.read(chunk.header for chunk in batch.chunks)
        a_row = 1 if self.evict.rows is not None else BYTES_A_ROW
        self.account.cells = max(1, len(self.shares.needs))
        self._share = self.shares.of(self.evict.limit - self._second, a_row)
        if self.doubt is not None:
            rows = max(self.evict.about_rows // self.account.cells, self._share // a_row)
            self.doubt.expect(rows)
            assert self.account.due.lost is not None
            self.account.due.lost.expect(rows)
        self._fresh = {alias: synopsis.ids(FRESH) for alias, synopsis in self.held.synopses.items()}
        self.evicted = 0
        if self.archiver is not None:
            self.archiver.arrived(self._fresh)
        if batch.keep < 1.0:
            self._shed(batch)
        self._stood = {alias: stands_for(self.held.synopses[alias], ids) for alias, ids in self._fresh.items()}
        if self.plan.aggregate is not None and self.plan.inner and not self.account.is_missing:
            return []
        return self.account.join()

    def gave(self, rows: Any) -> None:
        """Note what a batch added to the groups of a grouped query, or to the answer of an outer join or EXISTS."""
        is_grouped = self.plan.aggregate is not None
        self.account.gave(int(rows.column(COUNT).to_numpy().sum()) if is_grouped else rows.num_rows)

    def settle(self, step: WatchStep, touched: Mapping[str, Ints], met: Mapping[str, Ints], asking: Asking) -> None:
        """Before anything is purged: what would be due by now."""
        self.account.settle(step, touched, met, asking)

    def _shed(self, batch: Batch) -> None:
        """Before the join: let go of the rows of a batch that are worth least, where there is no time for all."""
        sizes = [len(ids) for ids in self._fresh.values()]
        count = sum(sizes) - int(batch.keep * sum(sizes))
        if not count:
            return
        if self.archiver is not None:
            self.archiver.evicting()
        worth = self.ranking.worth_of(self._fresh, batch.number, unjoined=True)
        order = np.argsort(np.concatenate([worth[alias] for alias in self._fresh]), kind="stable")[:count]
        starts = np.cumsum([0, *sizes])
        for number, (alias, ids) in enumerate(self._fresh.items()):
            gone = ids[order[(order >= starts[number]) & (order < starts[number + 1])] - starts[number]]
            if len(gone):
                if self.archiver is not None:
                    # It has met nothing, not even its own batch.
                    self.archiver.left(alias, gone, batch.number - 1)
                self.held.tree.evicting(alias, gone, unmet=True)
                self.account.shed(alias, gone)
                self.evicted += len(gone)

    def make_room(self, purged: Purged) -> None:
        """After the purge: learn from the batch, and evict what the share cannot hold."""
        self.account.outlive(purged)
        self.account.expire()
        if self.doubt is not None:
            self.doubt.begin_anew()
        self.ranking.observe(self._fresh, self._stood)
        if self.evict.bytes is not None:
            self._fit_statistics()
        self.needed = sum(self._fresh_room(synopsis) for synopsis in self.held.synopses.values())
        over = self._taken() - self.share
        if over > 0:
            over -= self._forget(min(over, self._promises_beyond_their_part()))
        if over > 0:
            self._evict_worst(over)
        if self.evict.rows is not None and (left := self._taken() - self.share) > 0:
            self._forget(left)
        self.account.with_sampled.part()

    def finish(self) -> None:
        """After the step's segments were rewritten: a budget in bytes is looked at once more, to the byte."""
        if self.evict.bytes is None:
            return
        self._fit_statistics()
        while self._taken(whole=True) > self.share:
            for synopsis in (*self.held.synopses.values(), *(side.waiting for side in self.held.tree.waiting)):
                synopsis.compact()
            if (over := self._taken(whole=True) - self.share) <= 0:
                break
            if any(synopsis.live for synopsis in self.held.synopses.values()):
                self._evict_worst(over)
            elif not self._forget(over // BYTES_A_ROW + 1):
                break
            for watch in self.held.watches:
                watch.finish()
            self.account.with_sampled.part()
            self._fit_statistics()

    def needs_full_purge(self) -> bool:
        """Whether so much was evicted that rows may have piled up which only waited for evicted ones."""
        if not self.plan.closers or 2 * self.unasked < sum(s.live for s in self.held.synopses.values()):
            return False
        self.unasked = 0
        return True

    def _fit_statistics(self) -> None:
        room = self.share // _PART_FOR_STATISTICS - self.shares.nbytes
        if self.doubt is not None:
            self.doubt.fit(room // 2)
            room -= self.doubt.nbytes
        self.ranking.shrink(room // 2)
        self.account.shrink(room - self.ranking.nbytes)

    def _taken(self, *, whole: bool = False) -> int:
        """What the cell holds, in the unit of the budget; `whole` counts dead rows too, whose room rewriting frees."""
        if self.evict.rows is not None:
            stored = sum(synopsis.live for synopsis in self.held.synopses.values())
            return stored + sum(watch.promise_rows for watch in self.held.watches)
        held = self.held.synopses.values()
        waiting = [side.waiting for side in self.held.tree.waiting]
        if whole:
            stored = sum(synopsis.nbytes for synopsis in (*held, *waiting))
        else:
            stored = sum(_living_bytes(synopsis) for synopsis in (*held, *waiting))
        return stored + sum(watch.promise_bytes for watch in self.held.watches) + self.nbytes

    def _fresh_room(self, synopsis: Synopsis) -> int:
        """What the rows of this batch take."""
        if not synopsis.has_fresh:
            return 0
        fresh = synopsis.segments[-1]
        return fresh.live if self.evict.rows is not None else int(fresh.live * _row_bytes(synopsis, fresh))

    def _promises_beyond_their_part(self) -> int:
        """Promise rows, or bytes of them, above half the share and above what tuples leave free."""
        taken = sum(w.promise_rows if self.evict.rows is not None else w.promise_bytes for w in self.held.watches)
        part = max(self.share // _PART_FOR_PROMISES, self.share - (self._taken() - taken))
        return max(0, taken - part)

    def _forget(self, amount: int) -> int:
        """Forget promise rows worth so much of the budget; gives what was forgotten."""
        forgotten = 0
        for watch in sorted(self.held.watches, key=lambda w: -w.promise_rows):
            if forgotten < amount and watch.promise_rows:
                each = 1 if self.evict.rows is not None else max(1, watch.promise_bytes // watch.promise_rows)
                forgotten += each * watch.forget(-(-(amount - forgotten) // each))
        if forgotten:
            self.account.forgot()
        return forgotten

    def _evict_worst(self, over: int) -> None:
        """Evict the rows that are worth least, until so much room is made; ties keep the later arrival."""
        if self.archiver is not None:
            self.archiver.evicting()
        synopses = self.held.synopses
        costs = [1.0 if self.evict.rows is not None else _mean_row_bytes(synopses[a]) for a in self.plan.aliases]
        cheap = over if self.evict.rows is not None else int(over / max(1.0, min(costs))) + 1
        ids = self.candidates.among(cheap)
        is_all = ids is None
        if ids is None:
            ids = {alias: synopses[alias].ids(ALL) for alias in self.plan.aliases}
        sizes = [len(rows) for rows in ids.values()]
        worth = self.ranking.worth_of(ids, self.held.clock.batch, min(cheap, sum(sizes)))
        self.candidates.ranked(ids, worth, is_all=is_all)
        order = _worst_first(np.concatenate([worth[alias] for alias in ids]), self._ages(ids), cheap)
        freed = np.cumsum(np.repeat(costs, sizes)[order])
        victims = np.sort(order[: int(np.searchsorted(freed, over, "left")) + 1])
        for alias, start, end in zip(ids, np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
            self._leave(alias, ids[alias][victims[(victims >= start) & (victims < end)] - start])

    def _ages(self, ids: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Batch and place of arrival of all rows."""
        batches = [self.held.synopses[a].gather(rows, lambda s: s.batch) for a, rows in ids.items()]
        arrivals = [self.held.synopses[a].gather(rows, lambda s: s.arrival) for a, rows in ids.items()]
        return np.concatenate(batches), np.concatenate(arrivals)

    def _leave(self, alias: str, ids: Ints) -> None:
        if len(ids):
            self.account.note(alias, ids)
            self.held.tree.evicting(alias, ids)
            if self.archiver is not None:
                self.archiver.left(alias, ids, self.held.clock.batch)
            self.held.synopses[alias].kill(ids)
            self.evicted += len(ids)
            self.unasked += len(ids)

    @property
    def archived(self) -> Archived | None:
        """What of this step goes into the archive, if there is one."""
        return None if self.archiver is None else self.archiver.taken()

    @property
    def loss(self) -> Loss:
        """What was lost."""
        return self.account.loss(self.evicted, self.needed)

    @property
    def nbytes(self) -> int:
        """The room that the statistics take."""
        own = self.ranking.nbytes + self.account.nbytes + self.shares.nbytes
        return own + (0 if self.doubt is None else self.doubt.nbytes)


def _worst_first(worth: Floats, ages: tuple[Ints, Ints], wanted: int) -> Ints:
    """The places of at least so many rows, the least worth first, and of equal worth the eldest."""
    if wanted < len(worth):
        limit = np.partition(worth, wanted - 1)[wanted - 1]
        places = np.flatnonzero(worth <= limit)
    else:
        places = np.arange(len(worth))
    batch, arrival = (age[places] for age in ages)
    return places[np.lexsort((arrival, batch, worth[places]))]


def _row_bytes(synopsis: Synopsis, segment: Segment) -> float:
    """What a row of a segment takes; of the running batch only what will be stored of it."""
    carried = 0
    if synopsis.has_fresh and segment is synopsis.segments[-1]:
        carried = int(segment.table.nbytes) - int(segment.table.select(list(synopsis.columns)).nbytes)
    return (segment.nbytes() - carried) / max(1, len(segment))


def _living_bytes(synopsis: Synopsis) -> int:
    """What the living rows take."""
    return int(sum(segment.live * _row_bytes(synopsis, segment) for segment in synopsis.segments))


def _mean_row_bytes(synopsis: Synopsis) -> float:
    return _living_bytes(synopsis) / max(1, synopsis.live)
