"""Of inner joins one join tells what is emitted and what is due, to the last row while the sample is all."""

from __future__ import annotations

import pytest

from penstock.runtime.budget.loss import Loss
from tests.runtime.driving import Driver

STREAMS = "".join(f"CREATE STREAM {n} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for n in "rst")
ON = "r.k = {0}.k AND {0}.ts - r.ts BETWEEN -20 AND 20"


def driver_of(query: str, policy: str = "prob") -> Driver:
    return Driver(f"{STREAMS} SELECT /*+ BUDGET(1 ROWS), EVICT({policy}) */ {query};")


def loss_of(driver: Driver, **rows: list[tuple[int | None, ...]]) -> Loss:
    loss = driver.step(**rows).metrics.loss
    assert loss is not None
    return loss


def test_results_with_an_evicted_row_are_due_and_lost() -> None:
    """Of r come 1, 1, 2 and 3, of s 1 and 2: three results, of which one row that stays can give at most two."""
    driver = driver_of(f"r.n, s.n AS m FROM r, s WHERE {ON.format('s')}")
    driver.step(r=[(1, 5, 1), (1, 5, 2), (2, 5, 3), (3, 5, 4)])
    driver.restart()
    loss = loss_of(driver, s=[(1, 6, 0), (2, 6, 0)])
    assert (loss.due, loss.variance) == (3, 0)
    assert loss.emitted + loss.lost == 3
    assert loss.emitted <= 2


def test_a_sampled_row_leaves_once_its_window_is_over() -> None:
    driver = driver_of("r.n, s.n AS m FROM r [ROWS 2], s [ROWS 2] WHERE r.k = s.k")
    driver.step(r=[(1, 1, 1), (2, 1, 2)])
    assert loss_of(driver, r=[(8, 1, 8), (9, 1, 9)]).due == 0
    assert loss_of(driver, s=[(1, 2, 0), (2, 2, 0)]).due == 0


def test_a_row_is_missed_though_it_was_purged_because_its_partner_was_evicted() -> None:
    """t = r = s by keys: once the row of r is evicted, that of s waits for nothing, and the result of all is due."""
    near = f"{ON.format('s')} AND {ON.format('t')}"
    driver = driver_of(f"r.n, s.n AS m, t.n AS o FROM r, s, t WHERE {near}", "rand")
    driver.step(r=[(1, 5, 1), (2, 5, 2)])
    driver.step(s=[(1, 6, 1), (2, 6, 2)])
    loss = loss_of(driver, t=[(1, 7, 1), (2, 7, 2)])
    assert (loss.due, loss.variance) == (2, 0)


@pytest.mark.parametrize("shed", ["r", "s"])
def test_rows_that_are_shed_before_they_are_joined_are_counted_by_their_sample(shed: str) -> None:
    driver = driver_of(f"r.n, s.n AS m FROM r, s WHERE {ON.format('s')}")
    first: dict[str, list[tuple[int | None, ...]]] = {"r" if shed == "s" else "s": [(1, 5, 1)]}
    then: dict[str, list[tuple[int | None, ...]]] = {shed: [(1, 6, 1)]}
    driver.step(**first)
    eviction = driver.cell.eviction
    assert eviction is not None
    account, join = eviction.account, eviction.account.join
    found = []

    def shed_first() -> object:
        synopsis = driver.cell.synopses[shed]
        account.shed(shed, synopsis.ids("all")[-1:])
        found.append(synopsis.rows)
        return join()

    account.join = shed_first  # type: ignore[method-assign, assignment]
    loss = loss_of(driver, **then)
    assert found
    assert (loss.emitted, loss.due) == (0, 1)
