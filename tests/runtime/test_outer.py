"""Outer joins and EXISTS in the core against SQL over the full history, on random queries, streams and batchings.

At no time may a row have been given that is not in the answer over the whole history, which the promises leave open
until the end: so a row that comes too early, twice, or that should be taken back shows, as in some history its partner
does come. Results from which nothing is absent come in the batch that completes them. Where `check` calls the query
bounded, every row is out once the streams have moved on, and nothing of what they are made of is stored. A cell that is
saved and restored between any two steps goes on as if it had not been; many cells give what one gives.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.errors import UsageError
from penstock.model.relation import JoinKind
from penstock.model.schemes import PrimaryKey
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import Batch, Cell
from penstock.runtime.match import key_ranges, node_matching
from tests.measure import size
from tests.runtime.driving import Driver
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, Wanted, outer_workloads
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(8, 2000)))

KINDS = {
    "left": Wanted((JoinKind.LEFT,), 2),
    "right": Wanted((JoinKind.RIGHT,), 2),
    "full": Wanted((JoinKind.FULL,), 2),
    "exists": Wanted((JoinKind.INNER,), 2, (False,)),
    "not exists": Wanted((JoinKind.INNER,), 2, (True,)),
    "not exists over joins": Wanted((JoinKind.INNER,), 4, (True,)),
    "mixed": Wanted(),
    "mixed, then not exists": Wanted(existences=(True,)),
    "exists and not exists": Wanted(existences=(False, True)),
    "several exists over one stream": Wanted(
        (JoinKind.INNER,), 3, (False, True), with_where=False, with_windows=False, closing=True
    ),
    "mixed, counted in rows": Wanted(counted=True),
    "exists and not exists, counted in rows": Wanted(existences=(False, True), counted=True),
    "not exists twice, counted in rows": Wanted((JoinKind.INNER,), 4, (True, True), counted=True, closing=True),
    "mixed, all closing": Wanted(existences=(True,), with_where=False, with_windows=False, closing=True),
}


def run(workload: OuterWorkload, *, restart: bool = False) -> None:
    verdict = check_query(workload.query)
    plan = make_plan(workload.query, verdict)
    absent = workload.absent(plan)
    cell = Cell(plan, absent=absent)
    store: dict[str, bytes] = {}
    evaluator = Evaluator(workload.query, workload.history)
    whole, prompt = evaluator.answer(), evaluator.prompt()
    given_so_far: Counter[tuple[Any, ...]] = Counter()
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        rows = bag(result.rows)
        given_so_far += rows
        assert not given_so_far - whole, f"early, twice or wrong in batch {number}"
        assert not prompt.get(number, Counter()) - rows, f"late in batch {number}"
        assert result.metrics.violations == {}
        for source in plan.sources:
            if source.state.rows is not None:
                assert result.metrics.state_rows[source.alias] <= source.state.rows
        if restart:
            changes = cell.save()
            for key in changes.delete:
                store.pop(key, None)
            store.update(changes.put)
            cell = Cell.restore(plan, store, absent=absent)
    if verdict.verdict == "bounded" and not unkept_bounds(plan):
        missing = whole - given_so_far
        assert [row for row in missing if all(n is None or n > 0 for n in row)] == []
        assert workload.left_behind(verdict, plan, [cell]) == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restart", [False, True], ids=["in one go", "restarted"])
def test_rows_come_once_and_when_they_are_certain(kind: str, restart: bool) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]))
    def look(workload: OuterWorkload) -> None:
        assume(not obstacles(workload.query))
        run(workload.moved_on(), restart=restart)

    look()


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_every_stream_decides_all_that_waits(kind: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]), st.booleans())
    def look(workload: OuterWorkload, is_split: bool) -> None:
        assume(not obstacles(workload.query))
        plan = make_plan(workload.query, check_query(workload.query))
        places = list(product(*shares_of(plan))) if is_split else [(0,) * len(plan.axes)]
        cells = {place: Cell(plan, absent=workload.absent(plan)) for place in places}
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(workload.batches + 1):
            batch = workload.batch(plan, number)
            for place, cell in cells.items():
                part = tuple(share(plan, chunk, place) for chunk in batch.chunks) if is_split else batch.chunks
                result = cell.step(Batch(number, part, is_last=number == workload.batches))
                found += bag(result.rows)
        assert found == Evaluator(workload.query, workload.history).answer()
        for cell in cells.values():
            assert {alias: synopsis.live for alias, synopsis in cell.synopses.items() if synopsis.live} == {}
            assert [side.waiting.live for side in cell.tree.waiting if side.waiting.live] == []
            with pytest.raises(UsageError, match="have ended"):
                cell.step(Batch(workload.batches + 1, ()))

    look()


@pytest.mark.parametrize("kind", ["exists", "not exists"])
def test_rows_of_a_crowd_are_those_of_its_pairs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_ranges, "MANY", -1)
    monkeypatch.setattr(key_ranges, "TIMES", 0)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]))
    def look(workload: OuterWorkload) -> None:
        assume(not obstacles(workload.query))
        run(workload.moved_on())

    look()


@pytest.mark.parametrize("kind", ["mixed", "exists and not exists", "mixed, counted in rows", "mixed, all closing"])
def test_rows_found_by_index_are_those_that_are_looked_at_one_by_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_matching, "FEW", 0)

    @settings(max_examples=2 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]))
    def look(workload: OuterWorkload) -> None:
        assume(not obstacles(workload.query))
        run(workload.moved_on())

    look()


@pytest.mark.parametrize("negated", ["", "NOT "])
def test_a_crowd_is_asked_without_making_its_pairs(negated: str) -> None:
    """Two hundred and twenty-five million pairs would not fit."""
    stream = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
    condition = "s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 30"
    driver = Driver(
        f"{stream.format('s')} {stream.format('t')}"
        f"SELECT s.n FROM s WHERE {negated}EXISTS (SELECT 1 FROM t WHERE {condition});"
    )
    many = 15_000
    first = driver.step(s=[(1, 5 if n < many else 90, 1 + n // many) for n in range(2 * many)], t=[(1, 20, 0)] * many)
    second = driver.step(s=[(2, 200, 3)], t=[(2, 200, 0)])
    given_rows = first.rows.column(0).to_pylist() + second.rows.column(0).to_pylist()
    assert given_rows == ([2] * many if negated else [1] * many + [3])


@pytest.mark.parametrize("kind", ["left", "full", "not exists over joins", "mixed"])
def test_many_cells_give_what_one_gives(kind: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(KINDS[kind]))
    def look(workload: OuterWorkload) -> None:
        assume(not obstacles(workload.query))
        verdict = check_query(workload.query)
        plan = make_plan(workload.query, verdict)
        workload = workload.moved_on()
        one = Cell(plan, absent=workload.absent(plan))
        cells = {place: Cell(plan, absent=workload.absent(plan)) for place in product(*shares_of(plan))}
        whole = Evaluator(workload.query, workload.history).answer()
        # A stored row stands for its own key, and not in the cells that do not store it: they may have forgotten that
        # key where another scheme will close it anyway.
        streams = [source.stream for source in workload.query.all_sources]
        stand_in = any(isinstance(scheme, PrimaryKey) for stream in streams for scheme in stream.schemes)
        alone: Counter[tuple[Any, ...]] = Counter()
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(workload.batches):
            batch = workload.batch(plan, number)
            for place, cell in cells.items():
                part = tuple(share(plan, chunk, place) for chunk in batch.chunks)
                found += bag(cell.step(Batch(number, part)).rows)
            alone += bag(one.step(batch).rows)
            assert not found - whole
            # A cell that stores fewer rows may know earlier that a row is final; later only of keys, as said above.
            assert stand_in or not alone - found
        if verdict.verdict == "bounded" and not unkept_bounds(plan):
            assert [row for row in whole - found if all(n is None or n > 0 for n in row)] == []
            assert workload.left_behind(verdict, plan, cells.values()) == {}

    look()


def shares_of(plan: Plan) -> list[range]:
    whole = plan.tree.whole_axes
    return [range(1 if axis in whole else 2) for axis in range(len(plan.axes))]
