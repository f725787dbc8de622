"""CLUSTERED BY (KMON section 5): when a cluster ends, what it lets go, what breaks it, and what widens it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk, PromiseBroken
from tests.runtime.driving import Driver, rows_of
from tests.runtime.test_cells import share

CLUSTER = "CLUSTERED BY k WITHIN 1 ROWS"
CONSTRAINT = f"{CLUSTER} ON s"


def many_to_one(policy: str = "ADAPT", *, filtered: bool = False) -> Driver:
    """Rows of s name a row of t by its key; only the end of a cluster of s lets a row of t go."""
    return Driver(
        f"CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, {CLUSTER} ON VIOLATION {policy});"
        "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, PRIMARY KEY (k));"
        f"SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k {'AND s.ts = 1' if filtered else ''};"
    )


def test_a_row_leaves_when_more_than_k_others_followed_the_first_with_its_value() -> None:
    driver = many_to_one()
    driver.step(t=[(5, 0, 1)])
    assert rows_of(driver.step(s=[(5, 0, 10), (8, 0, 11)])) == [(10, 1)]
    assert driver.stored("t") == 1
    assert rows_of(driver.step(s=[(5, 0, 12)])) == [(12, 1)]
    assert driver.stored("t") == 1
    driver.step(s=[(9, 0, 13)])
    assert driver.stored("t") == 0


def test_a_row_whose_cluster_has_ended_leaves_as_it_comes() -> None:
    driver = many_to_one()
    driver.step(s=[(5, 0, 10), (6, 0, 11), (7, 0, 12)])
    driver.restart()
    result = driver.step(t=[(5, 0, 1), (6, 0, 2)])
    assert rows_of(result) == [(10, 1), (11, 2)]
    assert driver.stored("t") == 1


def test_rows_that_a_filter_drops_and_nulls_are_counted_and_a_null_is_no_value() -> None:
    driver = many_to_one(filtered=True)
    driver.step(t=[(5, 0, 1)], s=[(5, 0, 10)])
    driver.step(s=[(None, 1, 11), (None, 1, 12)])
    assert driver.stored("t") == 0
    driver.step(t=[(6, 0, 2)], s=[(None, 1, 13), (None, 1, 14), (None, 0, 15)])
    assert driver.stored("t") == 1


def test_a_value_that_comes_again_after_its_cluster_breaks_it_and_adapt_opens_it_again() -> None:
    driver = many_to_one()
    driver.step(s=[(5, 0, 10), (6, 0, 11), (7, 0, 12)])
    result = driver.step(s=[(5, 0, 13)])
    assert result.metrics.violations == {CONSTRAINT: 1}
    assert result.metrics.k == {CONSTRAINT: 2}
    driver.restart()
    assert rows_of(driver.step(t=[(5, 0, 1)])) == [(10, 1), (13, 1)]
    assert driver.stored("t") == 1
    driver.step(s=[(8, 0, 14), (9, 0, 15)])
    assert driver.stored("t") == 0


@pytest.mark.parametrize("policy", ["TRUST", "QUARANTINE"])
def test_under_trust_and_quarantine_k_stays(policy: str) -> None:
    driver = many_to_one(policy)
    driver.step(s=[(5, 0, 10), (6, 0, 11), (7, 0, 12)])
    result = driver.step(s=[(5, 0, 13)], t=[(5, 0, 1)])
    assert result.metrics.violations == {CONSTRAINT: 1}
    assert rows_of(result) == ([(10, 1), (13, 1)] if policy == "TRUST" else [(10, 1)])
    assert sum(q.rows.num_rows for q in result.quarantined) == (policy == "QUARANTINE")
    assert result.metrics.k == {CONSTRAINT: 1}


def test_fail_names_the_row_even_within_one_batch() -> None:
    driver = many_to_one("FAIL")
    with pytest.raises(PromiseBroken) as caught:
        driver.step(s=[(5, 0, 10), (6, 0, 11), (7, 0, 12), (5, 0, 13)])
    assert caught.value.rows.to_pylist() == [{"k": 5, "n": 13}]


def test_an_ended_cluster_is_forgotten_once_the_key_it_names_has_come() -> None:
    driver = many_to_one()
    for number in range(0, 60, 2):
        result = driver.step(s=[(number, 0, 1), (number + 1, 0, 1)], t=[(number, 0, 2), (number + 1, 0, 2)])
    assert sum(result.metrics.state_rows.values()) <= 3
    assert result.metrics.promise_rows <= 4


@pytest.mark.parametrize("also", ["PRIMARY KEY (k, n)", "EVENT TIME k"])
def test_no_cell_of_a_hypercube_holds_clusters_that_no_row_there_names(also: str) -> None:
    """The column of one cluster travels with the keys of the other, since a key or the clock is made of it."""
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    one = Driver(
        f"CREATE STREAM s ({fields}, CLUSTERED BY k WITHIN 6 ROWS, CLUSTERED BY ts WITHIN 6 ROWS, {also});"
        f"CREATE STREAM t ({fields}, PRIMARY KEY (k)); CREATE STREAM u ({fields}, PRIMARY KEY (ts));"
        "SELECT s.n FROM s, t, u WHERE s.k = t.k AND s.ts = u.ts;"
    )
    cells = {place: Cell(one.plan) for place in product(range(2), repeat=2)}
    kept = []
    for number in range(40):
        tables = {
            "s": [(n // 3, n // 2, n) for n in range(6 * number, 6 * number + 6)],
            "t": [(k, 0, 0) for k in range(2 * number, 2 * number + 2)],
            "u": [(0, ts, 0) for ts in range(3 * number, 3 * number + 3)],
        }
        chunks = [Chunk.of(one.plan, s, 0, _table(rows)) for s, rows in tables.items()]
        results = [
            cell.step(Batch(number, tuple(share(one.plan, chunk, place) for chunk in chunks)))
            for place, cell in cells.items()
        ]
        assert sum(result.rows.num_rows for result in results) == 6
        kept.append(sum(result.metrics.promise_rows for result in results))
    # A sample of the ended clusters stays: 1 in 100.
    assert kept[-1] <= max(kept[:10]) + 4


def _table(rows: Sequence[tuple[int, ...]]) -> pa.Table:
    return pa.table({c: pa.array([row[n] for row in rows], pa.int64()) for n, c in enumerate(("k", "ts", "n"))})
