"""Which promises are remembered where several constraints would do (KMON section 8): by cost, chosen anew as rows come.

That the answer is the same whatever is chosen is shown by `test_broken_promises.py` and the reference tests; here, what
is chosen, that the metrics say so, and that it keeps less.
"""

from __future__ import annotations

import pytest

from penstock.explain.plan_text import memory_lines
from tests.runtime.driving import Driver

CLUSTERED = "CLUSTERED BY k WITHIN {} ROWS{}"


def driver(clustered: int, follows: int, policy: str = "") -> Driver:
    """Rows of t name rows of s, which come before them or soon after."""
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    return Driver(
        f"CREATE STREAM s ({fields}, {CLUSTERED.format(clustered, policy)});"
        f"CREATE STREAM t ({fields}, FOLLOWS s (k) ON (k) WITHIN {follows} ROWS);"
        "SELECT /*+ MONITOR(1, 0.01, 20) */ s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )


def run(one: Driver, *, rows_of_t: int, batches: int = 60) -> list[bool]:
    """Each row of s has a value of its own; `rows_of_t` rows name it as it comes. Whether clusters are used."""
    used = []
    for number in range(batches):
        result = one.step(s=[(number, 0, 0)], t=[(number, 0, n) for n in range(rows_of_t)])
        ((_, chosen),) = result.metrics.used.items()
        used.append(bool(chosen))
        if number == batches // 2:
            one.restart()
    return used


def test_clusters_that_end_long_before_follows_are_used() -> None:
    one = driver(1, 30)
    assert all(run(one, rows_of_t=2))
    assert one.stored("t") <= 2 * 3


def test_clusters_that_end_long_after_follows_are_not_used_nor_remembered() -> None:
    one = driver(30, 1)
    assert not any(run(one, rows_of_t=2))
    assert sum(watch.promise_rows for watch in one.cell.watches) == 0
    assert one.stored("t") <= 2 * 3


def test_the_rate_of_the_rows_that_wait_decides() -> None:
    # At equal rates 10 values would be remembered to let 4 rows go earlier; with 9 rows of t for each of s, 36 rows.
    slow, fast = run(driver(10, 14), rows_of_t=1), run(driver(10, 14), rows_of_t=9)
    assert not slow[0]
    assert not fast[0]
    assert not slow[-1]
    assert fast[-1]


def test_what_fails_or_keeps_rows_out_is_always_watched() -> None:
    for policy in ("FAIL", "QUARANTINE"):
        one = driver(30, 1, f" ON VIOLATION {policy}")
        assert one.step(s=[(1, 0, 0)]).metrics.used == {}


@pytest.mark.parametrize(
    ("clustered", "follows", "says"),
    [
        (1, 30, "is used for rows of t: at equal rates they would keep 1 promises, and 29 rows would leave earlier"),
        (
            30,
            1,
            "is not used for rows of t: at equal rates they would keep 30 promises, and 0 rows would leave earlier",
        ),
    ],
)
def test_explain_says_what_was_chosen_and_why(clustered: int, follows: int, says: str) -> None:
    (line,) = memory_lines(driver(clustered, follows).plan, "s")
    assert says in line
