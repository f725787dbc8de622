"""The account under outer joins and EXISTS: what is due is known while the sample is all there is; else it says so."""

from __future__ import annotations

import pytest

from penstock.runtime.budget.loss import Loss
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = "".join(map(STREAM.format, "rst"))
ON = "{0}.k = r.k AND {0}.ts - r.ts BETWEEN -10 AND 10"
QUERIES = {
    "exists": f"r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {ON.format('s')})",
    "not exists": f"r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {ON.format('s')})",
    "left": f"r.n, s.n AS m FROM r LEFT JOIN s ON {ON.format('s')}",
    "full": f"r.n, s.n AS m FROM r FULL JOIN s ON {ON.format('s')}",
}


def driver_of(kind: str) -> Driver:
    return Driver(f"{STREAMS} SELECT /*+ BUDGET(1 ROWS), EVICT(prob) */ {QUERIES[kind]};")


def loss_of(driver: Driver, **rows: list[tuple[int | None, ...]]) -> Loss:
    loss = driver.step(**rows).metrics.loss
    assert loss is not None
    return loss


@pytest.mark.parametrize(("kind", "due"), [("exists", 2), ("not exists", 1), ("left", 3), ("full", 4)])
def test_what_is_due_is_known_though_nearly_all_was_evicted(kind: str, due: int) -> None:
    """Of r the keys 1, 2 and 3 come; s brings 1 before r, 2 after it, and 4."""
    driver = driver_of(kind)
    driver.step(s=[(1, 5, 0), (4, 5, 0), (9, 5, -1)])
    driver.step(r=[(1, 6, 1), (2, 6, 2), (3, 6, 3), (9, 6, -1)])
    driver.step(s=[(2, 7, 0)])
    driver.step(r=[(8, 90, -8)], s=[(7, 90, -7)])
    loss = loss_of(driver, r=[(8, 200, -8)], s=[(7, 200, -7)])
    assert loss.variance == 0
    extra = {"exists": 1, "not exists": 1, "left": 2, "full": 3}[kind]
    assert loss.due == due + extra  # What only moves the streams on is due too.
    assert loss.emitted <= loss.due
    driver.restart()
    assert loss_of(driver).due == loss.due


def test_a_row_that_was_found_to_have_a_match_is_due_while_it_waits() -> None:
    driver = driver_of("exists")
    driver.step(s=[(1, 5, 0), (2, 5, 0)])
    loss = loss_of(driver, r=[(1, 6, 1)])
    assert loss.due == 1


def test_without_evictions_all_is_exact() -> None:
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(100 ROWS) */ {QUERIES['left']};")
    loss = loss_of(driver, r=[(1, 6, 1)], s=[(1, 6, 1)])
    assert (loss.recall(), loss.evicted) == ((1.0, 0.0), 0)


def test_where_three_streams_meet_the_error_leaves_everything_open_from_the_first_eviction_on() -> None:
    query = f"r.n FROM r LEFT JOIN s ON {ON.format('s')} LEFT JOIN t ON {ON.format('t')}"
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(2 ROWS) */ {query};")
    assert loss_of(driver, r=[(1, 1, 1)], s=[(1, 1, 1)]).variance == 0
    loss = loss_of(driver, r=[(2, 1, 1), (3, 1, 1)])
    assert loss.evicted == 2
    assert loss.variance > 10**9


def test_rows_that_are_shed_leave_everything_open() -> None:
    driver = driver_of("left")
    assert driver.cell.eviction is not None
    driver.step(r=[(1, 1, 1)])
    driver.cell.eviction.account.shed("s", driver.cell.synopses["s"].ids("all"))
    assert loss_of(driver).variance > 10**9
