"""What is set aside and what is final; shadows count what they would have given, once."""

from __future__ import annotations

from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts {1});"
NEAR = "r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 5"
INNER = f"SELECT r.n, s.n AS m FROM r, s WHERE {NEAR};"
MONITORED = f"SELECT /*+ MONITOR(100, 1, 1000) */ {{}} FROM r LEFT JOIN s ON {NEAR};"


def rows_aside(driver: Driver) -> dict[str, int]:
    return {alias: piles.rows for alias, piles in driver.cell.doubted_rows.piles.items()}


def test_a_row_that_trusted_promises_close_is_not_set_aside() -> None:
    """s is recovered, r is not: a row of s leaves by what r promises, and is final."""
    driver = Driver(STREAM.format("r", "") + STREAM.format("s", "ON VIOLATION RECOVER") + INNER)
    driver.step(r=[(1, 10, 1)], s=[(1, 10, 2)])
    driver.step(r=[(2, 100, 1)], s=[(2, 100, 2)])
    assert rows_aside(driver) == {"r": 1, "s": 0}


def test_nothing_is_set_aside_where_nothing_is_in_doubt() -> None:
    driver = Driver(STREAM.format("r", "") + STREAM.format("s", "") + INNER)
    driver.step(r=[(1, 10, 1)], s=[(1, 10, 2)])
    driver.step(r=[(2, 100, 1)], s=[(2, 100, 2)])
    assert rows_aside(driver) == {}
    assert (driver.cell.doubted_rows.nbytes, driver.cell.doubted_rows.shadows) == (0, 0)


def test_a_shadow_counts_the_match_that_is_lost_and_the_row_that_it_contradicts_once() -> None:
    driver = Driver(STREAM.format("r", "WITHIN 0") + STREAM.format("s", "WITHIN 0") + MONITORED.format("r.n, s.n AS m"))
    first = driver.step(r=[(1, 10, 1)], s=[(9, 100, 0)])
    assert first.rows.num_rows == 1
    assert driver.cell.doubted_rows.shadows == 1
    for number in range(2):
        late = driver.step(s=[(1, 12, 7)])
        assert late.rows.num_rows == 0
        assert (late.metrics.lost, late.metrics.contradicted) == (1, int(number == 0))
        driver.restart()


def test_a_late_row_finds_a_shadow_and_is_not_given_without_a_match() -> None:
    driver = Driver(STREAM.format("r", "WITHIN 0") + STREAM.format("s", "WITHIN 0") + MONITORED.format("r.n"))
    driver.step(r=[(9, 100, 0)], s=[(1, 11, 1), (9, 100, 0)])
    late = driver.step(r=[(1, 10, 5), (2, 10, 6)], s=[(8, 101, 0)])
    assert late.rows.column(0).to_pylist() == [6]
    assert late.metrics.lost == 1
