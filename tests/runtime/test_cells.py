"""Many cells give what one cell gives: rows routed over a hypercube as the page of `penstock.runtime` says.

The router here is the test's own and slow: two shares an axis, a row copied along the axes it lacks, headers to every
cell, keys of rows that live elsewhere to every cell that agrees on the axes of the key. Every result must come out of
exactly one cell.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings

from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import (
    HOME,
    INDEX,
    Batch,
    Cell,
    Chunk,
    belongs,
    clustered_columns,
    hash_rows,
    keys_of,
    promise_columns,
)
from tests.runtime.reference import answer
from tests.runtime.test_core_against_reference import EXAMPLES, bag
from tests.runtime.workloads import Workload, workloads

Coordinates = tuple[int, ...]


def lies_in(plan: Plan, alias: str, table: Any, cell: Coordinates, only: tuple[str, ...] | None = None) -> Any:
    """Which rows agree with a cell on the axes that the alias has, or on those of some of its columns only."""
    found = np.ones(table.num_rows, np.bool_)
    whole = plan.tree.whole_axes
    for number, (axis, coordinate) in enumerate(zip(plan.axes, cell, strict=True)):
        column = axis.column(alias)
        if number not in whole and column is not None and (only is None or column in only):
            found &= hash_rows(table, [column]) % 2 == coordinate
    return found


def on_a_line(plan: Plan, alias: str, table: Any, cell: Coordinates) -> Any:
    """Which rows agree with a cell on the axes of one of the alias's keys."""
    return np.logical_or.reduce([lies_in(plan, alias, table, cell, key) for key in keys_of(plan, alias)])


def share(plan: Plan, chunk: Chunk, cell: Coordinates) -> Chunk:
    """What of a chunk goes to a cell."""
    rows: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for alias, table in chunk.rows.items():
        here = lies_in(plan, alias, table, cell)
        lacking = [c for axis, c in zip(plan.axes, cell, strict=True) if axis.column(alias) is None]
        home = pa.array(np.full(table.num_rows, not any(lacking)))
        rows[alias] = table.append_column(HOME, home).filter(pa.array(here))
        wanted = keys_of(plan, alias)
        if wanted:
            columns = [*promise_columns(plan, alias), INDEX]
            pieces = [table.select(columns).filter(pa.array(on_a_line(plan, alias, table, cell) & ~here))]
            if alias in chunk.keys:
                dropped = chunk.keys[alias].select(columns)
                pieces.append(dropped.filter(pa.array(on_a_line(plan, alias, dropped, cell))))
            keys[alias] = pa.concat_tables(pieces)
            for column in clustered_columns(plan, alias):
                known = pa.array(lies_in(plan, alias, keys[alias], cell, (column,)))
                keys[alias] = keys[alias].append_column(belongs(column), known)
    punctuations = {
        number: table.filter(
            pa.array(lies_in(plan, plan.promises[number].alias, table, cell, plan.promises[number].columns))
        )
        for number, table in chunk.punctuations.items()
    }
    return Chunk(chunk.header, rows, keys, chunk.order, punctuations)


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=4))
def test_a_hypercube_of_cells_gives_the_reference_answer(workload: Workload) -> None:
    workload = workload.moved_on()
    verdict = check_query(workload.query)
    plan = make_plan(workload.query, verdict)
    cells = {place: Cell(plan) for place in product(range(2), repeat=len(plan.axes))}
    expected = answer(workload.query, workload.history)
    for number in range(workload.batches):
        batch = workload.batch(plan, number)
        found: Counter[tuple[Any, ...]] = Counter()
        tuples: Counter[str] = Counter()
        for place, cell in cells.items():
            result = cell.step(Batch(number, tuple(share(plan, chunk, place) for chunk in batch.chunks)))
            found += bag(result.rows)
            tuples.update(result.metrics.state_tuples)
            assert result.metrics.violations == {}
        assert found == expected.get(number, Counter())
        for source in plan.sources:
            if source.state.rows is not None:
                assert tuples[source.alias] <= source.state.rows
    assert workload.left_behind(verdict, plan, cells.values()) == {}
