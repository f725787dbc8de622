"""A cell: the whole query over a share of the rows. The driver; the work is done by the modules it calls.

A step is the tuple of phases at the end of this module, in that order. Rows are joined before promises are made of the
batch, so that a promise never closes what came with it; merged among themselves before the join, which they then make
smaller, and with the stored ones after the purge, which then need not look at them. What is over the budget is known
only when all else has left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.runtime.budget.eviction import CellParts, Eviction
from penstock.runtime.columns.codes import Ints
from penstock.runtime.discarded.doubted_rows import DoubtedRows
from penstock.runtime.group.absorbing import Absorbing
from penstock.runtime.group.count_along_tree import carrying_of
from penstock.runtime.group.derived import derive_fresh, derived_columns, spread_over_windows
from penstock.runtime.input.arrival_order import EVERYTHING, ArrivalOrder
from penstock.runtime.input.batch import Batch, Chunk, Metrics, StepResult
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.gate import Gate
from penstock.runtime.input.intake import Intake
from penstock.runtime.input.wire_columns import ORDER, hidden_columns
from penstock.runtime.join.frontier import frontier
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import BUCKET, Merge, stand_together
from penstock.runtime.join.node import SETTLED_RULE
from penstock.runtime.join.purged import Asking, Patience, Purged, PurgeSchedule
from penstock.runtime.join.rows import no_result_rows, result_rows
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.match.node_matching import NO_TESTS, Truth
from penstock.runtime.match.rows_windows import seen_columns
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.items import ItemWatch
from penstock.runtime.promise.violations import Answers, PromiseBroken
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.promise.watches import remembered, watches_of
from penstock.runtime.state.component import Component, State
from penstock.runtime.state.store import Changes, Entries
from penstock.runtime.state.synopsis import Synopsis
from penstock.runtime.watched_rows import let_go_by, oldest_rows, within_64_bits


@dataclass
class UnderWay:
    """A step under way: what its phases hand on."""

    batch: Batch
    answers: Answers
    chunks: tuple[Chunk, ...] = ()
    dropped: dict[str, Synopsis] = field(default_factory=dict)
    """Keys of rows that are not stored."""
    step: WatchStep = field(init=False)
    merged: dict[str, Ints] = field(default_factory=dict)
    """Rows of the batch that another one of it stands for."""
    rows: Any = None
    lost: int = 0
    touched: dict[str, Ints] = field(default_factory=dict)
    """Rows that promises about values touched."""
    met: dict[str, Ints] = field(default_factory=dict)
    """Rows that only a key of a stored row closed."""
    asking: Asking = Asking.CHANGED
    purged: Purged = field(default_factory=Purged)
    let_go: dict[str, int] = field(default_factory=dict)
    """What had closed a stream for rows that were purged."""


class Cell(Component):
    """The state of one cell, and the step that moves it on."""

    tables = ("synopses",)
    parts = ("clock", "gate", "watches", "tree", "doubted_rows", "purge_schedule", "eviction")

    def __init__(
        self, plan: Plan, patience: Patience = Patience.EAGER, absent: Truth = NO_TESTS, number: int = 0
    ) -> None:
        self.plan = plan
        self.synopses = {
            s.alias: Synopsis(
                (
                    *s.kept,
                    *derived_columns(plan, s.alias),
                    *hidden_columns(plan, s.alias),
                    *seen_columns(plan, s.alias),
                    *((BUCKET,) if s.merge is not None else ()),
                ),
                # What is over a budget is reckoned row by row, as if each were stored by itself.
                encodes=plan.evict is None,
            )
            for s in plan.sources
        }
        self.order = ArrivalOrder(plan) if plan.in_arrival_order else None
        self.gate = Gate(plan, self.order) if self.order is not None else None
        self.clock = Clock(plan)
        self.watches = watches_of(plan, self.clock.stream_parts)
        self.closedness = Closedness(plan, self.clock, self.watches, self.order)
        self.matcher = Matcher(plan, self.synopses)
        self.merge = Merge(plan, self.synopses)
        self._arrival_tells_apart = any(source.window_rows is not None for source in plan.sources)
        """Whether rows that the query cannot tell apart otherwise meet other rows of a [ROWS n], as they arrive."""
        self.absorbing = Absorbing(plan, self.synopses)
        self.tree = JoinTree(plan, self.matcher, self.closedness, self.clock, across=self.order, absent=absent)
        self.carrying = None if plan.aggregate is None else carrying_of(plan, plan.aggregate, self.matcher, self.tree)
        self.doubted_rows = DoubtedRows(plan, self.synopses, self.closedness, self.watches)
        self.purge_schedule = PurgeSchedule(plan, patience)
        self.intake = Intake(plan)
        self._promised, self._key_ghosts = remembered(self.watches)
        held = CellParts(self.synopses, self.closedness, self.clock, self.watches, self.order, self.tree)
        self.eviction = None if plan.evict is None else Eviction(plan, plan.evict, number, held)
        self._state = State(self)

    def step(self, batch: Batch) -> StepResult:
        """Take in a batch: what it adds to the answer, and what of the state is left."""
        now = UnderWay(batch, Answers({source.alias: source.stream for source in self.plan.sources}))
        for phase in PHASES:
            phase(self, now)
        counted = self._metrics(batch, now.rows, now.purged.counts, now.answers)
        doubted = self.doubted_rows
        metrics = replace(
            counted,
            lost=now.lost,
            contradicted=doubted.contradicted,
            audited=doubted.audited,
            parts=self.clock.told_of_parts,
            oldest=oldest_rows(self.plan, self.synopses, self.closedness),
            clock=self._clocks,
            let_go=now.let_go,
        )
        archived = None if self.eviction is None else self.eviction.archived
        reached = {} if self.doubted_rows.recovers else frontier(self.plan, self.closedness, self.synopses)
        items = [] if self.doubted_rows.recovers else [w for w in self.watches if isinstance(w, ItemWatch)]
        reports = {number: watch.told for number, watch in enumerate(items) if watch.told is not None}
        rows = spread_over_windows(self.plan.aggregate, now.rows)
        return StepResult(rows, metrics, tuple(now.answers.quarantined), reached, archived, reports)

    def admit(self, now: UnderWay) -> None:
        """Let in what the order of ARRIVES BY has come to."""
        self.clock.begin(now.batch.number, is_last=now.batch.is_last, parts=now.batch.parts)
        now.chunks = now.batch.chunks
        if self.gate is not None and self.order is not None:
            self.order.ended = now.batch.is_last
            now.chunks = tuple(self.gate.admit(now.chunks))

    def take_in(self, now: UnderWay) -> None:
        """Store the rows as fresh segments; headers go to the clock and the watches."""
        now.dropped, chunk_of = self.intake.take(now.chunks, self.clock, self.watches, self.synopses)
        self.tree.windows.note_seen()
        self.doubted_rows.bring_back()
        remembered_rows = (self.closedness, self._promised, self._key_ghosts)
        k = {w.promise.constraint: w.k for w in self.watches}
        # What waits for its turn was told of before.
        told = now.batch.frontiers if self.gate is None or not self.gate.rows else {}
        now.step = WatchStep(
            self.clock, self.synopses, self.matcher, now.dropped, chunk_of, *remembered_rows, k, self.order, told
        )

    def breach(self, now: UnderWay) -> None:
        """Answer broken promises; rows that can be in no result are looked at too, and then go."""
        for breach in self.intake.broken_by_null(self.synopses):
            now.answers.answer(breach, self.synopses[breach.alias])
        self._answer_breaches(now, of_all_rows=True)
        self.intake.drop_unmatchable(self.synopses, now.dropped)
        self._answer_breaches(now, of_all_rows=False)
        if now.answers.failed:
            raise PromiseBroken(now.answers.failed)

    def merge_fresh(self, now: UnderWay) -> None:
        """Let one row of the batch stand for those that the query cannot tell from it."""
        if self.carrying is not None:
            derive_fresh(self.plan, self.synopses)
        self.merge.prepare()
        self.absorbing.prepare()
        if not self._arrival_tells_apart:
            now.merged = self.merge.gather() | self.absorbing.gather()

    def join(self, now: UnderWay) -> None:
        """Find what the batch adds to the answer by its matches."""
        if self.doubted_rows.has_late_rows(self.tree):
            now.rows = self._rows([])  # What the batch adds is worked out with its promises made.
            return
        now.rows, now.lost = self._answered(now.batch)
        self.doubted_rows.send_away(self.tree)

    def promise(self, now: UnderWay) -> None:
        """Make the promises of the batch, and mark the rows that they are about."""
        touched: dict[str, list[Ints]] = {}
        met: dict[str, list[Ints]] = {}
        self.clock.settle()
        for watch in self.watches:
            watch.make(now.step)
        self.closedness.ended = now.batch.is_last
        self.closedness.advance()
        for watch in self.watches:
            for alias, ids in watch.learn(now.step).items():
                touched.setdefault(alias, []).append(ids)
            for alias, ids in watch.met().items():
                met.setdefault(alias, []).append(ids)
        now.touched = {alias: np.concatenate(ids) for alias, ids in touched.items()}
        now.met = {alias: np.concatenate(ids) for alias, ids in met.items()}

    def let_go(self, now: UnderWay) -> None:
        """Purge what is useless; add the rows that only now are certain, for they have no match."""
        now.asking = self.purge_schedule.asking(self._stored)
        if self.eviction is not None:
            self.eviction.settle(now.step, now.touched, now.met, now.asking)
        late, done = self.doubted_rows.work_out_anew()
        certain, now.purged = self.tree.settle(now.touched, now.asking, now.met)
        for alias, ids in done.items():
            now.purged.add(alias, SETTLED_RULE, ids)
        now.let_go = let_go_by(self.plan, self.synopses, self.closedness, now.purged)
        if certain:
            now.rows = self._rows([*late, *self.doubted_rows.emit(certain)], now.rows)
            if self.eviction is not None:
                self.eviction.gave(now.rows)

    def fold(self, now: UnderWay) -> None:
        """Merge the rows of the batch with the stored ones; forget promises that nothing needs any more."""
        for alias, ids in now.merged.items():
            now.purged.add(alias, "merged", self.doubted_rows.renumbered(alias, ids))
        if self._arrival_tells_apart:
            for alias, ids in (self.merge.gather() | self.absorbing.gather()).items():
                now.purged.add(alias, "merged", ids)
        self.merge.fold(now.purged)
        self.absorbing.fold(now.purged)
        if not now.batch.is_last:
            self.doubted_rows.keep(now.purged)
        self.purge_schedule.asked(now.asking, self._stored)
        removed = {alias: now.purged.of(alias) for alias in self.plan.aliases}
        for watch in self.watches:
            watch.settle(now.step, removed, self.closedness)

    def evict(self, now: UnderWay) -> None:
        """Drop what the cell's share of the budget cannot hold."""
        if self.eviction is not None:
            self.eviction.make_room(now.purged)
            self.purge_schedule.owed |= self.eviction.needs_full_purge()

    def _answered(self, batch: Batch) -> tuple[Any, int]:
        """What the batch adds by its matches, as rows or groups; and what is known to be lost."""
        if self.carrying is None or not self.carrying.counts_matches:
            found, missed = self.doubted_rows.without_lost(self._joined(batch))
            return self._rows(self.doubted_rows.emit(found)), sum(self._results_in(partial) for partial in missed)
        lost = 0
        if self.doubted_rows.has_shadows:
            lost = sum(self._results_in(partial) for partial in self.doubted_rows.without_lost(self._joined(batch))[1])
            self.doubted_rows.send_away(self.tree)
        if self.eviction is not None:
            self.eviction.join(batch)
        groups = self.carrying.added(self.clock, self.order)
        if self.eviction is not None:
            self.eviction.gave(groups)
        return groups, lost

    def _joined(self, batch: Batch) -> list[Partial]:
        """What the batch adds to the answer by its matches."""
        return self.tree.join() if self.eviction is None else self.eviction.join(batch)

    @property
    def _stored(self) -> int:
        return sum(synopsis.live for synopsis in self.synopses.values())

    def _answer_breaches(self, now: UnderWay, *, of_all_rows: bool) -> None:
        for watch in self.watches:
            if watch.sees_all_rows is of_all_rows:
                for breach in watch.breaches(now.step):
                    if now.answers.answer(breach, self.synopses[breach.alias]):
                        watch.adapt(breach, now.step)
                        self.tree.doubt()
                        if self.eviction is not None:
                            self.eviction.account.due.doubt()

    def _rows(self, partials: list[Partial], beside: Any = None) -> Any:
        """The rows of combinations, and those that were made before."""
        if self.carrying is not None:
            return self.carrying.of_results(partials, beside)
        pieces = [] if beside is None else [beside]
        for partial in partials:
            if (weight := stand_together(self.synopses, partial)) is not None:
                partial = {alias: np.repeat(ids, weight) for alias, ids in partial.items()}  # noqa: PLW2901
            pieces.append(result_rows(self.plan, self.synopses, partial))
        # A stream of which no row is stored has no type, which any other is more than.
        together = pa.concat_tables(pieces, promote_options="default") if pieces else None
        return no_result_rows(self.plan, self.synopses) if together is None else together

    def _results_in(self, partial: Partial) -> int:
        """How many results the combinations stand for."""
        weight = stand_together(self.synopses, partial)
        return len(next(iter(partial.values()))) if weight is None else int(weight.sum())

    def finish(self, now: UnderWay) -> None:  # noqa: ARG002 - a phase
        """Tidy up: what survived of the batch becomes part of the state."""
        self._state.finish()
        self.doubted_rows.finish()
        if self.eviction is not None:
            self.eviction.finish()
        widest: dict[str, int] = {}
        for follows in self.closedness.follows:
            widest[follows.parent_stream] = max(widest.get(follows.parent_stream, 0), follows.reach)
        self.clock.end(widest)
        if self.order is not None:
            needed = {stream: self.order.needed_from(stream) for stream in self.order.places}
            for follows in self.closedness.follows:
                stream = follows.parent_stream
                needed[stream] = min(needed[stream], follows.needed_from(self.order))
            self.order.forget(needed)

    def _metrics(self, batch: Batch, rows: Any, purged: dict[str, int], answers: Answers) -> Metrics:
        read = dict.fromkeys(self.plan.streams, 0)
        for chunk in batch.chunks:
            read[chunk.header.stream] += chunk.header.rows
        ahead = {alias: self._ahead(alias) for alias in self.plan.aliases}
        stored = sum(synopsis.nbytes for synopsis in self.synopses.values())
        waiting = 0 if self.gate is None or self.order is None else self.gate.nbytes + self.order.nbytes
        waiting += self.tree.nbytes
        return Metrics(
            {s.alias: read[s.stream] for s in self.plan.sources},
            rows.num_rows,
            {alias: synopsis.live - ahead[alias][0] for alias, synopsis in self.synopses.items()},
            {
                alias: sum(s.live_at_home for s in synopsis.segments) - ahead[alias][1]
                for alias, synopsis in self.synopses.items()
            },
            0 if self.gate is None else self.gate.rows + sum(home for _, home in ahead.values()),
            sum(w.promise_rows for w in self.watches) + self.doubted_rows.shadows,
            stored + waiting + sum(w.promise_bytes for w in self.watches) + self.doubted_rows.nbytes + self._statistics,
            purged,
            answers.violations,
            {w.promise.constraint: w.k for w in self.watches if w.k is not None},
            None if self.eviction is None else self.eviction.loss,
            {w.promise.constraint: int(w.is_used) for w in self.watches if w.is_used is not None},
        )

    @property
    def _clocks(self) -> dict[str, int]:
        known = {s.alias: self.closedness.low(s.alias, s.event_time) for s in self.plan.sources}
        return {alias: within_64_bits(ticks) for alias, ticks in known.items() if ticks is not None}

    @property
    def _statistics(self) -> int:
        return 0 if self.eviction is None else self.eviction.nbytes

    def _ahead(self, alias: str) -> tuple[int, int]:
        """The stored rows that were read ahead of the slowest stream: copies, and those that are at home here.

        They are stored because answers may have been given with them, but what they wait for is that stream.
        """
        if self.order is None or not self.order.windowed:
            return 0, 0
        settled = self.order.settled(self.plan.by_alias[alias].stream)
        synopsis = self.synopses[alias]
        ids = synopsis.in_range("codes", ORDER, settled, EVERYTHING)
        return len(ids), int(np.count_nonzero(synopsis.gather(ids, lambda s: s.home)))

    def save(self) -> Changes:
        """What changed since the last save."""
        return self._state.save()

    def rest_on(self, entries: Entries) -> None:
        """Hold the rows that were just saved where these entries are."""
        self._state.rest_on(entries)

    @classmethod
    def restore(
        cls,
        plan: Plan,
        entries: Entries,
        patience: Patience = Patience.EAGER,
        absent: Truth = NO_TESTS,
        number: int = 0,
    ) -> Cell:
        """The cell whose state a store holds; a new one if the store is empty."""
        cell = cls(plan, patience, absent, number)
        if entries:
            cell._state.load(entries)
            cell.closedness.advance()
        return cell

    def derive_as(self, other: Cell) -> None:
        """Take over what another cell, of the same state some batches ago, has derived of what is stored here too.

        It costs a look at the values, and saves hashing and ordering them; which cell it is decides nothing.
        """
        for alias, synopsis in self.synopses.items():
            synopsis.derive_as(other.synopses[alias])


PHASES: tuple[Callable[[Cell, UnderWay], None], ...] = (
    Cell.admit,
    Cell.take_in,
    Cell.breach,
    Cell.merge_fresh,
    Cell.join,
    Cell.promise,
    Cell.let_go,
    Cell.fold,
    Cell.evict,
    Cell.finish,
)
"""A step, phase by phase."""
