"""A cell: the whole query over a share of the rows. The driver; the work is done by the modules it calls.

A step: store the batch as fresh segments, answer broken promises, join, make promises, purge, forget promises, tidy up.
Where rows are merged, those of the batch are before the join, and with the stored ones after the purge. Under a budget,
what the cell's share of it cannot hold is evicted at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT
from penstock.plan.plan import Plan
from penstock.runtime.aggregate.absorbing import Absorbing
from penstock.runtime.aggregate.derived import derive_fresh, derived_columns
from penstock.runtime.aggregate.outer_matches import carrying_of
from penstock.runtime.arrival_order import EVERYTHING, ArrivalOrder
from penstock.runtime.batch import Batch, Metrics, StepResult
from penstock.runtime.clock import Clock
from penstock.runtime.closing import Closing
from penstock.runtime.codes import Ints
from penstock.runtime.delta_join import delta_join
from penstock.runtime.discarded.aside import Aside
from penstock.runtime.evict.eviction import Eviction, Held
from penstock.runtime.frontier import frontier
from penstock.runtime.gate import Gate
from penstock.runtime.intake import Intake
from penstock.runtime.matching import Matcher, Partial
from penstock.runtime.merge import BUCKET, Merge
from penstock.runtime.needs import ORDER, hidden_columns
from penstock.runtime.outer.node_matching import NO_TESTS, Truth
from penstock.runtime.outer.outer_join import OuterJoin
from penstock.runtime.outer.rows import values
from penstock.runtime.patience import Patience, Patient
from penstock.runtime.promises import remembered, watches_of
from penstock.runtime.promises.items import ItemWatch
from penstock.runtime.promises.watch import Step
from penstock.runtime.purge import Purge
from penstock.runtime.state.component import Component, State
from penstock.runtime.store import Changes, Entries
from penstock.runtime.synopsis import Synopsis
from penstock.runtime.violations import Answers


class Cell(Component):
    """The state of one cell, and the step that moves it on."""

    tables = ("synopses",)
    parts = ("clock", "gate", "watches", "outer", "aside", "patient", "purge", "eviction")

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
                    *((BUCKET,) if s.merge is not None else ()),
                )
            )
            for s in plan.sources
        }
        self.order = ArrivalOrder(plan) if plan.in_arrival_order else None
        self.gate = Gate(plan, self.order) if self.order is not None else None
        self.watches = watches_of(plan)
        self.clock = Clock(plan)
        self.closing = Closing(plan, self.clock, self.watches, self.order)
        self.matcher = Matcher(plan, self.synopses)
        self.merge = Merge(plan, self.synopses)
        self.absorbing = Absorbing(plan, self.synopses)
        self.purge = Purge(plan, self.matcher, self.closing, self.clock, self.order)
        self.outer = OuterJoin(plan, self.synopses, self.closing, self.clock, absent) if plan.outer else None
        self.carrying = None if plan.aggregate is None else carrying_of(plan, plan.aggregate, self.matcher, self.outer)
        self.aside = Aside(plan, self.synopses, self.closing, self.watches)
        self.patient = Patient(plan, patience)
        self.intake = Intake(plan)
        self._promised, self._key_ghosts = remembered(self.watches)
        held = Held(
            self.synopses, self.matcher, self.closing, self.clock, self.watches, self.merge, self.order, self.outer
        )
        evict = plan.evict if plan.outer is None or plan.outer.is_pair else None
        self.eviction = None if evict is None else Eviction(plan, evict, number, held)
        self._state = State(self)

    def step(self, batch: Batch) -> StepResult:
        """Take in a batch: what it adds to the answer, and what of the state is left."""
        self.clock.begin(batch.number)
        chunks = batch.chunks if self.gate is None else self.gate.admit(batch.chunks)
        dropped, chunk_of = self.intake.take(chunks, self.clock, self.watches, self.synopses)
        self.aside.bring_back()
        remembered_rows = (self.closing, self._promised, self._key_ghosts)
        k = {w.promise.constraint: w.k for w in self.watches}
        step = Step(self.clock, self.synopses, self.matcher, dropped, chunk_of, *remembered_rows, k, self.order)
        answers = Answers({source.alias: source.stream for source in self.plan.sources})
        for breach in self.intake.null_keys(self.synopses):
            answers.answer(breach, self.synopses[breach.alias])
        self._answer_breaches(step, answers, of_all_rows=True)
        self.intake.drop_unmatchable(self.synopses, dropped)
        self._answer_breaches(step, answers, of_all_rows=False)
        if self.carrying is not None:
            derive_fresh(self.plan, self.synopses)
        merged = self.merge.gather() | self.absorbing.gather()
        found, rows, lost = self._answered(batch)
        self.aside.send_away()
        marked: dict[str, list[Ints]] = {}
        met: dict[str, list[Ints]] = {} if self.outer is None else marked
        for watch in self.watches:
            watch.make(step)
        self.closing.advance()
        for watch in self.watches:
            for alias, ids in watch.learn(step).items():
                marked.setdefault(alias, []).append(ids)
            for alias, ids in watch.met().items():
                met.setdefault(alias, []).append(ids)
        asking = self.patient.asking(self._stored)
        touched = {alias: np.concatenate(ids) for alias, ids in marked.items()}
        if self.outer is None:
            purged = self.purge.run(touched, asking, {alias: np.concatenate(ids) for alias, ids in met.items()})
        else:
            certain, purged = self.outer.settle(touched)
            rows = self._rows([*found, certain], rows)
            if self.eviction is not None:
                self.eviction.gave(rows)
        for alias, ids in merged.items():
            purged.add(alias, "merged", self.aside.renumbered(alias, ids))
        self.merge.fold(purged)
        self.absorbing.fold(purged)
        self.aside.keep(purged)
        self.patient.asked(asking, self._stored)
        removed = {alias: purged.of(alias) for alias in self.plan.aliases}
        for watch in self.watches:
            watch.settle(step, removed, self.closing)
        if self.eviction is not None:
            self.eviction.make_room(step, purged)
            self.patient.owed |= self.eviction.needs_full_purge()
        self._finish()
        metrics = replace(self._metrics(batch, rows, purged.counts, answers), lost=lost)
        archived = None if self.eviction is None else self.eviction.archived
        reached = {} if self.aside.recovers else frontier(self.plan, self.closing, self.synopses)
        items = [] if self.aside.recovers else [w for w in self.watches if isinstance(w, ItemWatch)]
        reports = {number: watch.told for number, watch in enumerate(items) if watch.told is not None}
        return StepResult(rows, metrics, tuple(answers.quarantined), reached, archived, reports)

    def _answered(self, batch: Batch) -> tuple[list[Partial], Any, int]:
        """What the batch adds: the combinations, as far as they are made; rows or groups; what is known to be lost.

        Under outer joins rows are made later, with those that have no match.
        """
        if self.carrying is None or not self.carrying.counts_matches:
            found, missed = self.aside.without_lost(self._joined(batch))
            rows = self._rows(found) if self.outer is None else None
            return found, rows, sum(self._copies(partial) for partial in missed)
        lost = 0
        if self.aside.has_shadows:
            lost = sum(self._copies(partial) for partial in self.aside.without_lost(self._joined(batch))[1])
            self.aside.send_away()
        if self.eviction is not None:
            self.eviction.join(batch)
        groups = self.carrying.added(self.clock, self.order)
        if self.eviction is not None:
            self.eviction.gave(groups)
        return [], groups, lost

    def _joined(self, batch: Batch) -> list[Partial]:
        """What the batch adds to the answer by its matches."""
        if self.eviction is not None:
            return self.eviction.join(batch)
        if self.outer is not None:
            return [self.outer.join()]
        return delta_join(self.plan, self.matcher, self.clock, self.order)

    @property
    def _stored(self) -> int:
        return sum(synopsis.live for synopsis in self.synopses.values())

    def _answer_breaches(self, step: Step, answers: Answers, *, of_all_rows: bool) -> None:
        for watch in self.watches:
            if watch.sees_all_rows is of_all_rows:
                for breach in watch.breaches(step):
                    if answers.answer(breach, self.synopses[breach.alias]):
                        watch.adapt(breach, step)
                        self.purge.doubt()

    def _rows(self, partials: list[Partial], groups: Any = None) -> Any:
        if self.carrying is not None:
            return self.carrying.of_results(partials, groups)
        pieces = []
        for partial in partials:
            if (copies := self.merge.copies(partial)) is not None:
                partial = {alias: np.repeat(ids, copies) for alias, ids in partial.items()}  # noqa: PLW2901
            columns = {o.name: values(self.synopses[o.alias], o.column, partial[o.alias]) for o in self.plan.outputs}
            pieces.append(pa.table(columns))
        if pieces:
            return pa.concat_tables(pieces)
        kinds = [(o.name, self.synopses[o.alias].kind(o.column) or pa.null()) for o in self.plan.outputs]
        return pa.schema(kinds).empty_table()

    def _copies(self, partial: Partial) -> int:
        """How many results the combinations stand for."""
        copies = self.merge.copies(partial)
        for alias, ids in partial.items():
            if COUNT in self.synopses[alias].columns:
                own = self.synopses[alias].arrow(COUNT, ids).to_numpy(zero_copy_only=False)
                copies = own if copies is None else copies * own
        return len(next(iter(partial.values()))) if copies is None else int(copies.sum())

    def _finish(self) -> None:
        self._state.finish()
        if self.eviction is not None:
            self.eviction.finish()
        widest: dict[str, int] = {}
        for follows in self.closing.follows:
            widest[follows.parent_stream] = max(widest.get(follows.parent_stream, 0), follows.reach)
        self.clock.end(widest)
        if self.order is not None:
            needed = {stream: self.order.needed_from(stream) for stream in self.order.places}
            for follows in self.closing.follows:
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
        waiting += 0 if self.outer is None else self.outer.nbytes
        return Metrics(
            {s.alias: read[s.stream] for s in self.plan.sources},
            rows.num_rows,
            {alias: synopsis.live - ahead[alias][0] for alias, synopsis in self.synopses.items()},
            {
                alias: sum(s.live_at_home for s in synopsis.segments) - ahead[alias][1]
                for alias, synopsis in self.synopses.items()
            },
            0 if self.gate is None else self.gate.rows + sum(home for _, home in ahead.values()),
            sum(w.promise_rows for w in self.watches) + self.aside.shadows,
            stored + waiting + sum(w.promise_bytes for w in self.watches) + self.aside.nbytes + self._statistics,
            purged,
            answers.violations,
            {w.promise.constraint: w.k for w in self.watches if w.k is not None},
            None if self.eviction is None else self.eviction.loss,
            {w.promise.constraint: int(w.is_used) for w in self.watches if w.is_used is not None},
        )

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
            cell.closing.advance()
        return cell
