"""Budgets over DISTINCT and GROUP BY in the core: both stages together hold them, and what is given is never too much.

A DISTINCT row is given once and is one of the exact answer. A group's count(*) is at most that of the full history, and
what all counts come to is what the account says was emitted and not dropped for want of room. With room for all, the
answers are those of the full history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.clauses import TimeWindow
from penstock.model.hints import Budget, Hints
from penstock.plan.planner import make_plan
from penstock.plan.second_stage_budget import bucket_room, second_room
from penstock.runtime import Cell, GroupStage
from tests.measure import size
from tests.runtime.aggregates import Row, Run, answers, check_running, group_of, results_of
from tests.runtime.driving import plan_of
from tests.runtime.reference import answer
from tests.runtime.test_aggregates import SEEDS, grouped
from tests.runtime.test_core_against_reference import bag
from tests.runtime.workloads import Workload, workloads

EXAMPLES = size(24, 1500)
RANDOM = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
AMPLE = Budget(1_000_000, "ROWS")
BUDGETS = st.sampled_from([*(Budget(n, "ROWS") for n in (1, 2, 3, 5, 8, 13)), *(Budget(n, "KB") for n in (1, 2, 4))])


def budgeted(workload: Workload, budget: Budget) -> Workload:
    query = replace(workload.query, hints=Hints(budget=budget))
    return Workload(query, workload.history, workload.batches, workload.cuts, workload.punctuations)


@RANDOM
@given(workloads(most_sources=3).map(Workload.moved_on), SEEDS, BUDGETS, st.booleans(), st.booleans())
def test_groups_hold_a_budget_and_count_no_result_too_often(
    workload: Workload, seed: int, budget: Budget, windowed: bool, restarts: bool
) -> None:
    one = budgeted(grouped(workload, seed, windowed=windowed), budget)
    run = Run(one.query, restarts=restarts)
    results = results_of(one.query, one.history)
    exact = answers(one.query, [result for batch in results.values() for result in batch])
    counted: dict[Row, int] = {}
    (cell,) = run.cells.values()
    for number in range(one.batches):
        for group, values in run.step(one.batch(run.plan, number)):
            assert group in exact
            assert values[0] <= exact[group][0]
            assert not windowed or group not in counted, "a window is given once"
            counted[group] = values[0]
        (cell,) = run.cells.values()
        if budget.rows is None:
            assert run.state_bytes + sum(s.nbytes for s in run.stages) <= budget.amount * 1024, f"batch {number}"
        else:
            held = sum(s.live for s in cell.synopses.values()) + run.promise_rows + sum(s.live for s in run.stages)
            assert held <= budget.rows, f"batch {number}"
    assert cell.eviction is not None
    loss = cell.eviction.loss
    assert budget.rows is None or loss.due == sum(
        group_of(one.query, result) is not None for batch in results.values() for result in batch
    )
    dropped = sum(stage.dropped for stage in run.stages)
    if not any(isinstance(key, TimeWindow) for key in one.query.group_by):
        assert sum(counted.values()) == loss.emitted - dropped


@settings(RANDOM, max_examples=EXAMPLES // 3)
@given(workloads(most_sources=3), SEEDS)
def test_groups_with_room_for_all_are_those_of_the_full_history(workload: Workload, seed: int) -> None:
    one = budgeted(grouped(workload, seed, windowed=False), AMPLE)
    check_running(Run(one.query, restarts=True), one)


@RANDOM
@given(workloads(most_sources=3), BUDGETS | st.just(AMPLE), st.booleans())
def test_distinct_holds_a_budget_and_gives_rows_of_the_answer_once(
    workload: Workload, budget: Budget, restarts: bool
) -> None:
    query = workload.query.with_block(replace(workload.query.block, distinct=True))
    query = replace(query, hints=Hints(budget=budget))
    plan = make_plan(query, check_query(query))
    cell, room = Cell(plan), bucket_room(plan, 0, 1)
    stage = GroupStage(plan, room)
    stores: tuple[dict[str, bytes], dict[str, bytes]] = ({}, {})
    expected = answer(query, workload.history)
    exact = {row for batch in expected.values() for row in batch}
    seen: set[Row] = set()
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        found = bag(stage.step(number, result.rows, result.frontier).rows if result.rows.num_rows else result.rows)
        assert all(count == 1 for count in found.values())
        assert seen.isdisjoint(found)
        seen |= set(found)
        if budget.rows is None:
            assert result.metrics.state_bytes + stage.nbytes <= budget.amount * 1024, f"batch {number}"
        else:
            held = sum(s.live for s in cell.synopses.values()) + result.metrics.promise_rows + stage.live
            assert held <= budget.rows, f"batch {number}"
        if restarts:
            for store, changes in zip(stores, (cell.save(), stage.save()), strict=True):
                store.update(changes.put)
                for name in changes.delete:
                    store.pop(name, None)
            cell, stage = Cell.restore(plan, stores[0]), GroupStage.restore(plan, stores[1], room)
    assert seen <= exact
    if budget == AMPLE:
        assert seen == exact
        assert stage.dropped == 0


STREAMS = "CREATE STREAM r (k BIGINT, v BIGINT); CREATE STREAM s (k BIGINT, v BIGINT, CHECK (v >= 0 AND v < 4));"


def room_of(select: str, rows: int) -> Any:
    return second_room(plan_of(f"{STREAMS} SELECT /*+ BUDGET({rows} ROWS) */ {select};"))


def test_the_second_stage_has_what_declarations_bound_it_to_and_at_most_half() -> None:
    assert room_of("r.k FROM r, s WHERE r.k = s.k", 100) == 0
    assert room_of("DISTINCT r.k FROM r, s WHERE r.k = s.k", 100) == 50
    assert room_of("count(*) AS n FROM r, s WHERE r.k = s.k", 100) == 1
    assert room_of("r.k, count(*) AS n FROM r, s WHERE r.k = s.k GROUP BY r.k", 100) == 50
    bounded = room_of("s.v, count(*) AS n FROM r, s WHERE r.k = s.k GROUP BY s.v", 100)
    assert bounded in (4, 5), "its values, and NULL where CHECK lets it pass"
