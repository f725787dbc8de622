"""One block of a run: its cells, its second stage, and what they have saved, moved on step by step.

A block is given the rows that its streams bring, and of a stream that another block gives the frontier with them; it
gives rows, and how far its own answer has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.analysis.finding import Verdict
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.plan.planner import as_run
from penstock.plan.second_stage_budget import bucket_room
from penstock.runtime import Batch, Cell, Changes, GroupStage, Patience, PromiseBroken, StepResult
from penstock.runtime.counts import (
    combined,
    counts_of,
    metrics_of,
    second_counts_of,
    second_stage_of,
    second_vocabulary,
    vocabulary,
    with_second_stage,
)
from penstock.runtime.group.between_stages import deal, together
from penstock.runtime.input.grid import Grid
from penstock.runtime.join.frontier import answer_frontier
from penstock.runtime.promise.violations import BrokenRows
from penstock.runtime.redeal import grid_for, redealt_buckets, redealt_cells, require_dealt
from penstock.testing.answering import Answering
from penstock.testing.reading import TableReader


@dataclass(frozen=True)
class BlockStep:
    """What one batch gave."""

    rows: Any
    """An Arrow table, columns as in SELECT."""
    frontier: Mapping[str, int]
    """By column of the answer: no later batch emits one below it, in ticks."""
    known: dict[str, Any]
    """The fields of its metrics."""
    given: tuple[StepResult, ...]
    """What each cell gave."""


class BlockRun:
    """A block under way."""

    def __init__(self, query: Query, verdict: Verdict, plan: Plan, cells: int, patience: Patience) -> None:
        self.query = query
        self.as_run = as_run(query, verdict)
        self.plan = plan
        self.patience = patience
        self.answering = Answering(query, plan)
        self.grid = Grid.of(plan, cells)
        self.reading = TableReader(query, self.as_run, plan, self.grid)
        self._stage = second_stage_of(plan)
        self.stores: list[dict[str, bytes]] = []
        self.cells: list[Cell] = []
        self.buckets: list[GroupStage] = []
        self.changes: list[Changes] = []
        """What the last step changed in each store."""
        self.restart()

    def restart(self) -> None:
        """Forget everything but what was saved, and go on from that."""
        numbers = range(self.grid.cells)
        saved = self.stores or [{} for _ in (*numbers, *(numbers if self._stage is not None else ()))]
        self.stores = saved
        absent = self.reading.absent
        self.cells = [Cell.restore(self.plan, saved[n], self.patience, absent, n) for n in numbers]
        self.buckets = [self._bucket(n, saved[self.grid.cells + n]) for n in numbers if self._stage is not None]

    def rescale(self, cells: int) -> None:
        """Deal what was saved to another number of cells, and go on with them, as `penstock rescale` does."""
        before = self.grid.cells
        first, second = self.stores[:before], self.stores[before:]
        grid = grid_for(self.plan, cells, first)
        require_dealt(self.plan, (self.grid, grid))
        self.stores = redealt_cells(self.plan, first, self.grid, grid)
        if second:
            self.stores += redealt_buckets(self.answering.plan, second, grid.cells, self.answering.groups)
        self.grid = grid
        self.reading = TableReader(self.query, self.as_run, self.plan, grid)
        self.restart()

    def _bucket(self, number: int, saved: dict[str, bytes]) -> GroupStage:
        room = bucket_room(self.plan, number, self.grid.cells)
        return GroupStage.restore(self.answering.plan, saved, room, is_first=number == 0)

    def step(
        self,
        number: int,
        tables: Mapping[str, Any],
        frontiers: Mapping[str, Mapping[str, int]],
        *,
        parts: Mapping[str, tuple[str | None, ...]],
        is_last: bool,
    ) -> BlockStep:
        """One batch: what its streams bring, their parts that are named, and how far those have come of blocks."""
        pieces = self.reading.read(tables)
        given, broken = [], list[BrokenRows]()
        for n, cell in enumerate(self.cells):
            try:
                given.append(
                    cell.step(Batch(number, tuple(p.chunk(n) for p in pieces), 1.0, is_last, frontiers, parts))
                )
            except PromiseBroken as error:
                broken += error.broken
        if broken:
            raise PromiseBroken(broken)
        arrays = [counts_of(self.plan, result.metrics) for result in given]
        known = metrics_of(self.plan, combined(vocabulary(self.plan), arrays))
        rows = [self.answering.typed(result.rows) for result in given if result.rows.num_rows]
        reached, _ = together([result.frontier for result in given], {}, len(given))
        if self._stage is not None:
            rows, counts = self._second(number, rows, given, is_last=is_last)
            known = with_second_stage(self._stage, known, combined(second_vocabulary(self._stage), counts))
            reached, _ = together([bucket.reached for bucket in self.buckets], {}, len(self.buckets))
        answer = self.answering.answer(pa.concat_tables(rows, promote_options="default") if rows else pa.table({}))
        known["rows_out"] = answer.num_rows
        return BlockStep(answer, answer_frontier(self.plan, reached), known, tuple(given))

    def _second(
        self, number: int, rows: list[Any], given: list[StepResult], *, is_last: bool
    ) -> tuple[list[Any], list[list[int]]]:
        """What the second stage makes of the rows of all cells, and the counts of its buckets."""
        buckets = len(self.buckets)
        dealt: list[list[Any]] = [[] for _ in range(buckets)]
        for table in map(self.answering.between, rows):
            for bucket, share in deal(table, buckets, self.answering.groups, self.answering.sets):
                dealt[bucket].append(share)
        told: dict[int, list[Any]] = {}
        for result in given:
            for closer, report in result.reports.items():
                told.setdefault(closer, []).append(report)
        least, reports = together([result.frontier for result in given], told, len(given))
        found: list[Any] = []
        counts: list[list[int]] = []
        for stage, shares in zip(self.buckets, dealt, strict=True):
            table = pa.concat_tables(shares) if shares else pa.table({})
            made = stage.step(number, table, least, reports, is_last=is_last)
            found += [made.rows] if made.rows.num_rows else []
            counts.append(second_counts_of(made.rows.num_rows, made.lost, stage))
        return found, counts

    def save(self) -> None:
        """Save what the step changed."""
        self.changes = [*(cell.save() for cell in self.cells), *(bucket.save() for bucket in self.buckets)]
        for store, changes in zip(self.stores, self.changes, strict=True):
            for key in changes.delete:
                store.pop(key, None)
            store.update(changes.put)
