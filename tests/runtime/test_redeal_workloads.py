"""Cells dealt anew between batches give what one cell gives: random queries, promises, streams and grids.

With rows copied to several cells, clusters, punctuations and windows; in the order of ARRIVES BY; with k learned, rows
set aside under RECOVER, MONITOR and an audit; under a BUDGET. Beside the join of the full history.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.hints import Budget, Hints
from penstock.model.schemes import Policy
from penstock.model.simplify import simplified
from penstock.plan.doubting import works_anew
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import StepResult
from tests.measure import size
from tests.runtime.input.test_arrival_order import Paced, paced
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.redealing import Redealt
from tests.runtime.reference import answer
from tests.runtime.test_broken_outer import Answered, check, recovering
from tests.runtime.test_broken_promises import BROKEN, counted_in_rows, expected, learned
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer import KINDS
from tests.runtime.test_outer_arrival import COUNTED, OuterPaced, outer_paced
from tests.runtime.workloads import Workload, workloads

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(6, 1500)))
SEEDS = st.integers(0, 2**32)
FEW = settings(BROKEN, max_examples=EXAMPLES)


def some(kinds: Iterable[str], first: str) -> list[Any]:
    """One kind with every run of the tests, the others with the thorough ones."""
    return [pytest.param(kind, marks=() if kind == first else pytest.mark.thorough) for kind in kinds]


def rows_of(results: Iterable[StepResult]) -> Counter[tuple[Any, ...]]:
    return sum((bag(result.rows) for result in results), Counter[tuple[Any, ...]]())


@FEW
@given(workloads(most_sources=4), SEEDS)
def test_inner_joins_with_copied_rows_give_the_reference_answer_and_let_go_in_the_end(
    workload: Workload, seed: int
) -> None:
    workload = workload.moved_on()
    verdict = check_query(workload.query)
    plan = make_plan(workload.query, verdict)
    cells, wanted = Redealt(plan, Random(seed)), answer(workload.query, workload.history)
    for number in range(workload.batches):
        results = cells.step(workload.batch(plan, number))
        assert rows_of(results) == wanted.get(number, Counter()), f"batch {number}"
        assert [result.metrics.violations for result in results] == [{}] * len(results)
        for source in plan.sources:
            stored = sum(result.metrics.state_tuples[source.alias] for result in results)
            assert source.state.rows is None or stored <= source.state.rows
    assert workload.left_behind(verdict, plan, cells.cells) == {}


@pytest.mark.parametrize("kind", some(KINDS, "mixed"))
def test_outer_joins_give_each_row_once_and_in_time(kind: str) -> None:
    @settings(FEW, max_examples=-(-EXAMPLES // 4))
    @given(outer_workloads(KINDS[kind]), SEEDS)
    def look(workload: OuterWorkload, seed: int) -> None:
        assume(not obstacles(workload.query))
        workload = workload.moved_on()
        verdict = check_query(workload.query)
        plan = make_plan(workload.query, verdict)
        cells = Redealt(plan, Random(seed), workload.absent(plan))
        whole = Evaluator(workload.query, workload.history).answer()
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(workload.batches):
            found += rows_of(cells.step(workload.batch(plan, number)))
            assert not found - whole, f"early, twice or wrong in batch {number}"
        if verdict.verdict == "bounded" and not unkept_bounds(plan):
            assert [row for row in whole - found if all(n is None or n > 0 for n in row)] == []
            assert workload.left_behind(verdict, plan, cells.cells) == {}
        found += rows_of(cells.step(replace(workload.batch(plan, workload.batches), is_last=True)))
        assert found == whole

    look()


@FEW
@given(paced(), SEEDS)
def test_rows_that_wait_for_their_turn_come_when_it_is(work: Paced, seed: int) -> None:
    plan = make_plan(work.query, check_query(work.query))
    cells, wanted = Redealt(plan, Random(seed)), answer(work.query, work.history)
    found: Counter[tuple[Any, ...]] = Counter()
    for step in range(work.steps):
        found += rows_of(cells.step(work.batch(plan, step)))
    found += rows_of(cells.step(replace(work.batch(plan, work.steps), is_last=True)))
    assert found == sum(wanted.values(), Counter())


@pytest.mark.parametrize("kind", some(COUNTED, "mixed"))
def test_so_do_those_of_outer_joins(kind: str) -> None:
    @settings(FEW, max_examples=-(-EXAMPLES // 4))
    @given(outer_paced(COUNTED[kind]), SEEDS)
    def look(work: OuterPaced, seed: int) -> None:
        assume(not obstacles(work.query))
        plan = make_plan(work.query, check_query(work.query))
        cells = Redealt(plan, Random(seed), work.absent(plan))
        found: Counter[tuple[Any, ...]] = Counter()
        for step in range(work.batches + 1):
            found += rows_of(cells.step(replace(work.batch(plan, step), is_last=step == work.batches)))
        assert found == Evaluator(work.query, work.history).answer()

    look()


@FEW
@given(workloads(most_sources=4, broken=Policy.RECOVER, batches=9, most_rows=12), st.sampled_from([0, 1, 4]), SEEDS)
def test_recover_loses_nothing(workload: Workload, window: int, seed: int) -> None:
    one = learned(workload, window) if window else workload
    plan = make_plan(one.query, check_query(one.query))
    cells, wanted = Redealt(plan, Random(seed)), expected(workload)
    for number in range(one.batches):
        results = cells.step(one.batch(plan, number))
        assert rows_of(results) == wanted[number], f"batch {number}"
        assert sum(result.metrics.lost for result in results) == 0


@pytest.mark.parametrize("kind", some(KINDS, "mixed"))
def test_recover_of_outer_joins_finds_every_match_and_counts_what_it_contradicts(kind: str) -> None:
    @settings(FEW, max_examples=-(-EXAMPLES // 3))
    @given(recovering(kind), st.booleans(), SEEDS)
    def look(workload: OuterWorkload, is_learned: bool, seed: int) -> None:
        assume(not simplified(workload.query).is_inner)
        one: Any = learned(workload, 3) if is_learned else workload
        plan = make_plan(one.query, check_query(one.query))
        # Of several joins no row may lie in several cells.
        cells = Redealt(plan, Random(seed), one.absent(plan), may_copy=not works_anew(plan))
        answered = Answered()
        for number in range(one.batches + 1):
            results = cells.step(replace(one.batch(plan, number), is_last=number == one.batches))
            answered.found.append(rows_of(results))
            answered.contradicted += sum(result.metrics.contradicted for result in results)
            answered.lost += sum(result.metrics.lost for result in results)
        check(one, answered)

    look()


@FEW
@given(workloads(most_sources=3, broken=Policy.ADAPT, batches=9, most_rows=14), st.sampled_from([0, 1, 5, 12]), SEEDS)
def test_adapt_gives_only_results_and_knows_of_no_more_losses_than_there_are(
    workload: Workload, window: int, seed: int
) -> None:
    one = learned(workload, window) if window else workload
    plan = make_plan(one.query, check_query(one.query))
    cells, wanted = Redealt(plan, Random(seed)), expected(workload)
    lost = missing = 0
    for number in range(one.batches):
        results = cells.step(one.batch(plan, number))
        found = rows_of(results)
        assert not found - wanted[number], f"batch {number}"
        missing += (wanted[number] - found).total()
        lost += sum(result.metrics.lost for result in results)
    assert 0 <= lost <= missing


@FEW
@given(workloads(most_sources=3, broken=Policy.ADAPT, batches=9, most_rows=14), st.booleans(), SEEDS)
def test_where_all_that_was_let_go_is_remembered_losses_are_counted_to_the_last(
    workload: Workload, learns: bool, seed: int
) -> None:
    one = counted_in_rows(workload, learns=learns)
    plan = make_plan(one.query, check_query(one.query))
    cells, wanted = Redealt(plan, Random(seed)), expected(one)
    lost = missing = 0
    for number in range(one.batches):
        results = cells.step(one.batch(plan, number))
        missing += (wanted[number] - rows_of(results)).total()
        lost += sum(result.metrics.lost for result in results)
    assert lost == missing


@FEW
@given(workloads(most_sources=3), SEEDS)
def test_an_audit_of_kept_promises_finds_nothing(workload: Workload, seed: int) -> None:
    workload = workload.moved_on()
    plan = replace(make_plan(workload.query, check_query(workload.query)), audit=1.0)
    cells, wanted = Redealt(plan, Random(seed)), answer(workload.query, workload.history)
    for number in range(workload.batches):
        results = cells.step(workload.batch(plan, number))
        assert rows_of(results) == wanted.get(number, Counter()), f"batch {number}"
        assert sum(result.metrics.lost for result in results) == 0


BUDGETS = [*(Budget(rows, "ROWS") for rows in (1, 3, 6, 12, 1_000_000)), Budget(4, "KB")]


@FEW
@given(workloads(most_sources=3), st.sampled_from(BUDGETS), st.sampled_from(["gain", "prob", "life", "rand"]), SEEDS)
def test_a_budget_is_held_and_the_account_goes_on(workload: Workload, budget: Budget, policy: str, seed: int) -> None:
    workload = workload.moved_on()
    query = replace(workload.query, hints=Hints(budget=budget, evict=policy))
    plan = make_plan(query, check_query(query))
    cells, wanted = Redealt(plan, Random(seed)), answer(query, workload.history)
    emitted = due = 0
    for number in range(workload.batches):
        results = cells.step(workload.batch(plan, number))
        found, exact = rows_of(results), wanted.get(number, Counter())
        assert found <= exact, f"batch {number}"
        held = sum(sum(r.metrics.state_rows.values()) + r.metrics.promise_rows for r in results)
        assert budget.rows is None or held <= budget.rows, f"batch {number}"
        assert budget.rows is not None or sum(r.metrics.state_bytes for r in results) <= budget.amount * 1024
        emitted, due = emitted + found.total(), due + exact.total()
        losses = [r.metrics.loss for r in results if r.metrics.loss is not None]
        assert sum(loss.emitted for loss in losses) == emitted
        assert budget.rows is None or sum(loss.due for loss in losses) == due, f"batch {number}"
    assert budget.rows != 1_000_000 or emitted == due


@pytest.mark.parametrize("kind", some(("left", "full", "exists", "not exists", "mixed"), "mixed"))
def test_under_a_budget_an_outer_join_gives_no_row_that_is_not_due(kind: str) -> None:
    @settings(FEW, max_examples=-(-EXAMPLES // 3))
    @given(outer_workloads(KINDS[kind]), st.sampled_from([1, 3, 6, 12]), SEEDS)
    def look(workload: OuterWorkload, rows: int, seed: int) -> None:
        query = replace(workload.query, hints=Hints(budget=Budget(rows, "ROWS")))
        assume(not simplified(query).is_inner and not obstacles(query))
        one = replace(workload, query=query).moved_on()
        plan = make_plan(query, check_query(query))
        cells = Redealt(plan, Random(seed), one.absent(plan))
        whole, found = Evaluator(one.query, one.history).answer(), Counter[tuple[Any, ...]]()
        for number in range(one.batches):
            results = cells.step(one.batch(plan, number))
            found += rows_of(results)
            assert not found - whole, f"early, twice or wrong in batch {number}"
            held = sum(sum(r.metrics.state_rows.values()) + r.metrics.promise_rows for r in results)
            assert held <= rows, f"batch {number}"

    look()
