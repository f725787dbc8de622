"""Recall against budget, measured: the core run over the first rows of the data, once for each budget.

The rows of all streams are cut into batches at common instants of event time, where all streams of the query have one,
else in proportion. The whole answer over these rows is had by running without a budget, and the share of it that each
budget keeps by running with it: this engine, this policy, these rows. Where the query joins two streams and counts no
rows, the best that any policy could keep stands beside it: SHED's offline optimum (`penstock.offline`), same batches. A
budget in bytes is for it as many rows as would fit if all were as light as those of the lighter stream.

What it says is about these rows: where nothing lets rows go, more rows need more room for the same recall. Under
DISTINCT and GROUP BY it is about the results of the join, in the room that they leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.model.script import Script
from penstock.offline import optimal_general
from penstock.plan.aggregate import COUNT
from penstock.plan.evict import BYTES
from penstock.plan.plan import Plan
from penstock.plan.runnable import obstacles
from penstock.plan.second_stage_budget import second_room
from penstock.runtime import Batch, Cell, Chunk, Truth
from penstock.runtime.columns.codes import ticks
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.intake import Intake
from penstock.runtime.match.delta_join import delta_join
from penstock.runtime.match.matching import Matcher
from penstock.runtime.match.node_matching import NO_TESTS
from penstock.runtime.state.synopsis import Synopsis

BATCHES = 40
WANTED = 0.95
MOST_FOR_OPTIMUM = 6_000
"""Rows of both streams beyond which the optimum is not asked for: its time grows with their product."""

Ints = npt.NDArray[np.int64]
ChunkOf = Callable[[Plan, str, Any], Chunk]


@dataclass(frozen=True)
class Point:
    """A budget, the share of the answer that it keeps, and the best possible share; None where it is not known."""

    budget: int
    recall: float
    best: float | None


@dataclass(frozen=True)
class Curve:
    """Recall against budget over some rows."""

    query: str
    rows: int
    unit: str
    budget: int
    points: tuple[Point, ...]
    enough: int
    """The least budget tried that keeps WANTED of the answer."""

    def lines(self) -> list[str]:
        """The curve in words."""
        own = self.own
        best = "" if own.best is None else f"; the best possible at this budget is {own.best:.0%}"
        kept = f"over the first {self.rows:,} rows you keep {own.recall:.0%}{best}"
        lines = [
            "",
            f"{self.query}: recall against budget",
            f"  {kept}; {WANTED:.0%} needs {self._told(self.enough)}",
        ]
        for point in self.points:
            beside = "" if point.best is None else f", best possible {point.best:.1%}"
            lines.append(f"  {self._told(point.budget)}: {point.recall:.1%}{beside}")
        return lines

    def _told(self, budget: int) -> str:
        if self.unit != "bytes":
            return f"{budget:,} {self.unit}"
        unit = next((unit for unit in ("GB", "MB") if budget >= BYTES[unit]), "KB")
        return f"{budget / BYTES[unit]:,.1f} {unit}"

    @property
    def own(self) -> Point:
        """The point of the query's own budget."""
        return next(point for point in self.points if point.budget == self.budget)


