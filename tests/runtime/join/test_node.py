"""One node: matches when they come, rows without one when that is certain, EXISTS and NOT EXISTS at the first match."""

from __future__ import annotations

import pytest

from tests.runtime.driving import Driver, rows_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "ab"
)
ON = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5"
EXISTS = f"{STREAMS} SELECT a.n FROM a WHERE {{}}EXISTS (SELECT 1 FROM b WHERE {ON});"


def outer(kind: str) -> Driver:
    return Driver(f"{STREAMS} SELECT a.n, b.n AS m FROM a {kind} JOIN b ON {ON};")


def key(row: tuple[int | None, ...]) -> tuple[tuple[bool, int], ...]:
    return tuple((v is None, v or 0) for v in row)


def test_a_kept_row_comes_with_its_matches_or_once_alone() -> None:
    driver = outer("LEFT")
    assert rows_of(driver.step(a=[(1, 0, 1), (2, 0, 2)], b=[(1, 1, 10)])) == [(1, 10)]
    assert rows_of(driver.step(a=[], b=[(1, 2, 11)])) == [(1, 11)]
    assert rows_of(driver.step(a=[], b=[(9, 6, 12)])) == [(2, None)]
    assert rows_of(driver.step(a=[], b=[(9, 7, 13)])) == []
    assert driver.stored("a") == 0


def test_both_sides_of_a_full_join_are_kept() -> None:
    driver = outer("FULL")
    first = driver.step(a=[(1, 0, 1)], b=[(2, 0, 20)])
    second = driver.step(a=[(9, 50, 9)], b=[(8, 50, 8)])
    found = [*zip(*(c.to_pylist() for r in (first, second) for c in [r.rows.column(0)]), strict=False)]
    assert found == []  # Nothing was there in the first step.
    given = zip(*(column.to_pylist() for column in second.rows.columns), strict=True)
    assert sorted(given, key=key) == sorted([(1, None), (None, 20)], key=key)


@pytest.mark.parametrize(("negated", "first", "last"), [("", [(1,)], []), ("NOT ", [], [(2,)])])
def test_exists_answers_at_the_first_match_and_lets_the_row_go(
    negated: str, first: list[tuple[int]], last: list[tuple[int]]
) -> None:
    driver = Driver(EXISTS.format(negated))
    assert rows_of(driver.step(a=[(1, 0, 1), (2, 0, 2)], b=[(1, 1, 10), (1, 2, 11)])) == first
    assert driver.stored("a") == 1
    assert rows_of(driver.step(a=[], b=[(1, 3, 12)])) == []
    assert rows_of(driver.step(a=[], b=[(9, 6, 13)])) == last
    assert driver.stored("a") == 0


def test_a_row_that_can_match_nothing_is_given_at_once() -> None:
    assert rows_of(outer("LEFT").step(a=[(None, 0, 1)], b=[])) == [(1, None)]


def test_many_partners_of_one_hot_key_mark_the_row_once() -> None:
    driver = outer("LEFT")
    assert len(rows_of(driver.step(a=[(1, 0, 1)], b=[(1, 1, n) for n in range(200)]))) == 200
    assert rows_of(driver.step(a=[], b=[(9, 9, 0)])) == []
