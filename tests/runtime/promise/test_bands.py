"""COOCCURS and FOLLOWS within a span: a match outside its window breaks it, the last row did, and ADAPT widens it."""

from __future__ import annotations

import pytest

from penstock.runtime.promise.bands import BandWatch
from tests.runtime.driving import Driver

SCRIPT = (
    "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, COOCCURS (k) AND t (k) WINDOW [-2, 3]{});"
    "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts);"
    "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
)
CONSTRAINT = "COOCCURS (k) AND t (k) WINDOW [-2, 3] ON s"


def driver(policy: str = "") -> Driver:
    return Driver(SCRIPT.format(policy))


def watch(of: Driver) -> BandWatch:
    (found,) = (w for w in of.cell.watches if isinstance(w, BandWatch))
    return found


@pytest.mark.parametrize(("theirs", "broken"), [(8, 0), (13, 0), (7, 1), (14, 1)])
def test_the_ends_of_the_window_belong_to_it(theirs: int, broken: int) -> None:
    result = driver().step(s=[(1, 10, 1)], t=[(1, theirs, 2)])
    assert result.metrics.violations.get(CONSTRAINT, 0) == broken


def test_rows_of_other_keys_and_without_one_break_nothing() -> None:
    result = driver().step(s=[(1, 10, 1), (None, 10, 2)], t=[(2, 900, 3), (None, 900, 4)])
    assert result.metrics.violations == {}


def test_each_row_that_came_last_is_counted_once() -> None:
    run = driver()
    run.step(s=[(1, 10, 1), (1, 11, 2)], t=[])
    late = run.step(s=[], t=[(1, 90, 3)])
    assert late.metrics.violations == {CONSTRAINT: 1}


def test_adapt_widens_both_ends_and_trust_does_not() -> None:
    run = driver()
    run.step(s=[(1, 10, 1)], t=[(1, 20, 2)])
    assert watch(run).widened == 7
    assert watch(run).k == 10
    counted = run.step(s=[(2, 10, 1)], t=[(2, 1, 2)]).metrics
    assert counted.violations == {CONSTRAINT: 1}, "as declared, however far it was widened"
    assert counted.lost == 0
    run.restart()
    assert watch(run).widened == 7
    trusting = driver(" ON VIOLATION TRUST")
    trusting.step(s=[(1, 10, 1)], t=[(1, 20, 2)])
    assert watch(trusting).widened == 0


def test_times_at_the_ends_of_the_range_do_not_wrap() -> None:
    result = driver().step(s=[(1, -(2**63), 1)], t=[(1, 2**63 - 1, 2)])
    assert result.metrics.violations == {CONSTRAINT: 1}


NULL_TIMES = {
    "cooccurs": (", COOCCURS (k) AND b (k) WINDOW [0, 5]{0}", ""),
    "follows": (", FOLLOWS b (k) ON (k) WITHIN 5{0}", ""),
    "foreign key": (", FOREIGN KEY (k) REFERENCES b (k) WINDOW [0, 5]{0}", ", PRIMARY KEY (k)"),
}


def null_times(which: str, query: str, policy: str = "") -> Driver:
    own, other = NULL_TIMES[which]
    return Driver(
        f"CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{own.format(policy)});"
        f"CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{other}); SELECT {query};"
    )


@pytest.mark.parametrize("which", NULL_TIMES)
@pytest.mark.parametrize("null", ["a", "b"])
def test_a_row_without_a_time_breaks_what_is_said_of_the_times_of_matches(which: str, null: str) -> None:
    driver = null_times(which, "a.k FROM a, b WHERE a.k = b.k")
    together = driver.step(a=[(7, None if null == "a" else 3, 0)], b=[(7, None if null == "b" else 3, 0)])
    assert together.rows.num_rows == 1  # It joins with what is there, as any row that breaks a promise.
    assert list(together.metrics.violations.values()) == [1]
    later = driver.step(a=[(8, 100, 0)], b=[(8, 100, 0), (9, None, 0)])
    assert list(later.metrics.violations.values()) == [1]
    assert [k for k in driver.step(a=[(1, 999, 0)], b=[(2, 999, 0)]).metrics.k.values() if k > 5] == []


@pytest.mark.parametrize("which", NULL_TIMES)
def test_a_row_without_a_time_goes_to_quarantine(which: str) -> None:
    driver = null_times(which, "a.k FROM a, b WHERE a.k = b.k", " ON VIOLATION QUARANTINE")
    step = driver.step(a=[(7, None, 0)], b=[(7, 3, 0)])
    assert step.rows.num_rows == 0
    assert [(q.alias, q.rows.num_rows) for q in step.quarantined] == [("a", 1)]


@pytest.mark.parametrize("which", NULL_TIMES)
@pytest.mark.parametrize(
    "query",
    [
        "a.k FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9",
        "a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9",
        "a.k FROM a [RANGE 9], b [RANGE 9] WHERE a.k = b.k",
    ],
)
def test_where_the_query_compares_the_times_a_row_without_one_has_no_match_to_break(which: str, query: str) -> None:
    step = null_times(which, query).step(a=[(7, None, 0), (None, None, 0)], b=[(7, None, 0)])
    assert step.metrics.violations == {}


@pytest.mark.parametrize("which", NULL_TIMES)
def test_a_row_without_a_key_demands_nothing(which: str) -> None:
    driver = null_times(which, "a.k FROM a, b WHERE a.k = b.k")
    assert driver.step(a=[(None, None, 0)], b=[(7, 3, 0)]).metrics.violations == {}
