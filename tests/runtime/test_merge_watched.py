"""Merging where declarations watch single rows: FOLLOWS, COOCCURS, ARRIVES BY (MEMORY, section 7; DESIGN section 1).

Rows are watched as they come and then merged, so the answer is that of the full history and the state is bounded; a
row that breaks a declaration is still found by the row that stands for those that it meets.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.plan.runnable import unkept_bounds
from tests.runtime.driving import Driver, plan_of
from tests.runtime.join.test_merge import Run, check_against_reference

# The time of a row goes by its flag, so that every match lies in the window.
CASES = {
    "a merged parent": (
        "CREATE STREAM s (f BOOLEAN, n BIGINT, FOLLOWS t (f) ON (f) WITHIN 90 ROWS);"
        "CREATE STREAM t (f BOOLEAN, n BIGINT);",
        "SELECT s.f FROM s, t WHERE s.f = t.f;",
    ),
    "a merged child, since u is never closed": (
        "CREATE STREAM s (f BOOLEAN, n BIGINT, FOLLOWS t (f) ON (f) WITHIN 90 ROWS);"
        "CREATE STREAM t (f BOOLEAN, n BIGINT); CREATE STREAM u (f BOOLEAN, n BIGINT);",
        "SELECT s.f, u.f AS g FROM s, t, u WHERE s.f = t.f AND u.f;",
    ),
    "counted in the order of ARRIVES BY": (
        "CREATE STREAM s (f BOOLEAN, n BIGINT, ARRIVES BY n, FOLLOWS t (f) ON (f) WITHIN 90 ROWS);"
        "CREATE STREAM t (f BOOLEAN, n BIGINT, ARRIVES BY n); CREATE STREAM u (f BOOLEAN, n BIGINT, ARRIVES BY n);",
        "SELECT s.f, u.f AS g FROM s, t, u WHERE s.f = t.f AND u.f;",
    ),
    "a window of time": (
        "CREATE STREAM s (f BOOLEAN, at BIGINT, EVENT TIME at, COOCCURS (f) AND t (f) WINDOW [-1, 1]);"
        "CREATE STREAM t (f BOOLEAN, at BIGINT, EVENT TIME at);",
        "SELECT s.f FROM s, t WHERE s.f = t.f;",
    ),
    "FOLLOWS within a span, and extremes": (
        "CREATE STREAM s (f BOOLEAN, x BIGINT, at BIGINT, EVENT TIME at, FOLLOWS t (f) ON (f) WITHIN 1);"
        "CREATE STREAM t (f BOOLEAN, x BIGINT, at BIGINT, EVENT TIME at);",
        "SELECT DISTINCT s.f FROM s, t WHERE s.f = t.f AND s.x < t.x;",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_watched_rows_are_merged_and_the_answer_is_that_of_all_rows(case: str) -> None:
    (query,) = penstock.parse("".join(CASES[case])).queries
    verdict = check_query(query)
    assert verdict.verdict == "bounded"
    draw = random.Random(case)
    results = 0
    for _ in range(4):
        run = Run(query, verdict)
        run.bounds = {alias: rows for alias, rows in run.bounds.items() if rows is not None}
        assert unkept_bounds(run.plan) == ()
        assert any(source.merge is not None for source in run.plan.sources)
        batches = []
        arrival = 0
        for _ in range(4):
            rows: dict[str, list[dict[str, object]]] = {}
            for source in query.all_sources:
                made: list[dict[str, object]] = []
                for _ in range(draw.choice((0, 2, 4))):
                    arrival += draw.choice((0, 1))
                    flag = draw.choice((True, False, None))
                    made.append({"f": flag, "n": arrival, "at": 5 if flag else 9, "x": draw.randint(0, 5)})
                names = [c.name for c in source.stream.columns]
                rows[source.stream.name] = [{name: row[name] for name in names} for row in made]
            batches.append(rows)
        results += check_against_reference(run, batches, {"f": pa.bool_()})
    assert results


def test_a_row_that_breaks_follows_is_found_by_the_row_that_stands_for_those_it_meets() -> None:
    driver = Driver(
        "CREATE STREAM s (k BIGINT, CHECK (k >= 0 AND k <= 3), FOLLOWS t (k) ON (k) WITHIN 1 ROWS);"
        "CREATE STREAM t (k BIGINT, CHECK (k >= 0 AND k <= 3)); CREATE STREAM u (k BIGINT);"
        "SELECT s.k FROM s, t, u WHERE s.k = t.k AND u.k = 1;"
    )
    assert all(source.merge is not None for source in driver.plan.sources)
    driver.step(s=[(1, 0, 0), (1, 0, 0), (2, 0, 0)])
    assert driver.step(t=[(3, 0, 0), (3, 0, 0)]).metrics.violations == {}
    driver.restart()
    late = driver.step(t=[(1, 0, 0)]).metrics.violations
    assert late == {"FOLLOWS t (k) ON (k) WITHIN 1 ROWS ON s": 1}
    # The row is joined all the same: two rows of s were merged, and count as two.
    assert driver.step(u=[(1, 0, 0)]).rows.num_rows == 2


def test_a_match_outside_of_its_window_is_found_by_the_row_that_stands_for_others() -> None:
    driver = Driver(
        "CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, CHECK (k >= 0 AND k <= 3),"
        " COOCCURS (k) AND t (k) WINDOW [0, 5]);"
        "CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, CHECK (k >= 0 AND k <= 3));"
        "SELECT s.k FROM s, t WHERE s.k = t.k;"
    )
    driver.step(s=[(1, 10, 0), (1, 11, 0)])
    assert driver.stored("s") == 1
    assert driver.step(t=[(1, 12, 0)]).metrics.violations == {}
    broken = driver.step(t=[(1, 90, 0)]).metrics.violations
    assert list(broken.values()) == [1]


def test_constants_of_a_timestamp_are_kept_as_they_are_written() -> None:
    # Which instant they are depends on the session's time zone: spark/asked_before.py asks Spark, and here it is UTC.
    plan = plan_of(
        "CREATE STREAM s (g BOOLEAN, x TIMESTAMP); CREATE STREAM t (y TIMESTAMP);"
        "SELECT DISTINCT g FROM s, t WHERE x < y AND y > TIMESTAMP '2024-03-01 12:00:00';"
    )
    assert unkept_bounds(plan) == ()
    (moments,) = [part for part in plan.by_alias["t"].merge.parts if part.column == "y"]  # type: ignore[union-attr]
    assert moments.least == "2024-03-01 12:00:00"
