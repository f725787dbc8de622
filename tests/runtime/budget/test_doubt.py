"""Doubt in a tree of joins: whose partner may be lost, one join away or two; and that it ends.

Tuples are evicted by hand, so that it is known which of them are gone.
"""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver, rows_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "abc"
)
NEAR = "{1}.ts - {0}.ts BETWEEN -10 AND 10"
BLOCK = (
    f"{STREAMS} SELECT /*+ BUDGET(1000 ROWS) */ a.n, b.n AS m, c.n AS l FROM b JOIN c ON b.k = c.k AND "
    f"{NEAR.format('b', 'c')} RIGHT JOIN a ON a.k = b.k AND {NEAR.format('a', 'b')}"
)
CHAIN = (
    f"{STREAMS} SELECT /*+ BUDGET(1000 ROWS) */ a.n, b.n AS m, c.n AS l FROM a LEFT JOIN b ON a.k = b.k AND "
    f"{NEAR.format('a', 'b')} FULL JOIN c ON c.k = a.k AND {NEAR.format('a', 'c')}"
)


def evict(driver: Driver, alias: str, n: int) -> None:
    """Let the row with that n go."""
    cell = driver.cell
    synopsis = cell.synopses[alias]
    ids = synopsis.ids(ALL)
    ids = ids[synopsis.codes("n", ids) == n]
    cell.tree.evicting(alias, ids)
    synopsis.kill(ids)


def moved_on(driver: Driver, ts: int) -> list[tuple[int | None, ...]]:
    """What is given once all streams are at a time."""
    later: dict[str, list[tuple[int | None, ...]]] = {name: [(ts + n, ts, -1)] for n, name in enumerate("abc")}
    given = driver.step(**later)
    rows = zip(*(column.to_pylist() for column in given.rows.columns), strict=True)
    return sorted((row for row in rows if -1 not in row), key=str)


@pytest.mark.parametrize("is_first", [True, False], ids=["before the row came", "while it waited"])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_row_is_withheld_whose_match_lacks_a_tuple_of_a_block(is_first: bool, restarted: bool) -> None:
    """Of the match (b, c) of a row a, b was evicted; of another key nothing was."""
    driver = Driver(BLOCK)
    rows: list[tuple[int | None, ...]] = [(1, 10, 1), (2, 10, 2)]
    if is_first:
        driver.step(b=[(1, 10, 5)])
        evict(driver, "b", 5)
        driver.step(a=rows)
    else:
        driver.step(a=rows, b=[(1, 10, 5)])
        evict(driver, "b", 5)
    if restarted:
        driver.step()
        driver.restart()
    assert rows_of(driver.step(c=[(1, 11, 7), (2, 11, 8)])) == []
    assert moved_on(driver, 100) == [(2, None, None)]


def test_what_is_withheld_below_is_lost_above() -> None:
    """The row a of key 1 may have met b, so (a, NULL) is withheld: c of key 1 is not given without a match."""
    driver = Driver(CHAIN)
    driver.step(b=[(1, 10, 5)])
    evict(driver, "b", 5)
    driver.step(a=[(1, 11, 1)], c=[(1, 12, 7), (2, 12, 8)])
    assert moved_on(driver, 100) == [(None, None, 8)]


def test_a_row_that_waits_with_an_evicted_tuple_goes_with_it_and_is_not_given() -> None:
    """(a, NULL) waits for c; a is evicted."""
    driver = Driver(CHAIN)
    driver.step(a=[(1, 11, 1), (2, 11, 2)])
    driver.step(b=[(8, 25, -1)], c=[(8, 12, -1)])
    evict(driver, "a", 1)
    assert moved_on(driver, 100) == [(2, None, None)]
    moved_on(driver, 200)
    assert driver.stored("a") == 1


def test_doubt_ends_when_the_streams_have_passed_what_was_evicted() -> None:
    driver = Driver(BLOCK)
    driver.step(a=[(1, 10, 1)], b=[(1, 10, 5)])
    evict(driver, "b", 5)
    assert moved_on(driver, 50) == []
    assert driver.cell.tree.lost is not None
    moved_on(driver, 100)
    assert all(sketch.is_empty for sketch in driver.cell.tree.lost.sketches.values())
    driver.step(a=[(1, 110, 9)])
    assert (9, None, None) in moved_on(driver, 200)
    assert {alias: driver.stored(alias) for alias in "abc"} == {"a": 1, "b": 1, "c": 1}


def test_the_same_key_later_is_not_in_doubt_while_the_band_tells_it_apart() -> None:
    driver = Driver(BLOCK)
    driver.step(b=[(1, 10, 5)])
    evict(driver, "b", 5)
    driver.step(a=[(1, 20, 1), (1, 21, 2)])
    assert moved_on(driver, 100) == [(2, None, None)]


def test_a_null_key_is_in_no_doubt() -> None:
    driver = Driver(BLOCK)
    driver.step(b=[(1, 10, 5), (None, 10, 6)])
    evict(driver, "b", 5)
    evict(driver, "b", 6)
    given = driver.step(a=[(None, 11, 1)])
    assert (1, None, None) in rows_of(given) + moved_on(driver, 100)


def test_many_evicted_keys_leave_others_alone() -> None:
    driver = Driver(BLOCK)
    keys = np.arange(200)
    driver.step(b=[(int(k), 10, int(k)) for k in keys])
    for k in keys:
        evict(driver, "b", int(k))
    driver.step(a=[(int(k), 11, int(k)) for k in range(400)])
    found = {row[0] for row in moved_on(driver, 100)}
    assert not found & set(range(200))
    assert len(found & set(range(200, 400))) > 190
