"""FOLLOWS within rows: closed once k rows of the parent came, counted from the batch after; a later match breaks it."""

from __future__ import annotations

import pytest

from penstock.runtime.promise.follows import FollowsWatch
from tests.runtime.driving import Driver, rows_of

SCRIPT = (
    "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, FOLLOWS t (k) ON (k) WITHIN {} ROWS);"
    "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT);"
    "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
)


def driver(k: int) -> Driver:
    return Driver(SCRIPT.format(k))


def test_a_row_leaves_after_k_rows_of_the_parent_in_later_batches() -> None:
    run = driver(2)
    run.step(s=[(1, 0, 1)], t=[(8, 0, 8), (9, 0, 9)])  # Of its own batch they do not count.
    assert run.stored("s") == 1
    run.step(t=[(9, 0, 9)])
    assert run.stored("s") == 1
    run.step(t=[(9, 0, 9)])
    assert run.stored("s") == 0


def test_within_no_rows_a_row_leaves_with_its_batch() -> None:
    run = driver(0)
    assert rows_of(run.step(s=[(1, 0, 1)], t=[(1, 0, 7)])) == [(1, 7)]
    assert run.stored("s") == 0


@pytest.mark.parametrize(("between", "broken"), [(2, 0), (3, 1)])
def test_a_match_beyond_k_breaks_it_and_widens_it(between: int, broken: int) -> None:
    run = driver(3)
    run.step(s=[(1, 0, 1)], t=[])
    late = run.step(t=[(9, 0, n) for n in range(between)])
    late = run.step(t=[(1, 0, 7)])
    assert sum(late.metrics.violations.values()) == broken
    (watch,) = (w for w in run.cell.watches if isinstance(w, FollowsWatch))
    assert watch.k == 3 + broken


def test_a_null_demands_nothing() -> None:
    run = driver(1)
    run.step(s=[(None, 0, 1)], t=[])
    assert run.step(t=[(None, 0, 1), (9, 0, 2)]).metrics.violations == {}


def test_the_count_survives_a_restart() -> None:
    run = driver(2)
    run.step(s=[(1, 0, 1)], t=[])
    run.step(t=[(9, 0, 9)])
    run.restart()
    run.step(t=[(9, 0, 9)])
    assert run.stored("s") == 0
