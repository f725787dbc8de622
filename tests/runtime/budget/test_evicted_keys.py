"""The sketch of lost rows: whom it puts in doubt, whom not, and when it forgets; extremes of times and of room."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.budget.evicted_keys import EvictedKeySketch, _less
from penstock.runtime.columns.codes import INT64
from penstock.runtime.state.synopsis import FRESH
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
SCRIPT = (
    STREAM.format("r") + STREAM.format("s") + "SELECT /*+ BUDGET(1000 ROWS) */ r.n FROM r WHERE NOT EXISTS "
    "(SELECT 1 FROM s WHERE s.k = r.k AND r.ts - s.ts BETWEEN 0 AND 10)"
)


def sketch_of(driver: Driver) -> EvictedKeySketch:
    assert driver.cell.tree.lost is not None
    (found,) = driver.cell.tree.lost.sketches.values()
    return found


def lost(*rows: tuple[int | None, int, int]) -> tuple[Driver, EvictedKeySketch]:
    """A cell in which rows of s were lost."""
    driver = Driver(SCRIPT)
    driver.step(s=list(rows))
    sketch = sketch_of(driver)
    sketch.lose(driver.cell.synopses["s"].ids("all"))
    return driver, sketch


def doubted(driver: Driver, *rows: tuple[int | None, int, int]) -> list[bool]:
    """Which rows of r are in doubt as they come."""
    asked: list[list[bool]] = []
    sketch = sketch_of(driver)
    whole = sketch.of

    def of(given: dict[str, np.ndarray]) -> np.ndarray:
        found = whole(given)
        asked.append(found.tolist())
        return found

    sketch.of = of  # type: ignore[method-assign, assignment]
    driver.step(r=list(rows))
    sketch.of = whole  # type: ignore[method-assign]
    return asked[0] if asked else [False] * len(rows)


def test_nothing_lost_is_nothing_in_doubt() -> None:
    driver = Driver(SCRIPT)
    sketch = sketch_of(driver)
    assert (sketch.is_empty, sketch.nbytes) == (True, 0)
    sketch.lose(np.zeros(0, np.int64))
    assert sketch.is_empty
    assert doubted(driver, (1, 1, 0)) == [False]


def test_only_the_key_within_the_band_is_in_doubt() -> None:
    driver, _ = lost((1, 5, 0), (2, 5, 0))
    assert doubted(driver, (1, 5, 0), (1, 15, 0), (1, 16, 0), (2, 9, 0), (3, 9, 0), (None, 9, 0)) == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]


def test_of_one_key_the_latest_lost_row_counts() -> None:
    driver, _ = lost((1, 1, 0), (1, 30, 0))
    assert doubted(driver, (1, 35, 0), (1, 41, 0)) == [True, False]


@pytest.mark.parametrize("ts", [INT64.max - 5, INT64.min + 5])
def test_times_at_the_ends_of_what_an_integer_can_be(ts: int) -> None:
    driver, _ = lost((1, ts, 0))
    assert doubted(driver, (1, ts, 0)) == [True]


def test_halving_merges_buckets_and_loses_no_doubt() -> None:
    driver, sketch = lost(*((k, 5, 0) for k in range(50)))
    before = sketch.nbytes
    sketch.shrink(before // 4)
    assert sketch.nbytes <= before // 4
    assert all(doubted(driver, *((k, 6, 0) for k in range(50))))


def test_without_room_everything_able_to_match_is_in_doubt() -> None:
    driver, sketch = lost((1, 5, 0))
    sketch.shrink(0)
    assert (sketch.everything, sketch.nbytes, sketch.is_empty) == (True, 0, False)
    assert doubted(driver, (7, 6, 0), (None, 6, 0)) == [True, False]


def test_it_begins_anew_once_the_asking_stream_has_passed_what_was_lost() -> None:
    driver, sketch = lost((1, 5, 0))
    driver.step(r=[(9, 15, 0)])
    assert not sketch.is_empty
    driver.step(r=[(9, 16, 0)])
    assert sketch.is_empty


def test_by_chance_is_what_the_filled_buckets_are() -> None:
    driver, sketch = lost(*((k, 5, 0) for k in range(300)))
    driver.step(r=[(1_000, 6, 0)])
    ids = driver.cell.synopses["r"].ids("all")
    assert len(driver.cell.synopses["r"].ids(FRESH)) == 0
    assert 0 < sketch.by_chance({"r": ids})[0] < 0.2


def test_what_is_taken_off_stays_within_what_an_integer_can_be() -> None:
    values = np.array([INT64.min, 0, INT64.max])
    assert _less(values, 1).tolist() == [INT64.min, -1, INT64.max - 1]
    assert _less(values, -1).tolist() == [INT64.min + 1, 1, INT64.max]
    assert _less(values, INT64.max + 1).tolist() == [INT64.min] * 3


def test_before_anything_came_a_place_in_the_order_of_arrival_is_below_every_integer() -> None:
    """A limit that is less than an integer can be closes nothing."""
    fields = "k BIGINT, ts BIGINT, n BIGINT, ARRIVES BY ts"
    driver = Driver(
        f"CREATE STREAM r ({fields}); CREATE STREAM s ({fields}, FOLLOWS r (k) ON (k) WITHIN 5 ROWS);"
        "SELECT /*+ BUDGET(1 ROWS) */ r.n FROM r [ROWS 100] WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = r.k);"
    )
    for step in range(4):
        driver.step(s=[(1, step, 0), (2, step, 0)], r=[(3, step, step)])