class Rehearsal:
    """Rows cut into batches, and the plan run over them."""

    def __init__(self, plan: Plan, tables: Mapping[str, Any], chunk_of: ChunkOf, absent: Truth = NO_TESTS) -> None:
        self.plan = plan
        self.absent = absent
        self.tables = tables
        self.chunk_of = chunk_of
        self.cuts = _cuts(plan, tables)
        self.lightest = float("inf")
        """The bytes of a stored row, of the stream whose rows take least."""
        self.due, self.peak = self._run(replace(plan, evict=None))

    def _run(self, plan: Plan) -> tuple[int, int]:
        """Results, and the most that was held after any batch, in the unit of the budget."""
        cell, found, most = Cell(plan, absent=self.absent), 0, 0
        assert self.plan.evict is not None
        for number in range(BATCHES):
            result = cell.step(Batch(number, self._chunks(plan, number)))
            metrics = result.metrics
            held = sum(metrics.state_rows.values()) + metrics.promise_rows
            most = max(most, held if self.plan.evict.rows else metrics.state_bytes)
            found += result.rows.num_rows if plan.aggregate is None else int(result.rows.column(COUNT).to_numpy().sum())
            if plan.evict is None:
                self._weigh(cell)
        return found, most

    def _weigh(self, cell: Cell) -> None:
        for synopsis in cell.synopses.values():
            rows = sum(len(segment) for segment in synopsis.segments)
            if rows:
                self.lightest = min(self.lightest, sum(segment.nbytes() for segment in synopsis.segments) / rows)

    def _chunks(self, plan: Plan, number: int) -> tuple[Chunk, ...]:
        found = []
        for stream in plan.streams:
            first, last = self.cuts[stream][number : number + 2]
            found.append(self.chunk_of(plan, stream, self.tables[stream].slice(first, last - first)))
        return tuple(found)

    def recall(self, budget: int) -> float:
        """The share of the answer that a budget keeps."""
        found, _ = self._run(self._with(budget))
        return found / self.due if self.due else 1.0

    def _with(self, budget: int) -> Plan:
        """The plan under another budget."""
        evict = self.plan.evict
        assert evict is not None
        tried = replace(evict, rows=budget) if evict.rows is not None else replace(evict, bytes=budget)
        return replace(self.plan, evict=replace(tried, archive=None))

    def _rows_in(self, budget: int) -> int:
        """The rows of the join for which a budget has room, at most."""
        plan = self._with(budget)
        assert plan.evict is not None
        left = budget - second_room(plan)
        return left if plan.evict.rows is not None else int(left / self.lightest)

    def best(self, budgets: Sequence[int]) -> list[float | None]:
        """The greatest share that any policy could keep with so many rows, where that can be asked."""
        evict = self.plan.evict
        askable = (
            evict is not None
            and len(self.plan.sources) == 2
            and self.plan.inner
            and not self.plan.rows_windowed
            and sum(table.num_rows for table in self.tables.values()) <= MOST_FOR_OPTIMUM
        )
        if not askable or not self.due:
            return [None] * len(budgets)
        steps, pairs = self._pairs()
        left, right = (np.arange(len(step)) for step in steps)
        codes = np.sort(pairs[0] * (len(right) + 1) + pairs[1])

        def joins(r: Ints, s: Ints) -> Any:
            return np.isin(r * (len(right) + 1) + s, codes)

        rows = [self._rows_in(budget) for budget in budgets]
        found = [
            optimal_general(left, right, None, room, "variable", r_steps=steps[0], s_steps=steps[1], joins=joins)
            for room in rows
        ]
        return [results / self.due for results in found]

    def _pairs(self) -> tuple[list[Ints], list[Ints]]:
        """Of the two sources, the batch of each row of its stream, and the rows of each pair that is a result."""
        plan = replace(self.plan, evict=None)
        batches = [self._chunks(plan, number) for number in range(BATCHES)]
        sizes = {
            stream: [sum(c.header.rows for c in chunks if c.header.stream == stream) for chunks in batches]
            for stream in plan.streams
        }
        synopses = {source.alias: Synopsis(source.kept) for source in plan.sources}
        clock, intake = Clock(plan), Intake(plan)
        clock.begin(0)
        dropped, _ = intake.take([chunk for chunks in batches for chunk in chunks], clock, (), synopses)
        intake.drop_unmatchable(synopses, dropped)
        found = delta_join(plan, Matcher(plan, synopses), clock, None, plan.tree.root.asked)
        rows = []
        for alias in plan.aliases:
            arrivals = [synopses[alias].gather(partial[alias], lambda s: s.arrival) for partial in found]
            rows.append(np.concatenate([np.zeros(0, np.int64), *arrivals]))
        return [np.repeat(np.arange(BATCHES), sizes[s.stream]) for s in plan.sources], rows


