"""Stored and sampled rows side by side: whose row an id is, and that each tree sees marks of its own."""

from __future__ import annotations

import numpy as np

from penstock.runtime.budget.account import Account
from penstock.runtime.promise.marks import MATCHED
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
QUERY = "SELECT /*+ BUDGET(2 ROWS), EVICT(rand) */ r.n, s.n AS m FROM r LEFT JOIN s ON r.k = s.k AND s.ts - r.ts <= 90;"


def account_of(driver: Driver) -> Account:
    assert driver.cell.eviction is not None
    return driver.cell.eviction.account


def driven() -> Driver:
    """Four rows of r came, two of them are stored."""
    driver = Driver("".join(map(STREAM.format, "rs")) + QUERY)
    driver.step(r=[(n, n, n) for n in range(4)])
    return driver


def test_ids_of_stored_and_of_sampled_rows_are_told_apart() -> None:
    driver = driven()
    both = account_of(driver).with_sampled
    both.stand()
    stored = driver.cell.synopses["r"].ids("all")
    told = both.told_apart("r", np.concatenate([both.ids("r", stored), both.sampled("r")]))
    assert told.sampled.tolist() == [False, False, True, True]
    assert told.own[:2].tolist() == stored.tolist()
    assert told.weight.tolist() == [0.0, 0.0, 1.0, 1.0]
    arrivals = both.both["r"].gather(both.both["r"].ids("all"), lambda s: s.arrival)
    assert sorted(arrivals.tolist()) == [0, 1, 2, 3]


def test_marks_of_the_account_are_its_own_and_are_saved() -> None:
    driver = driven()
    both = account_of(driver).with_sampled
    both.stand()
    both.both["r"].mark(MATCHED, both.both["r"].ids("all"))
    both.part()
    synopsis = driver.cell.synopses["r"]
    assert synopsis.marked(MATCHED, synopsis.ids("all")).tolist() == [False, False]
    driver.step()
    driver.restart()
    both = account_of(driver).with_sampled
    both.stand()
    assert both.both["r"].marked(MATCHED, both.both["r"].ids("all")).tolist() == [True] * 4


def test_parted_nothing_is_held() -> None:
    both = account_of(driven()).with_sampled
    both.stand()
    both.part()
    assert [synopsis.live for synopsis in both.both.values()] == [0, 0]
