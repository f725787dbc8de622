"""MEMORY, section 8.2: grouped queries that the check admits run in constant state (Example 8.7, grouped Table I).

Random queries that MEMORY admits run on random batches, with restarts, against plain aggregation of the full history;
what is stored never exceeds the bound that `check` states.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.model.clauses import Formula
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.plan.aggregating import grouping_obstacles
from penstock.plan.merge_rows import without_covered
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import unkept_bounds
from penstock.runtime import Batch, Chunk, GroupStage
from tests.analysis.test_memory_lto import built, plain_query
from tests.measure import size
from tests.runtime.aggregates import Run, answers, check_running, results_of
from tests.runtime.driving import Driver
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
    tried = given = merged = 0
    while tried < size(20, 2000):
        query = built(plain_query(draw, False, grouped=True))
        verdict = check_query(query)
        if verdict.memory.bounded is not True or verdict.memory.never or len(query.all_sources) < 2:
            continue
        run = Run(query, restarts=True)
        assert [*grouping_obstacles(query)] == []
        assert unkept_bounds(run.plan) == ()
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


def test_max_chooses_the_row_where_no_comparison_is_active() -> None:
    """u.k > t.k is open below 5 only; above, the row that stands for the others must be the one max asks for."""
    driver = Driver(
        "".join(f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT);" for name in "stu")
        + "SELECT s.k, max(u.k) AS m FROM s, t, u WHERE t.k < 5 AND u.k > t.k AND s.k = 5 GROUP BY s.k;"
    )
    stage = GroupStage(driver.plan)
    given = []
    steps: tuple[dict[str, Any], ...] = ({"t": [(3, 0, 0)], "u": [(8, 0, 0)]}, {"u": [(9, 0, 0)]}, {"s": [(5, 0, 0)]})
    for number, rows in enumerate(steps):
        stepped = driver.step(**rows)
        given += stage.step(number, stepped.rows, stepped.frontier).rows.to_pylist()
    assert [[*row.values()] for row in given] == [[5, 9]]
    assert driver.plan.by_alias["u"].merge is not None


COVERED = [
    "x.k, max(y.k) AS m FROM s AS x, s AS y, t WHERE x.k >= 1 AND x.k <= 4 AND y.n <= x.n AND y.k = x.k AND t.k = x.k "
    "GROUP BY x.k",
    "y.k, count(DISTINCT x.k) AS m, min(t.k) AS l FROM s AS x, s AS y, t WHERE x.k = y.k AND x.k > 2 AND x.k < 5 "
    "AND t.k < 5 AND t.k > 2 GROUP BY y.k",
]


@pytest.mark.parametrize("select", COVERED)
def test_a_covered_source_is_left_out_of_groups_that_do_not_count(select: str) -> None:
    """Section 8.1 with 8.2: the engine runs the folded query, the reference joins the stream with itself."""
    (query,) = penstock.parse(
        f"CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT); SELECT {select};"
    ).queries
    verdict = check_query(query)
    folded = without_covered(query, verdict)
    assert len(folded.all_sources) == 2 < len(query.all_sources)
    draw = random.Random(select)
    given = 0
    for _ in range(6):
        run = Run(folded, restarts=True)
        assert unkept_bounds(run.plan) == ()
        assert run.plan.sources == make_plan(query, verdict).sources
        rows = Rows.drawn(folded, draw)
        given += check_running(run, rows)
        whole, without = (results_of(one, rows.history) for one in (query, folded))
        assert answers(query, [r for b in whole.values() for r in b]) == answers(
            folded, [r for b in without.values() for r in b]
        )
    assert given


def test_a_formula_is_about_the_source_that_stays() -> None:
    streams = "CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT);"
    for formula, left in (("max(y.k) + 1", "max(x.k) + 1"), ("max(x.k) + y.k", "max(y.k) + y.k")):
        select = COVERED[0].replace("max(y.k)", formula).replace("GROUP BY x.k", "GROUP BY x.k, y.k")
        (query,) = penstock.parse(f"{streams} SELECT {select};").queries
        folded = without_covered(query, check_query(query))
        shown = next(s for s in folded.answer if isinstance(s, Formula))
        assert str(shown) == left
        assert {*shown.aggregates, *shown.columns} <= {output.value for output in folded.outputs}
        # What stands outside of aggregates only Spark reads, so its source is the one that stays.
        assert set(folded.by_alias) == {left[4], "t"}
