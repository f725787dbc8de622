"""The frontier: no future result has an event time below it, and it is the least of the clock and of what is stored."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import ColumnRef
from penstock.plan.plan import FrontierColumn
from penstock.runtime.join.frontier import answer_frontier, frontier
from tests.runtime.driving import Driver

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "ab"
)
ON = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5"


def reached(driver: Driver) -> dict[str, int]:
    cell = driver.cell
    return frontier(driver.plan, cell.closedness, cell.synopses)


def test_without_a_second_stage_there_is_none() -> None:
    driver = Driver(f"{STREAMS} SELECT a.ts, b.n FROM a, b WHERE {ON};")
    driver.step(a=[(1, 3, 1)], b=[])
    assert reached(driver) == {}


def test_what_is_one_of_several_columns_has_the_least_of_theirs() -> None:
    of_both = FrontierColumn("t", ColumnRef("a", "ts"), None, False, others=(ColumnRef("b", "ts"),))
    plan = replace(Driver(f"{STREAMS} SELECT a.ts, b.n FROM a, b WHERE {ON};").plan, frontiers=(of_both,))
    assert answer_frontier(plan, {"a.ts": 7, "b.ts": 4}) == {"t": 4}
    assert answer_frontier(plan, {"a.ts": 7}) == {}


def test_it_is_the_least_of_the_clock_and_of_what_is_stored() -> None:
    driver = Driver(f"{STREAMS} SELECT DISTINCT a.ts, b.n FROM a, b WHERE {ON};")
    assert reached(driver) == {}
    driver.step(a=[(1, 3, 1), (1, 7, 1)], b=[(2, 4, 1)])
    assert reached(driver)["a.ts"] == 3  # Its clock stands at 7, but the row of 3 waits.
    driver.step(a=[(1, 8, 1)], b=[(2, 9, 1)])
    assert reached(driver)["a.ts"] == 7
    driver.step(a=[], b=[(2, 90, 1)])
    assert reached(driver)["a.ts"] == 8