def draw(rehearsal: Rehearsal, say: Callable[[str], None]) -> Curve:
    """The curve around the query's own budget, and the budget that keeps nearly all."""
    evict = rehearsal.plan.evict
    assert evict is not None
    budgets = sorted({max(1, evict.limit * n // 4) for n in (1, 2, 4, 8)} | {evict.limit})
    budgets = [budget for budget in budgets if budget <= max(2 * rehearsal.peak, evict.limit)]
    recalls: dict[int, float] = {}

    def recall(budget: int) -> float:
        if budget not in recalls:
            say(f"trying a budget of {budget:,} {evict.unit}")
            recalls[budget] = rehearsal.recall(budget)
        return recalls[budget]

    kept = [recall(budget) for budget in budgets]
    # A second stage may have half of it.
    most = 2 * rehearsal.peak + 2 if second_room(rehearsal.plan) else rehearsal.peak
    enough = _least(recall, max(1, most))
    say("asking for the best possible")
    best = rehearsal.best(budgets)
    points = tuple(Point(*point) for point in zip(budgets, kept, best, strict=True))
    rows = sum(table.num_rows for table in rehearsal.tables.values())
    return Curve(rehearsal.plan.query, rows, evict.unit, evict.limit, points, enough)


def _least(recall: Callable[[int], float], most: int) -> int:
    """The least budget, to a sixteenth of the largest one asked for, that keeps WANTED; `most` keeps all."""
    low, high = 0, most
    for _ in range(5):
        middle = (low + high) // 2
        if middle in (low, high):
            break
        low, high = (low, middle) if recall(middle) >= WANTED else (middle, high)
    return high


def curves_of(script: Script, plans: Sequence[Plan], rows: int, say: Callable[[str], None]) -> list[Curve]:
    """The curve of each query that has a budget and can be run, from so many rows of each of its streams."""
    # Only who asks for a curve pays for Spark.
    from penstock.spark.asked_before import worth_of_absence  # noqa: PLC0415
    from penstock.spark.failures import quiet_errors  # noqa: PLC0415
    from penstock.spark.sampled import chunk_of, first_rows  # noqa: PLC0415
    from penstock.spark.session import start_session  # noqa: PLC0415

    runnable = [p for q, p in zip(script.queries, plans, strict=True) if p.evict is not None and not obstacles(q)]
    if not runnable:
        raise UsageError("no query of the script has a BUDGET that can be run", hint="add /*+ BUDGET(n ROWS) */")
    say("reading the first rows; Spark takes some ten seconds to start …")
    quiet_errors()
    spark = start_session("penstock", {})
    return [
        draw(Rehearsal(plan, first_rows(spark, script, plan, rows), chunk_of, worth_of_absence(spark, plan)), say)
        for plan in runnable
    ]


def _cuts(plan: Plan, tables: Mapping[str, Any]) -> dict[str, Ints]:
    """By stream, where each batch begins, and where the last ends."""
    times = {source.stream: source.event_time for source in plan.sources}
    kept = {s.stream: s.event_time in {c.name for c in s.read} for s in plan.sources}
    instants: dict[str, Any] = {}
    for stream, table in tables.items():
        column = times[stream]
        if all(kept.values()) and column is not None and table.num_rows:
            instants[stream] = np.maximum.accumulate(ticks(table.column(column).combine_chunks()))
        else:
            instants[stream] = np.linspace(0, 1, table.num_rows) if table.num_rows else np.zeros(0)
    together = np.concatenate(list(instants.values()))
    marks = np.quantile(together, np.linspace(0, 1, BATCHES + 1)[1:]) if len(together) else np.zeros(BATCHES)
    return {s: np.concatenate([[0], np.searchsorted(at, marks, "right")]) for s, at in instants.items()}
