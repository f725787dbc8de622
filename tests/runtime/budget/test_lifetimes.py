"""How long a row may still meet others, in steps: by the speed at which limits move."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT{1});"
TIMED = ", EVENT TIME ts, ORDERED BY ts"


def left(driver: Driver, horizon: float = 1e6) -> list[float]:
    """Of the rows of r that are stored."""
    assert driver.cell.eviction is not None
    ids = driver.cell.synopses["r"].ids(ALL)
    found: list[float] = driver.cell.eviction.lifetimes.left("r", "s", ids, horizon).tolist()
    return found


def driver_of(condition: str, more: str = TIMED, r: str = "r") -> Driver:
    streams = STREAM.format("r", more) + STREAM.format("s", more)
    return Driver(f"{streams} SELECT /*+ BUDGET(1000 ROWS) */ r.n FROM {r}, s WHERE {condition};")


def test_a_band_ends_when_the_clock_of_the_other_stream_passes_it() -> None:
    driver = driver_of("r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 100")
    for ts in range(10, 60, 10):
        driver.step(r=[(1, ts, 0)], s=[(2, ts, 0)])
    # The clock moves by ten in two steps: a hundred more take twenty.
    found = left(driver)
    assert found == sorted(found)
    assert found[-1] == pytest.approx(20, rel=0.2)


def test_before_anything_has_moved_a_row_lives_as_long_as_is_said() -> None:
    driver = driver_of("r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 100")
    driver.step(r=[(1, 10, 0)])
    assert left(driver, 77.0) == [77.0]


def test_where_nothing_closes_a_row_lives_as_long_as_is_said() -> None:
    driver = driver_of("r.k = s.k", more="")
    for n in range(3):
        driver.step(r=[(1, 0, n)], s=[(2, 0, n)])
    assert left(driver, 50.0) == [50.0] * 3


def test_rows_of_a_window_live_by_the_rows_that_come() -> None:
    driver = driver_of("r.k = s.k", more="", r="r [ROWS 10]")
    for n in range(6):
        driver.step(r=[(1, 0, n)], s=[(2, 0, n)])
    found = left(driver)
    assert np.all(np.diff(found) > 0)
    assert found[0] == pytest.approx(2 * 4, rel=0.3)


def test_no_rows_have_no_lives() -> None:
    assert left(driver_of("r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 9")) == []
