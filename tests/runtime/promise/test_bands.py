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
