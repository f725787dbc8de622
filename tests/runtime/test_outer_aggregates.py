"""GROUP BY over outer joins, EXISTS and NOT EXISTS on the core, against SQL over the full history: random cases.

A window is given at most once, with the values that it has at the end of the whole history: so it never comes before
its last outer or anti row, which may be certain long after its event time. Running groups, in each batch: the groups
that changed, with the aggregates of the rows that the same query without groups has given so far; that those are
right and come once is what `test_outer.py` shows. Where `check` calls the query bounded, nothing is missing in the end.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.model.clauses import Output
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.relation import JoinKind
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import Cell, GroupStage, given_name
from tests.measure import size
from tests.runtime.aggregates import Row, Run, aggregates_over, answers
from tests.runtime.driving import Driver
from tests.runtime.outer_reference import Combined, Evaluator
from tests.runtime.outer_workloads import OuterWorkload, Wanted, outer_workloads
from tests.runtime.reference import Arrived
from tests.runtime.test_outer import KINDS

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(3, 2000)))
RANDOM = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
COLUMNS = ("n", "a", "b", "ts")
NULLS = Arrived(0, 0, dict.fromkeys(COLUMNS))
CASES = {
    "left": KINDS["left"],
    "right": KINDS["right"],
    "full": KINDS["full"],
    "exists": KINDS["exists"],
    "not exists over joins": KINDS["not exists over joins"],
    "mixed": Wanted(most_sources=3),
    "exists and not exists": Wanted(tuple(JoinKind), 3, (False, True)),
}


def present(combined: Combined) -> dict[str, Arrived]:
    """A result with rows of NULLs for what is absent."""
    return {alias: NULLS if row is None else row for alias, row in combined.items()}


def grouped(workload: OuterWorkload, seed: int, *, windowed: bool) -> OuterWorkload:
    whole = workload.moved_on()
    return replace(whole, query=aggregates_over(whole.query, random.Random(seed), windowed=windowed))


def run_of(workload: OuterWorkload, is_split: bool) -> Run:
    run = Run(workload.query, cells_an_axis=2 if is_split else 1, restarts=is_split)
    whole = run.plan.tree.whole_axes
    places = product(*(range(1 if axis in whole else run.cells_an_axis) for axis in range(len(run.plan.axes))))
    run.absent = workload.absent(run.plan)
    run.cells = {place: Cell(run.plan, absent=run.absent) for place in places}
    return run


def is_bounded(run: Run) -> bool:
    findings = [entry.finding for entry in run.verdict.streams]
    return all(isinstance(finding, Bounded) for finding in findings) and not unkept_bounds(run.plan)


@pytest.mark.parametrize("kind", CASES)
def test_a_window_is_given_once_and_with_all_its_rows(kind: str) -> None:
    @RANDOM
    @given(outer_workloads(CASES[kind]), st.integers(0, 2**32), st.booleans())
    def look(workload: OuterWorkload, seed: int, is_split: bool) -> None:
        one = grouped(workload, seed, windowed=True)
        assume(not obstacles(one.query))
        run = run_of(one, is_split)
        results = [present(combined) for combined in Evaluator(one.query, one.history).results()]
        final = answers(one.query, results)
        seen: set[Row] = set()
        for number in range(one.batches):
            for group, values in run.step(one.batch(run.plan, number)):
                assert group not in seen, f"{group} again in batch {number}"
                assert final[group] == values, f"batch {number}"
                seen.add(group)
        assert run.lost == 0
        if is_bounded(run):
            assert one.left_behind(run.verdict, run.plan, run.cells.values()) == {}
            # Groups that only rows which moved the streams on stand in, whose n is negative, need not be over yet.
            ours = [result for result in results if any((row.values["n"] or 0) > 0 for row in result.values())]
            assert answers(one.query, ours).keys() - seen == set()

    look()


def plain(query: Query) -> Query:
    """The query without groups: all columns of its rows."""
    refs = [ColumnRef(source.alias, column) for source in query.sources for column in COLUMNS]
    return query.with_block(
        replace(query.block, group_by=(), outputs=tuple(Output(f"{r.alias}_{r.column}", r) for r in refs))
    )


@pytest.mark.parametrize("kind", CASES)
def test_running_groups_follow_the_rows_as_they_are_given(kind: str) -> None:
    @RANDOM
    @given(outer_workloads(CASES[kind]), st.integers(0, 2**32), st.booleans())
    def look(workload: OuterWorkload, seed: int, is_restarted: bool) -> None:
        one = grouped(workload, seed, windowed=False)
        assume(not obstacles(one.query))
        run = run_of(one, False)
        run.restarts = is_restarted
        bare = plain(one.query)
        bare_plan = make_plan(bare, check_query(bare))
        cell = Cell(bare_plan, absent=one.absent(bare_plan))
        so_far: list[dict[str, Arrived]] = []
        before: dict[Row, Row] = {}
        for number in range(one.batches):
            rows = cell.step(one.batch(bare_plan, number)).rows.to_pylist()
            so_far += [
                {s.alias: Arrived(0, 0, {c: row[f"{s.alias}_{c}"] for c in COLUMNS}) for s in bare.sources}
                for row in rows
            ]
            after = answers(one.query, so_far)
            changed = {group: values for group, values in after.items() if before.get(group) != values}
            given_out = run.step(one.batch(run.plan, number))
            assert len(given_out) == len(dict(given_out)), f"a group twice in batch {number}"
            assert dict(given_out) == changed, f"batch {number}"
            before = after
        assert not is_bounded(run) or one.left_behind(run.verdict, run.plan, run.cells.values()) == {}
        assert run.lost == 0

    look()


SCRIPT = """
CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0{policy});
CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0);
SELECT window(s.ts, 10).start AS since, count(*) AS rows, count(t.n) AS met, sum(t.n) AS total
FROM s LEFT JOIN t ON s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 30
GROUP BY window(s.ts, 10);
"""


def windows_of(driver: Driver, stage: GroupStage, number: int, **rows: list[tuple[int | None, ...]]) -> list[Any]:
    result = driver.step(**rows)
    given_out = stage.step(number, result.rows, result.frontier)
    return [
        tuple(row[c] for c in ("__ps_w0", *(given_name(n) for n in range(3)))) for row in given_out.rows.to_pylist()
    ]


def test_a_window_waits_for_its_last_outer_row() -> None:
    driver = Driver(SCRIPT.replace("{policy}", ""))
    stage = GroupStage(driver.plan)
    assert windows_of(driver, stage, 0, s=[(1, 3, 0), (2, 9, 0)], t=[(1, 4, 7)]) == []
    # The clock of s has passed the window by far; its row at 9 may still be met until t has passed 39.
    assert windows_of(driver, stage, 1, s=[(3, 100, 0)], t=[(9, 39, 0)]) == []
    assert windows_of(driver, stage, 2, t=[(2, 39, 5)]) == []
    assert windows_of(driver, stage, 3, t=[(9, 40, 0)]) == [(0, 2, 2, 12)]
    # Row 3 of s, at 100, met nothing.
    assert windows_of(driver, stage, 4, s=[(9, 200, 0)], t=[(9, 200, 0)]) == [(100, 1, 0, None)]


@pytest.mark.parametrize("policy", ["TRUST", "ADAPT"])
def test_a_late_row_of_a_window_that_was_given_is_lost_and_counted(policy: str) -> None:
    driver = Driver(SCRIPT.replace("{policy}", f" ON VIOLATION {policy}"))
    stage = GroupStage(driver.plan)
    windows_of(driver, stage, 0, s=[(1, 3, 0)], t=[])
    assert windows_of(driver, stage, 1, s=[(1, 50, 0)], t=[(9, 50, 0)]) == [(0, 1, 0, None)]
    result = driver.step(s=[(1, 5, 0)])
    assert stage.step(2, result.rows, result.frontier).lost == 1


def test_windows_of_the_optional_side_leave_out_what_has_no_match() -> None:
    on = "FROM s LEFT JOIN t ON s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 30"
    script = SCRIPT.replace("{policy}", "").split("SELECT")[0]
    driver = Driver(f"{script} SELECT window(t.ts, 10).start AS since, count(*) AS c {on} GROUP BY window(t.ts, 10);")
    assert driver.plan.inner, "as no window holds a NULL, this is an inner join"


@pytest.mark.parametrize("join", ["LEFT", "FULL"])
def test_matches_are_counted_and_not_made(join: str) -> None:
    """Of nine million matches in a batch, and then four times as many, a step makes none."""
    many = 3000
    script = SCRIPT.replace("{policy}", "").split("SELECT")[0]
    driver = Driver(
        f"{script} SELECT count(*) AS n, sum(s.n) AS one, sum(t.n) AS other FROM s {join} JOIN t "
        "ON s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 30;"
    )
    assert driver.plan.aggregate is not None
    assert driver.plan.aggregate.tree is not None
    stage = GroupStage(driver.plan)
    rows: list[tuple[int | None, ...]] = [(1, 5, 1)] * many
    result = driver.step(s=[*rows, (2, 5, 7)], t=rows)
    assert stage.step(0, result.rows, result.frontier).rows.to_pylist() == [
        {given_name(0): many**2, given_name(1): many**2, given_name(2): many**2}
    ]
    # Stored rows meet those of this batch: the three passes that are new make three times as many.
    result = driver.step(s=rows, t=rows)
    assert stage.step(1, result.rows, result.frontier).rows.to_pylist() == [
        {given_name(0): 4 * many**2, given_name(1): 4 * many**2, given_name(2): 4 * many**2}
    ]
    result = driver.step(s=[(3, 99, 0)], t=[(3, 99, 0)])
    # The row that had no match is certain, and each of the last two has met the other.
    assert stage.step(2, result.rows, result.frontier).rows.to_pylist() == [
        {given_name(0): 4 * many**2 + 2, given_name(1): 4 * many**2 + 7, given_name(2): 4 * many**2}
    ]
