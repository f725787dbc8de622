"""Results of which nothing is asked but that they are there are as many as those that show their rows.

The same random queries twice, with their columns and with a constant alone in SELECT; and once more as cross products,
of which no column is read at all, against the full history.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.clauses import Output, RowsWindow
from penstock.model.expressions import Expression, Literal
from penstock.model.query import Query
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Cell
from penstock.testing import Run
from tests.measure import size
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.reference import answer
from tests.runtime.test_outer import KINDS
from tests.runtime.workloads import Workload, workloads

EXAMPLES = size(25, 1000)
ONE = Output("one", Expression("1", (), Literal(1)))


def counts(workload: Workload, query: Query, *, restart: bool) -> list[int]:
    """How many rows each step gives."""
    plan = make_plan(query, check_query(query))
    absent = workload.absent(plan) if isinstance(workload, OuterWorkload) else {}
    own = replace(workload, query=query)
    cell, store, found = Cell(plan, absent=absent), dict[str, bytes](), []
    for number in range(workload.batches):
        result = cell.step(own.batch(plan, number))
        assert result.metrics.rows_out == result.rows.num_rows
        found.append(result.rows.num_rows)
        if restart:
            changes = cell.save()
            for key in changes.delete:
                store.pop(key, None)
            store.update(changes.put)
            cell = Cell.restore(plan, store, absent=absent)
    return found


def bare(query: Query) -> Query:
    return query.with_block(replace(query.block, outputs=(ONE,)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3), st.booleans())
def test_a_constant_comes_as_often_as_the_rows_of_an_inner_join(workload: Workload, restart: bool) -> None:
    moved = workload.moved_on()
    assert counts(moved, bare(moved.query), restart=restart) == counts(moved, moved.query, restart=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_comes_as_often_as_the_rows_of_an_outer_join(kind: str) -> None:
    @settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]), st.booleans())
    def look(workload: OuterWorkload, restart: bool) -> None:
        assume(not obstacles(workload.query))
        moved = workload.moved_on()
        assert counts(moved, bare(moved.query), restart=restart) == counts(moved, moved.query, restart=False)

    look()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3, most_rows=5), st.booleans(), st.booleans())
def test_cross_products_of_streams_of_which_nothing_is_read(workload: Workload, restart: bool, windowed: bool) -> None:
    sources = tuple(
        replace(s, stream=replace(s.stream, schemes=()), window=RowsWindow(2) if windowed else None)
        for s in workload.query.sources
    )
    crossed = workload.query.with_block(replace(workload.query.block, where=()), sources)
    expected = answer(crossed, workload.history)
    wanted = [sum(expected.get(number, Counter()).values()) for number in range(workload.batches)]
    assert counts(workload, bare(crossed), restart=restart) == wanted


STREAMS = "CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT, n BIGINT);"


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5), st.booleans())
def test_all_results_are_counted_of_which_nothing_is_read(batches: list[tuple[int, int]], restart: bool) -> None:
    def table(rows: int) -> Any:
        return pa.table({name: pa.array([None] * rows, pa.int64()) for name in ("k", "n")})

    one, two = Run(STREAMS + "SELECT count(*) AS n FROM s;"), Run(STREAMS + "SELECT count(*) AS n FROM s, t;", cells=3)
    total, other, told = 0, 0, [(0, 0)]
    for s, t in batches:
        steps = one.step({"s": table(s)}), two.step({"s": table(s), "t": table(t)})
        total, other = total + s, other + t
        given_rows = [step.rows.column("n").to_pylist() for step in steps]
        told.append(tuple(rows[-1] if rows else before for rows, before in zip(given_rows, told[-1], strict=True)))  # type: ignore[arg-type]
        assert told[-1] == (total, total * other)
        if restart:
            one.restart()
            two.restart()
