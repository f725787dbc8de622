"""MEMORY, section 8.2: grouped queries that the check admits run in constant state (Example 8.7, grouped Table I).

Random queries that MEMORY admits run on random batches, with restarts, against plain aggregation of the full history;
what is stored never exceeds the bound that `check` states.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.plan.aggregating import grouping_obstacles
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import unkept_bounds
from penstock.runtime import Batch, Cell, Chunk, GroupStage, given_name
from tests.analysis.test_memory_lto import built, plain_query
from tests.measure import size
from tests.runtime.aggregates import Run, check_running
from tests.runtime.reference import Arrived, History, _agree

PAPER = "CREATE STREAM s (a BIGINT, b BIGINT); CREATE STREAM t (c BIGINT);"
EXAMPLE_8_7 = (
    f"{PAPER} SELECT s.a, t.c, sum(s.b) AS total FROM s, t "
    "WHERE s.a < 20 AND t.c < 20 AND s.a > 10 AND t.c > 10 GROUP BY s.a, t.c;"
)


@dataclass
class Rows:
    """Random rows of integers for each stream of a query, batch by batch; filters are evaluated here."""

    query: Query
    history: History
    batches: int

    @classmethod
    def drawn(cls, query: Query, draw: random.Random) -> Rows:
        batches = draw.randint(2, 5)
        history: History = {s.stream.name: [] for s in query.all_sources}
        for number in range(batches):
            for source in query.all_sources:
                rows = history[source.stream.name]
                for _ in range(draw.choice((0, 2, 5, 8))):
                    values = {c.name: draw.choice((None, *range(3, 10))) for c in source.stream.columns}
                    rows.append(Arrived(number, len(rows), values))
        return cls(query, history, batches)

    def batch(self, plan: Plan, number: int) -> Batch:
        chunks = []
        for source in self.query.all_sources:
            rows = [a for a in self.history[source.stream.name] if a.batch == number]
            names = [c.name for c in source.stream.columns]
            table = pa.table({name: pa.array([a.values[name] for a in rows], pa.int64()) for name in names})
            passes = pa.array([self._passes(source.alias, row) for row in rows], pa.bool_())
            chunks.append(Chunk.of(plan, source.stream.name, 0, table, {source.alias: passes}))
        return Batch(number, tuple(chunks))

    def _passes(self, alias: str, row: Arrived) -> bool:
        single = [p for p in self.query.predicates if aliases_of(p) == {alias}]
        return not single or _agree(self.query, {alias: row}, alias)


@pytest.mark.measure
def test_random_admitted_groups_are_those_of_the_full_history_in_constant_state() -> None:
    draw = random.Random("merge grouped")
    tried = given = merged = refused = 0
    while tried < size(20, 2000):
        query = built(plain_query(draw, False, grouped=True))
        verdict = check_query(query)
        if verdict.memory.bounded is not True or verdict.memory.never or len(query.all_sources) < 2:
            continue
        run = Run(query, restarts=True)
        assert [*grouping_obstacles(query)] == []
        if unkept := unkept_bounds(run.plan):
            assert all("keeps apart, which cannot be done yet" in text for text in unkept), unkept
            refused += 1
            continue
        tried += 1
        assert all(source.merge is not None for source in run.plan.sources)
        rows = Rows.drawn(query, draw)
        given += check_running(run, rows)
        stored = sum(run.stored.values())
        merged += sum(len(arrived) for arrived in rows.history.values()) > stored
        bound = verdict.streams[-1].finding
        assert isinstance(bound, Bounded)
        assert bound.rows is not None
        assert sum(stage.live for stage in run.stages) <= bound.rows
    assert given > tried // 3
    assert merged > tried // 2
    assert refused <= tried // 20


def test_example_8_7_step_by_step() -> None:
    (query,) = penstock.parse(EXAMPLE_8_7).queries
    run = Run(query, restarts=True)
    assert unkept_bounds(run.plan) == ()

    def step(number: int, s: list[tuple[int, int]], t: list[int]) -> dict[Any, Any]:
        rows = pa.table({"a": pa.array([a for a, _ in s], pa.int64()), "b": pa.array([b for _, b in s], pa.int64())})
        others = pa.table({"c": pa.array(t, pa.int64())})
        chunks = (Chunk.of(run.plan, "s", number, rows), Chunk.of(run.plan, "t", number, others))
        return dict(run.step(Batch(number, chunks)))

    assert step(0, [(11, 100), (11, 5), (12, 7)], []) == {}
    # A new T tuple: for each v the sum of v is added to the group A = v, C = c.
    assert step(1, [], [15]) == {(11, 15): (105,), (12, 15): (7,)}
    assert step(2, [], [15, 16]) == {(11, 15): (210,), (12, 15): (14,), (11, 16): (105,), (12, 16): (7,)}
    # A new S tuple: b times the count of T tuples with C = v is added to the group A = a, C = v.
    assert step(3, [(11, 1)], []) == {(11, 15): (212,), (11, 16): (106,)}
    assert run.stored == {"s": 2, "t": 2}


@pytest.mark.measure
@pytest.mark.parametrize(
    ("script", "bounds"),
    [
        (EXAMPLE_8_7, {"s": 9, "t": 9, "(groups)": 81}),
        # Table I's Q3, as a count and as extremes of a column that nothing bounds.
        (
            f"{PAPER} SELECT s.a, count(*) AS n, max(s.b) AS m FROM s, t WHERE s.a = t.c AND s.a > 10 AND t.c < 20 "
            "GROUP BY s.a;",
            {"s": 9, "t": 9, "(groups)": 9},
        ),
        # Q4, where only an extreme row of each stream is kept.
        (
            f"{PAPER} SELECT s.a, max(s.b) AS m FROM s, t WHERE s.b > t.c AND s.a = 15 GROUP BY s.a;",
            {"s": 1, "t": 1, "(groups)": 1},
        ),
        (f"{PAPER} SELECT count(*) AS n, avg(s.b) AS m FROM s, t WHERE s.a = t.c AND s.a > 10 AND t.c < 20;", None),
    ],
)
def test_state_stays_under_the_stated_bound_over_a_million_rows(script: str, bounds: dict[str, int] | None) -> None:
    total, batches = size(20_000, 1_000_000), size(10, 40)
    (query,) = penstock.parse(script).queries
    verdict = check_query(query)
    plan = make_plan(query, verdict)
    stated = {e.alias: e.finding.rows or 0 for e in verdict.streams if isinstance(e.finding, Bounded)}
    assert bounds is None or stated == bounds
    cell, stage = Cell(plan), GroupStage(plan)
    draw = np.random.default_rng(7)
    kept: dict[str, list[Any]] = {"s": [], "t": []}
    last: dict[Any, Any] = {}
    for number in range(batches):
        count = total // batches
        s = pa.table({"a": draw.integers(0, 30, count), "b": draw.integers(-(10**9), 10**9, count)})
        t = pa.table({"c": draw.integers(0, 10**9 if "s.b > t.c" in script else 30, count)})
        a, c = s.column("a").to_numpy(), t.column("c").to_numpy()
        keep = {"s": (a == 15) if "s.a = 15" in script else (a > 10) & (a < 20), "t": (c > 10) & (c < 20)}
        if "s.b > t.c" in script:
            keep["t"] = np.ones(count, np.bool_)
        chunks = []
        for name, table in (("s", s), ("t", t)):
            kept[name].append(table.filter(pa.array(keep[name])))
            chunks.append(Chunk.of(plan, name, 0, table, {name: pa.array(keep[name])}))
        result = cell.step(Batch(number, tuple(chunks)))
        given = stage.step(number, result.rows, result.frontier).rows
        assert all(result.metrics.state_rows[alias] <= stated[alias] for alias in plan.aliases)
        assert stage.live <= stated["(groups)"]
        assert plan.aggregate is not None
        names = [key.name for key in plan.aggregate.keys]
        for row in given.to_pylist():
            last[tuple(row[name] for name in names)] = row[given_name(0)]
    s, t = (pa.concat_tables(kept[name]) for name in "st")
    assert last == expected(script, s, t)


def expected(script: str, s: Any, t: Any) -> dict[Any, Any]:
    """The first aggregate of each group, by counting."""
    a, b, c = s.column("a").to_numpy(), s.column("b").to_numpy(), t.column("c").to_numpy()
    values = range(11, 20)
    if script == EXAMPLE_8_7:
        return {(v, w): int(b[a == v].sum()) * int((c == w).sum()) for v in values for w in values}
    if "s.b > t.c" in script:
        return {(15,): int(b.max())}
    counts = {(v,): int((a == v).sum()) * int((c == v).sum()) for v in values}
    return counts if "GROUP BY" in script else {(): sum(counts.values())}
