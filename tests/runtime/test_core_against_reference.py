"""The core against the full-history join of `reference.py`, on random queries, declarations, streams and batchings.

Every step must give exactly the results that the reference files under that batch: nothing lost by a purge, nothing
twice, nothing early or late. The state must stay within the rows that `check` states; where it says that rows leave,
they have left once the streams have moved on. A cell that is saved and
restored between any two steps must go on as if it had not been.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import penstock.testing
from penstock.analysis.check import check_query
from penstock.plan.planner import make_plan
from penstock.runtime import Cell, Patience
from penstock.runtime.join import purged
from penstock.runtime.state.component import synopses_of
from tests.measure import size
from tests.runtime.reference import answer
from tests.runtime.workloads import Workload, workloads

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(70, 2000)))


def bag(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def run(workload: Workload, *, restart: bool = False, how: Patience = Patience.EAGER) -> None:
    verdict = check_query(workload.query)
    plan = make_plan(workload.query, verdict)
    cell = Cell(plan, how)
    store: dict[str, bytes] = {}
    expected = answer(workload.query, workload.history)
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        assert bag(result.rows) == expected.get(number, Counter()), f"batch {number}"
        assert result.metrics.violations == {}
        for source in plan.sources:
            if source.state.rows is not None:
                assert result.metrics.state_rows[source.alias] <= source.state.rows
        if restart:
            changes = cell.save()
            for key in changes.delete:
                store.pop(key, None)
            store.update(changes.put)
            kept = [s.name for synopsis in synopses_of(cell) for s in synopsis.segments]
            assert sorted(k.removeprefix("segment/") for k in store if k.startswith("segment/")) == sorted(
                map(str, kept)
            )
            cell = Cell.restore(plan, store, how)
    if how is Patience.EAGER:
        assert workload.left_behind(verdict, plan, [cell]) == {}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3))
def test_two_or_three_sources_give_the_reference_answer_in_every_step(workload: Workload) -> None:
    run(workload.moved_on())


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=6, most_rows=5))
def test_up_to_six_sources_give_the_reference_answer_in_every_step(workload: Workload) -> None:
    run(workload.moved_on())


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3))
def test_a_cell_restored_after_every_step_gives_the_same_answer(workload: Workload) -> None:
    run(workload.moved_on(), restart=True)


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3))
def test_a_lazy_cell_gives_the_same_answer(workload: Workload) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(purged, "LEAST_ROWS", 4)
        run(workload.moved_on(), restart=True, how=Patience.LAZY)


def test_in_a_cross_product_a_row_waits_for_each_other_that_is_not_closed() -> None:
    """So streams have moved on only where what closes their new rows has come, too: see `Workload.moved_on`."""
    run = penstock.testing.Run("""
        CREATE STREAM p (a BIGINT, kind BIGINT, ts BIGINT, EVENT TIME ts, PUNCTUATED ON (a) WHEN kind = -1);
        CREATE STREAM q (a BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
        CREATE STREAM r (n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
        SELECT r.n FROM p, q, r [RANGE 5] WHERE p.a = q.a;
    """)
    run.step({"r": pa.table({"n": [1], "ts": [10]}), "q": pa.table({"a": [7], "ts": [12]})})
    moved_on = {"q": pa.table({"a": [9], "ts": [200]}), "r": pa.table({"n": [2], "ts": [200]})}
    assert run.step(moved_on).metrics["state_rows"]["r"] == 2
    assert run.step({"p": pa.table({"a": [7], "kind": [-1], "ts": [100]})}).metrics["state_rows"]["r"] == 1
