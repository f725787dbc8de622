"""Constant state over a million rows (MEMORY, sections 7 and 8.2): admitted queries, of the paper and random ones.

Each runs on a cell and its second stage, batch by batch. After every batch what is stored of each stream is at most
what `check` states, and so is what DISTINCT or GROUP BY remembers; at the end the answer is that of the naive join
over all rows (columnar.py).
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.model.query import Query
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import Batch, Cell, Chunk, GroupStage, given_name
from tests.analysis.test_memory_lto import built, plain_query
from tests.measure import size
from tests.runtime.columnar import answer, filtered

ABC = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT); CREATE STREAM t (d BIGINT, e BIGINT);"
ABCD = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, d BIGINT); CREATE STREAM t (a BIGINT, b BIGINT);"
TABLE_I = {
    "Q3": f"{ABC} SELECT a FROM s, t WHERE a = d AND a > 10 AND d < 20",
    "Q3 distinct": f"{ABC} SELECT DISTINCT a FROM s, t WHERE a = d AND a > 10 AND d < 20",
    "Q4 distinct": f"{ABC} SELECT DISTINCT a FROM s, t WHERE b < d AND a = 10",
    "Q6 distinct": f"{ABC} SELECT DISTINCT a FROM s, t WHERE b < d AND c < e AND b < e AND c < d AND a = 10",
    "Q7": f"{ABC} SELECT a FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10",
    "Q7 distinct": f"{ABC} SELECT DISTINCT a FROM s, t WHERE b < d AND d > 10 AND b < 20 AND a = 10",
    "Example 7.4": (
        f"{ABCD} SELECT DISTINCT s.a FROM s, t WHERE s.b > t.b AND s.c > t.b AND s.d > t.b AND s.a = 10 AND t.a = s.a"
    ),
    "Example 8.7": (
        f"{ABC} SELECT s.a, t.d, sum(s.b) AS total FROM s, t WHERE a < 20 AND d < 20 AND a > 10 AND d > 10 "
        "GROUP BY s.a, t.d"
    ),
    "Q3 counted": (
        f"{ABC} SELECT a, count(*) AS n, avg(b) AS m, max(b) AS most, median(d) AS mid FROM s, t "
        "WHERE a = d AND a > 10 AND d < 20 GROUP BY a"
    ),
    "Q4 with its extreme": f"{ABC} SELECT a, max(b) AS m FROM s, t WHERE b > d AND a = 15 GROUP BY a",
    "Q7 without groups": (
        f"{ABC} SELECT count(*) AS n, min(c) AS least, count(DISTINCT e) AS some FROM s, t "
        "WHERE b < d AND d > 10 AND b < 20 AND a = 10 AND e > 3 AND e < 9"
    ),
}


def check_long_run(query: Query, largest: int, total: int, batches: int) -> int:
    """Feed so many rows; the number of results, or of groups, at the end."""
    verdict = check_query(query)
    plan = make_plan(query, verdict)
    assert obstacles(query) == ()
    assert unkept_bounds(plan) == ()
    stated = {e.alias: e.finding.rows for e in verdict.streams if isinstance(e.finding, Bounded)}
    assert all(stated.get(e.alias) is not None for e in verdict.streams)
    cell = Cell(plan)
    distinct = GroupStage(plan) if query.distinct else None
    groups = GroupStage(plan) if query.is_grouped else None
    draw = np.random.default_rng(7)
    history: dict[str, list[dict[str, Any]]] = {name: [] for name in plan.streams}
    given: dict[tuple[Any, ...], Any] = {}
    for number in range(batches):
        chunks = []
        for place, source in enumerate(query.all_sources):
            # What a bag gives is as long as its streams multiplied: there all but the first are short.
            is_long = place == 0 or query.distinct or query.is_grouped
            count = total // batches if is_long else 2
            columns = {c.name: draw.integers(0, largest, count) for c in source.stream.columns}
            history[source.stream.name].append(columns)
            keep = {source.alias: pa.array(filtered(query, source.alias, columns))}
            chunks.append(Chunk.of(plan, source.stream.name, 0, pa.table(columns), keep))
        result = cell.step(Batch(number, tuple(chunks)))
        for alias, stored in result.metrics.state_rows.items():
            assert stored <= (stated[alias] or 0), (query, alias)
        if groups is not None:
            rows = groups.step(number, result.rows, result.frontier).rows
            assert groups.live <= (stated["(groups)"] or 0), query
            assert plan.aggregate is not None
            keys = [rows.column(key.name).to_pylist() for key in plan.aggregate.keys] if rows.num_rows else []
            values = [rows.column(given_name(n)).to_pylist() for n in range(len(plan.aggregate.columns))]
            for n in range(rows.num_rows):
                given[tuple(column[n] for column in keys)] = tuple(column[n] for column in values)
            continue
        rows = result.rows if distinct is None else distinct.step(number, result.rows, {}).rows
        if rows.num_rows:
            # Spark makes the outputs of the columns that the cell gives; here each output is one of them.
            shown = [rows.column(c.output).to_numpy() for c in plan.selected if c.output is not None]
            different, counts = np.unique(np.stack(shown, 1), axis=0, return_counts=True)
            for key, count in zip(map(tuple, different.tolist()), counts.tolist(), strict=True):
                given[key] = given.get(key, 0) + count
        assert not query.distinct or len(given) <= (stated["(distinct)"] or 0)
    whole = {
        name: {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
        for name, parts in history.items()
    }
    expected = answer(query, whole)
    if query.is_grouped and not query.group_by and not expected:
        given.pop((), None)
    assert given == expected, query
    return len(expected)


@pytest.mark.measure
@pytest.mark.parametrize("name", TABLE_I)
def test_state_stays_under_the_stated_bound_over_a_million_rows(name: str) -> None:
    (query,) = penstock.parse(f"{TABLE_I[name]};").queries
    assert check_long_run(query, 30, size(10_000, 1_000_000), size(8, 40))


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct", "grouped"])
def test_so_it_does_for_random_admitted_queries(kind: str) -> None:
    draw = random.Random(f"a million {kind}")
    tried = given = 0
    while tried < size(4, 8):
        query = built(plain_query(draw, kind == "distinct", kind == "grouped"))
        memory = check_query(query).memory
        if memory.bounded is not True or memory.never or len(query.all_sources) < 2:
            continue
        tried += 1
        given += check_long_run(query, 12, size(4_000, 1_000_000), size(5, 40)) > 0
    assert given > tried // 2
