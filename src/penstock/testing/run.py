"""A run: the cells of a query, their second stage, and what they have saved, moved on step by step.

A step is all or nothing, as on Spark: what it changed is saved when it is done, and if it raises (a promise broken that
is declared ON VIOLATION FAIL) the run goes on from what was saved before it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.analysis.check import check_query
from penstock.compile import parse, query_named, runnable_plan
from penstock.errors import UsageError
from penstock.explain.exactness_words import inexact_because
from penstock.model.script import Script
from penstock.plan.second_stage_budget import bucket_room
from penstock.runtime import Batch, Cell, Changes, GroupStage, Patience, Quarantined, StepResult
from penstock.runtime.counts import (
    combined,
    counts_of,
    metrics_line,
    metrics_of,
    second_counts_of,
    second_stage_of,
    second_vocabulary,
    vocabulary,
    with_second_stage,
)
from penstock.runtime.exactness import Exactness
from penstock.runtime.group.between_stages import deal, together
from penstock.runtime.input.grid import Grid
from penstock.testing.answering import Answering
from penstock.testing.reading import TableReader


@dataclass(frozen=True)
class Step:
    """What one batch gave."""

    rows: Any
    """An Arrow table: what the batch emits, columns as in SELECT."""
    metrics: dict[str, Any]
    """The fields of a line of `run --metrics`."""
    quarantined: tuple[Quarantined, ...] = ()
    """Rows that ON VIOLATION QUARANTINE kept out."""


class Run:
    """A query under way. It is run whether its state is bounded or not: that is for `penstock.check` to say."""

    patience: Patience = Patience.EAGER
    """When stored rows are asked whether they can go."""

    def __init__(self, script: str | Script, query: str | None = None, cells: int = 1) -> None:
        if cells < 1:
            raise UsageError(f"a query runs on at least 1 cell, not on {cells}")
        self.query = query_named(parse(script) if isinstance(script, str) else script, query)
        self.plan = runnable_plan(self.query, check_query(self.query), allow_unbounded=True)
        self._answering = Answering(self.query, self.plan)
        self._grid = Grid.of(self.plan, cells)
        self._reading = TableReader(self.query, self.plan, self._grid)
        self._stage = second_stage_of(self.plan)
        self._number = 0
        self._exactness = Exactness()
        self._stores: list[dict[str, bytes]] = []
        self._cells: list[Cell] = []
        self._buckets: list[GroupStage] = []
        self._given: list[StepResult] = []
        """What each cell gave in the last step."""
        self._changes: list[Changes] = []
        """What the last step changed in each store."""
        self.restart()

    def step(self, tables: Mapping[str, Any]) -> Step:
        """One batch: Arrow tables by stream, with the columns that the stream declares; streams left out bring nothing.

        The rows of a table arrive in its order.
        """
        return self._step(tables, is_last=False)

    def end(self) -> Step:
        """The end of every stream, as `run --final`: what waits is decided, and no more is taken in."""
        return self._step({}, is_last=True)

    def restart(self) -> None:
        """Forget everything but what was saved, and go on from that."""
        numbers = range(self._grid.cells)
        saved = self._stores or [{} for _ in (*numbers, *(numbers if self._stage is not None else ()))]
        self._stores = saved
        absent = self._reading.absent
        self._cells = [Cell.restore(self.plan, saved[n], self.patience, absent, n) for n in numbers]
        self._buckets = [self._bucket(n, saved[self._grid.cells + n]) for n in numbers if self._stage is not None]

    def _bucket(self, number: int, saved: dict[str, bytes]) -> GroupStage:
        room = bucket_room(self.plan, number, self._grid.cells)
        return GroupStage.restore(self._answering.plan, saved, room, is_first=number == 0)

    def _step(self, tables: Mapping[str, Any], *, is_last: bool) -> Step:
        began = time.perf_counter()
        pieces = self._reading.read(tables)
        try:
            given = [
                cell.step(Batch(self._number, tuple(piece.chunk(n) for piece in pieces), is_last=is_last))
                for n, cell in enumerate(self._cells)
            ]
            arrays = [counts_of(self.plan, result.metrics) for result in given]
            known = metrics_of(self.plan, combined(vocabulary(self.plan), arrays))
            rows = [self._answering.typed(result.rows) for result in given if result.rows.num_rows]
            if self._stage is not None:
                rows, counts = self._second(rows, given, is_last=is_last)
                known = with_second_stage(self._stage, known, combined(second_vocabulary(self._stage), counts))
        except Exception:
            self.restart()
            raise
        self._save()
        self._given = given
        answer = self._answering.answer(pa.concat_tables(rows, promote_options="default") if rows else pa.table({}))
        known["rows_out"] = answer.num_rows
        line = metrics_line(self.query.name, self._number, known, time.perf_counter() - began)
        self._exactness = self._exactness.then(self.plan, line)
        line |= {"exact": self._exactness.is_exact, "inexact_because": list(inexact_because(self._exactness))}
        self._number += 1
        return Step(answer, line, tuple(kept for result in given for kept in result.quarantined))

    def _second(self, rows: list[Any], given: list[StepResult], *, is_last: bool) -> tuple[list[Any], list[list[int]]]:
        """What the second stage makes of the rows of all cells, and the counts of its buckets."""
        buckets = len(self._buckets)
        dealt: list[list[Any]] = [[] for _ in range(buckets)]
        for table in map(self._answering.between, rows):
            for bucket, share in deal(table, buckets, self._answering.groups):
                dealt[bucket].append(share)
        told: dict[int, list[Any]] = {}
        for result in given:
            for number, report in result.reports.items():
                told.setdefault(number, []).append(report)
        least, reports = together([result.frontier for result in given], told, len(given))
        found: list[Any] = []
        counts: list[list[int]] = []
        for stage, shares in zip(self._buckets, dealt, strict=True):
            table = pa.concat_tables(shares) if shares else pa.table({})
            made = stage.step(self._number, table, least, reports, is_last=is_last)
            found += [made.rows] if made.rows.num_rows else []
            counts.append(second_counts_of(made.rows.num_rows, made.lost, stage))
        return found, counts

    def _save(self) -> None:
        self._changes = [*(cell.save() for cell in self._cells), *(bucket.save() for bucket in self._buckets)]
        for store, changes in zip(self._stores, self._changes, strict=True):
            for key in changes.delete:
                store.pop(key, None)
            store.update(changes.put)
