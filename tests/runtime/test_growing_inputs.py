"""A witness, run: the core's state grows with it, row for row, and a safe neighbour's state does not (invariant 3).

The rows that `check --witness` would print are fed to a cell, one batch a row. Three times as many rows leave three
times as many stored of the streams that the verdict calls unbounded, and a few of those that it calls bounded. Random
queries for which MEMORY says that no constant memory suffices: bags, DISTINCT, groups, a stream joined with itself.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Row, Unbounded
from penstock.analysis.memory import memory_finding
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk, GroupStage
from tests.analysis.build import query as build_query
from tests.analysis.build import source, where
from tests.analysis.build import stream as build_stream
from tests.analysis.test_memory_lto import built, plain_query, with_itself
from tests.measure import size

KEYS = "k BIGINT, m BIGINT"
CASES = {
    "nothing is promised": f"CREATE STREAM a ({KEYS}); CREATE STREAM b ({KEYS}); SELECT a.k FROM a, b WHERE a.k = b.k;",
    "one side is ordered": (
        f"CREATE STREAM a ({KEYS}); CREATE STREAM b ({KEYS}, ORDERED BY k); SELECT a.k FROM a, b WHERE a.k = b.k;"
    ),
    "a key without its guarantee": (
        f"CREATE STREAM a ({KEYS}, ORDERED BY m); CREATE STREAM b ({KEYS}, PRIMARY KEY (k)); "
        "SELECT b.m FROM a, b WHERE a.k = b.k;"
    ),
    "a chain that breaks off": (
        f"CREATE STREAM a ({KEYS}, FOLLOWS b (k) ON (k)); "
        f"CREATE STREAM b ({KEYS}, FOLLOWS a (k) ON (k) WITHIN 1 ROWS); "
        f"CREATE STREAM c ({KEYS}); SELECT c.k FROM a, b, c WHERE a.k = b.k AND b.m = c.m;"
    ),
}


def _fed(query: Query, plan: Plan, rows: tuple[Row, ...]) -> Cell:
    cell = Cell(plan)
    for number, (name, values) in enumerate(rows):
        chunks = []
        for stream in plan.streams:
            declared = next(s.stream for s in query.all_sources if s.stream.name == stream)
            given = [dict(values)] if stream == name else []
            columns = {c.name: pa.array([row.get(c.name) for row in given], pa.int64()) for c in declared.carried}
            chunks.append(Chunk.of(plan, stream, 0, pa.table(columns)))
        cell.step(Batch(number, tuple(chunks)))
    return cell


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_running_the_witness_makes_the_state_grow_with_it(text: str) -> None:
    (query,) = penstock.parse(text).queries
    verdict = check_query(query)
    assert verdict.witness is not None
    plan = make_plan(query, verdict)
    short, long = (_fed(query, plan, verdict.witness.first(count)) for count in (30, 90))
    for entry in verdict.streams:
        before, after = (cell.synopses[entry.alias].live for cell in (short, long))
        if isinstance(entry.finding, Unbounded):
            assert (before, after) == (30 * after // 90, after)
            assert after >= 20
        else:
            assert after <= 3


def _of_kind(draw: random.Random, kind: str) -> Query:
    if kind != "self-join":
        return built(plain_query(draw, kind == "distinct", kind == "grouped"))
    plain = with_itself(draw)
    columns = ", ".join(f"{column.split('.')[1]} BIGINT" for column in next(iter(plain.streams.values())))
    conditions = [where(f"{left} {op} {right}") for left, op, right in plain.conditions]
    own = build_stream("s", columns)
    return build_query([source(own, name) for name in plain.streams], *conditions, select=plain.shown, distinct=True)


def _state_after(query: Query, plan: Plan, rows: tuple[Row, ...]) -> int:
    """What is stored of the streams and remembered of results and groups, the rows come in three batches."""
    cell = Cell(plan)
    distinct = GroupStage(plan) if query.distinct else None
    groups = GroupStage(plan) if query.is_grouped else None
    for number in range(3):
        chunks = []
        for name in plan.streams:
            declared = next(s.stream for s in query.all_sources if s.stream.name == name)
            given = [dict(values) for own, values in rows[number::3] if own == name]
            columns = {c.name: pa.array([row.get(c.name) for row in given], pa.int64()) for c in declared.carried}
            # The rows pass every filter of the source that they are for; another of the same stream may drop them.
            chunks.append(Chunk.of(plan, name, 0, pa.table(columns)))
        result = cell.step(Batch(number, tuple(chunks)))
        if distinct is not None:
            distinct.step(number, result.rows, {})
        if groups is not None:
            groups.step(number, result.rows, result.frontier)
    stages = (0 if distinct is None else distinct.live) + (0 if groups is None else groups.live)
    return sum(synopsis.live for synopsis in cell.synopses.values()) + stages


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct", "grouped", "self-join"])
def test_the_witness_of_a_random_query_makes_the_state_grow(kind: str) -> None:
    draw = random.Random(f"growing {kind}")
    shown = 0
    while shown < size(15, 500):
        query = _of_kind(draw, kind)
        if memory_finding(query).bounded is not False:
            continue
        shown += 1
        verdict = check_query(query)
        assert verdict.verdict == "unbounded", query
        assert verdict.witness is not None
        plan = make_plan(query, verdict)
        short, long = (_state_after(query, plan, verdict.witness.first(count)) for count in (12, 48))
        assert long >= short + 12, (query, short, long)
