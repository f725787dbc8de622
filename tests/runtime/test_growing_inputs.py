"""A witness, run: the core's state grows with it, row for row, and a safe neighbour's state does not (invariant 3).

The rows that `check --witness` would print are fed to a cell, one batch a row. Three times as many rows leave three
times as many stored of the streams that the verdict calls unbounded, and a few of those that it calls bounded.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Row, Unbounded
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk

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
