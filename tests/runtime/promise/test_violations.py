"""A broken promise is detected, counted, and answered as its policy says (DESIGN sections 3 and 7)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.runtime import PromiseBroken
from penstock.testing import Run
from tests.runtime.driving import Driver, rows_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"


def join(on_s: str, on_t: str) -> str:
    return (
        f"CREATE STREAM s ({FIELDS}{on_s and ', ' + on_s}); CREATE STREAM t ({FIELDS}{on_t and ', ' + on_t});"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN -5 AND 5;"
    )


ORDERED = "ORDERED BY ts WITHIN 2"


def late_row(policy: str) -> tuple[Driver, object]:
    driver = Driver(join(f"{ORDERED} ON VIOLATION {policy}", ORDERED))
    driver.step(s=[(1, 10, 100)], t=[(1, 10, 200), (2, 6, 201)])
    return driver, driver.step(s=[(2, 6, 101)])


def test_fail_stops_and_names_the_row() -> None:
    with pytest.raises(PromiseBroken) as caught:
        late_row("FAIL")
    assert caught.value.constraint == "ORDERED BY ts WITHIN 2 ON s"
    assert caught.value.rows.to_pylist() == [{"k": 2, "ts": 6, "n": 101}]


def test_fail_names_ten_rows_and_says_how_many_more_there_are() -> None:
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    driver = Driver(
        f"CREATE STREAM s ({fields}, EVENT TIME ts, ORDERED BY ts WITHIN 2 ON VIOLATION FAIL);"
        f"CREATE STREAM t ({fields}); SELECT s.n FROM s, t WHERE s.k = t.k;"
    )
    driver.step(s=[(1, 100, 0)])
    with pytest.raises(PromiseBroken) as caught:
        driver.step(s=[(1, ts, ts) for ts in range(86, 100)])
    assert [row["n"] for row in caught.value.rows.to_pylist()] == list(range(86, 96))
    assert str(caught.value).splitlines()[0] == "error: 12 rows of s break ORDERED BY ts WITHIN 2 ON s"


def test_quarantine_keeps_the_row_out_of_the_query() -> None:
    _, result = late_row("QUARANTINE")
    assert rows_of(result) == []  # type: ignore[arg-type]
    (held,) = result.quarantined  # type: ignore[attr-defined]
    assert (held.constraint, held.alias, held.rows.num_rows) == ("ORDERED BY ts WITHIN 2 ON s", "s", 1)
    assert result.metrics.violations == {"ORDERED BY ts WITHIN 2 ON s": 1}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("policy", "k"), [("TRUST", 2), ("ADAPT", 4)])
def test_trust_and_adapt_join_the_row_with_what_is_stored_and_adapt_widens(policy: str, k: int) -> None:
    driver, result = late_row(policy)
    assert rows_of(result) == [(101, 201)]  # type: ignore[arg-type]
    assert result.metrics.violations == {"ORDERED BY ts WITHIN 2 ON s": 1}  # type: ignore[attr-defined]
    assert result.metrics.k["ORDERED BY ts WITHIN 2 ON s"] == k  # type: ignore[attr-defined]
    again = driver.step(s=[(3, 6, 102)]).metrics
    assert again.violations == {"ORDERED BY ts WITHIN 2 ON s": 1}, "each row that breaks what is declared, for ever"
    assert again.k["ORDERED BY ts WITHIN 2 ON s"] == k


def test_order_in_rows_widens_k_to_the_distance_seen() -> None:
    driver = Driver(join("ORDERED BY ts WITHIN 1 ROWS", ORDERED))
    driver.step(s=[(1, 10, 1)])
    driver.step(s=[(2, 11, 2)])
    result = driver.step(s=[(3, 9, 3)])
    constraint = "ORDERED BY ts WITHIN 1 ROWS ON s"
    assert result.metrics.violations == {constraint: 1}
    assert result.metrics.k[constraint] == 2


def keys(policy: str) -> Driver:
    return Driver(join(f"PRIMARY KEY (k) ON VIOLATION {policy}", "PRIMARY KEY (k)"))


def test_a_key_that_comes_twice_is_found_in_one_batch_and_across_batches() -> None:
    driver = keys("TRUST")
    first = driver.step(s=[(1, 1, 1), (1, 1, 2), (2, 1, 3)])
    assert first.metrics.violations == {"PRIMARY KEY (k) ON s": 1}
    assert driver.step(s=[(2, 1, 4)]).metrics.violations == {"PRIMARY KEY (k) ON s": 1}


def test_a_key_in_quarantine_makes_no_results_and_null_in_a_key_is_a_violation() -> None:
    driver = keys("QUARANTINE")
    result = driver.step(s=[(1, 1, 1), (1, 1, 2), (None, 1, 3)], t=[(1, 1, 9)])
    assert rows_of(result) == [(1, 9)]
    assert sum(q.rows.num_rows for q in result.quarantined) == 2
    assert result.metrics.violations == {"PRIMARY KEY (k) ON s": 2}


def test_under_adapt_a_key_that_came_twice_closes_nothing_any_more() -> None:
    driver = keys("ADAPT")
    driver.step(s=[(1, 1, 1)])
    driver.step(s=[(1, 1, 2)])
    assert rows_of(driver.step(t=[(1, 1, 9)])) == [(1, 9), (2, 9)]
    assert driver.stored("t") == 1
    assert rows_of(driver.step(s=[(1, 1, 3)])) == [(3, 9)]


def test_under_trust_it_still_does() -> None:
    driver = keys("TRUST")
    driver.step(s=[(1, 1, 1)])
    driver.step(s=[(1, 1, 2)])
    assert rows_of(driver.step(t=[(1, 1, 9)])) == [(1, 9), (2, 9)]
    assert driver.stored("t") == 0


FOLLOWS = "FOLLOWS s (k) ON (k) WITHIN 0 ROWS"


def test_a_parent_that_comes_after_its_child_breaks_follows_and_adapt_widens_k() -> None:
    # The child waits for u, so it is still stored when its parent comes too late.
    driver = Driver(
        f"CREATE STREAM s ({FIELDS}); CREATE STREAM u ({FIELDS}); CREATE STREAM t ({FIELDS}, {FOLLOWS});"
        "SELECT s.n, t.n AS tn, u.n AS un FROM s, t, u WHERE s.k = t.k AND t.n = u.n;"
    )
    driver.step(s=[(1, 1, 1)], t=[(1, 1, 9)])
    result = driver.step(s=[(2, 1, 2), (1, 1, 3)])
    constraint = "FOLLOWS s (k) ON (k) WITHIN 0 ROWS ON t"
    assert result.metrics.violations == {constraint: 1}
    assert result.metrics.k[constraint] == 2
    assert rows_of(driver.step(u=[(0, 1, 9)])) == [(1, 9, 9), (3, 9, 9)]


def test_a_match_outside_its_window_breaks_cooccurs_and_is_still_a_result() -> None:
    window = "COOCCURS (k) AND s (k) WINDOW [-1, 1]"
    driver = Driver(join("", f"{window} ON VIOLATION ADAPT"))
    driver.step(s=[(1, 1, 1)])
    result = driver.step(t=[(1, 4, 9)])
    assert rows_of(result) == [(1, 9)]
    assert result.metrics.violations == {f"{window} ON t": 1}
    assert result.metrics.k[f"{window} ON t"] == 3
    assert driver.step(t=[(1, 4, 10)]).metrics.violations == {f"{window} ON t": 1}
    assert driver.step(t=[(1, 2, 11)]).metrics.violations == {}


@pytest.mark.parametrize(
    ("declared", "before", "after"),
    [
        ("COOCCURS (k) AND s (k) WINDOW [-2, 0]", 2, 3),
        ("COOCCURS (k) AND s (k) WINDOW [-2, -1]", 2, 3),
        ("COOCCURS (k) AND s (k) WINDOW [-2, *]", 2, 3),
        ("FOLLOWS s (k) ON (k) WITHIN 4", 4, 4),
    ],
)
def test_the_metrics_show_how_far_a_match_in_time_may_lie_as_it_was_widened(
    declared: str, before: int, after: int
) -> None:
    driver = Driver(join("", declared))
    assert driver.step(s=[(1, 1, 1)]).metrics.k[f"{declared} ON t"] == before
    result = driver.step(t=[(1, 4, 9)])
    assert result.metrics.violations == ({f"{declared} ON t": 1} if after > before else {})
    driver.restart()
    assert driver.step(s=[(2, 1, 1)]).metrics.k[f"{declared} ON t"] == after


def test_a_restored_cell_remembers_what_it_adapted_to() -> None:
    driver, _ = late_row("ADAPT")
    driver.restart()
    after = driver.step(s=[(3, 6, 102)]).metrics
    assert (after.k["ORDERED BY ts WITHIN 2 ON s"], after.violations["ORDERED BY ts WITHIN 2 ON s"]) == (4, 1)


def test_rows_of_both_streams_that_lie_outside_a_window_are_counted_and_handed_over() -> None:
    driver = Driver(join(f"{ORDERED}, COOCCURS (k) AND t (k) WINDOW [-2, 2] ON VIOLATION QUARANTINE", ORDERED))
    driver.step(s=[(1, 10, 1)], t=[(2, 10, 2)])
    result = driver.step(s=[(2, 14, 3)], t=[(1, 14, 4)])
    assert rows_of(result) == []
    assert sorted(n for held in result.quarantined for n in held.rows.column("n").to_pylist()) == [3, 4]
    assert sum(result.metrics.violations.values()) == 2


@pytest.mark.parametrize("cells", [1, 4])
def test_fail_counts_the_rows_of_all_cells_and_of_all_constraints(cells: int) -> None:
    failing = "PRIMARY KEY (k) ON VIOLATION FAIL"
    run = Run(join(f"{failing}, ORDERED BY ts WITHIN 2 ON VIOLATION FAIL", ORDERED), cells=cells)
    some = pa.table({"k": list(range(20)), "ts": [9] * 20, "n": list(range(20))})
    run.step({"s": some})
    late = pa.table({"k": [*range(16), 99], "ts": [9] * 16 + [1], "n": [1] * 17})
    with pytest.raises(PromiseBroken) as caught:
        run.step({"s": late})
    told = {"a row of s breaks ORDERED BY ts WITHIN 2 ON s", "16 rows of s break PRIMARY KEY (k) ON s"}
    assert set(caught.value.message.split("; ")) == told
    assert caught.value.detail is not None
    assert caught.value.detail.endswith("; and 7 more")
    assert caught.value.detail.count("k = ") == 10
