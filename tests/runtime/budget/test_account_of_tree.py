"""Under outer joins and EXISTS what is due is known to the last row while the sample is all that was evicted."""

from __future__ import annotations

import pytest

from penstock.runtime.budget.loss import Loss
from tests.runtime.driving import Driver

STREAMS = "".join(f"CREATE STREAM {n} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for n in "rst")
ON = "{0}.k = r.k AND {0}.ts - r.ts BETWEEN -10 AND 10"
OUTER = {
    "exists": f"r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {ON.format('s')})",
    "not exists": f"r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {ON.format('s')})",
    "left": f"r.n, s.n AS m FROM r LEFT JOIN s ON {ON.format('s')}",
    "full": f"r.n, s.n AS m FROM r FULL JOIN s ON {ON.format('s')}",
}


def driver_of(kind: str) -> Driver:
    return Driver(f"{STREAMS} SELECT /*+ BUDGET(1 ROWS), EVICT(prob) */ {OUTER[kind]};")


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
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(100 ROWS) */ {OUTER['left']};")
    loss = loss_of(driver, r=[(1, 6, 1)], s=[(1, 6, 1)])
    assert (loss.recall(), loss.evicted) == ((1.0, 0.0), 0)


@pytest.mark.parametrize("join", ["LEFT", "FULL"])
def test_where_three_streams_meet_what_is_due_is_known_too(join: str) -> None:
    """Of r the keys 1, 2 and 3 come; s has 1 before it, t has 1 and 2 after it: all but one row were evicted."""
    query = f"r.n, s.n AS m, t.n AS o FROM r LEFT JOIN s ON {ON.format('s')} {join} JOIN t ON {ON.format('t')}"
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(1 ROWS), EVICT(rand) */ {query};")
    driver.step(s=[(1, 5, 0), (4, 5, 0)])
    driver.step(r=[(1, 6, 1), (2, 6, 2), (3, 6, 3)])
    driver.step(t=[(1, 7, 0), (2, 7, 0), (5, 7, 0)])
    driver.restart()
    loss = loss_of(driver, r=[(8, 90, -8)], s=[(7, 90, -7)], t=[(7, 90, -7)])
    assert (loss.due, loss.variance) == (3 + (join == "FULL"), 0)
    assert loss.emitted < loss.due


def test_before_anything_was_evicted_no_second_tree_runs() -> None:
    query = f"r.n FROM r LEFT JOIN s ON {ON.format('s')} LEFT JOIN t ON {ON.format('t')}"
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(2 ROWS) */ {query};")
    driver.step(r=[(1, 1, 1)], s=[(1, 1, 1)])
    assert driver.cell.eviction is not None
    assert not driver.cell.eviction.account.is_missing
    assert loss_of(driver, r=[(2, 1, 1), (3, 1, 1)]).evicted == 2
    assert driver.cell.eviction.account.is_missing


def test_rows_that_are_shed_leave_everything_open() -> None:
    driver = driver_of("left")
    assert driver.cell.eviction is not None
    driver.step(r=[(1, 1, 1)])
    driver.cell.eviction.account.shed("s", driver.cell.synopses["s"].ids("all"))
    assert loss_of(driver).variance > 10**9
