"""A punctuation goes when no stream that carries its value stores it, or may bring it again."""

from __future__ import annotations

from penstock.runtime.promise.punctuated import PunctuatedWatch
from tests.runtime.driving import Driver

FIELDS = "k BIGINT, ts BIGINT, n BIGINT"
MARKED = "PUNCTUATED ON (k) WHEN n < 0"


def driver(s: str, t: str, window: str = "") -> Driver:
    return Driver(
        f"CREATE STREAM s ({FIELDS}, {s}); CREATE STREAM t ({FIELDS}, {t});"
        f"SELECT s.n, t.n AS tn FROM s{window}, t WHERE s.k = t.k;"
    )


def held(run: Driver) -> int:
    return sum(w.promise_rows for w in run.cell.watches if isinstance(w, PunctuatedWatch))


def test_two_punctuations_that_close_each_other_go_together() -> None:
    run = driver(MARKED, MARKED)
    run.step(s=[(1, 0, -1)], t=[])
    assert held(run) == 1
    run.step(s=[], t=[(1, 0, -1)])
    assert held(run) == 0


def test_it_stays_while_its_value_may_come() -> None:
    run = driver(MARKED, "CHECK (ts > -9)")
    run.step(s=[(1, 0, -1)], t=[])
    run.step(s=[], t=[(2, 0, 1)])
    assert held(run) == 1


def test_a_key_that_came_ends_the_need() -> None:
    run = driver(MARKED, "PRIMARY KEY (k)")
    run.step(s=[(1, 0, -1)], t=[])
    assert held(run) == 1
    run.step(s=[], t=[(1, 0, 5)])
    assert held(run) == 0
    assert run.stored("t") == 0


def test_a_punctuation_without_a_value_is_not_held() -> None:
    run = driver(MARKED, MARKED)
    run.step(s=[(None, 0, -1)], t=[])
    assert held(run) == 0


def test_what_is_needed_survives_a_restart() -> None:
    run = driver(MARKED, MARKED)
    run.step(s=[(1, 0, -1), (2, 0, -1)], t=[])
    run.restart()
    run.step(s=[], t=[(2, 0, -1)])
    assert held(run) == 1
