"""Limits of closers: which rows they have passed, which newly, and what several rows are closed by together."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.predicates import Op
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"
STREAMS = f"CREATE STREAM s ({FIELDS}, ORDERED BY ts); CREATE STREAM t ({FIELDS}, ORDERED BY ts);"
INNER = f"{STREAMS} SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 5;"
LEFT = f"{STREAMS} SELECT s.n, t.n AS tn FROM s LEFT JOIN t ON s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 5;"


def closed(driver: Driver, source: str, target: str) -> list[bool]:
    synopsis = driver.cell.synopses[source]
    found: list[bool] = driver.cell.closedness.closed(source, target, synopsis, synopsis.ids(ALL)).tolist()
    return found


def test_nothing_is_closed_before_a_clock_is_known() -> None:
    driver = Driver(INNER)
    driver.step(s=[(1, 0, 1)], t=[])
    assert driver.cell.closedness.low("t", "ts") is None
    assert closed(driver, "s", "t") == [False]


def test_a_band_closes_once_the_clock_has_passed_its_end() -> None:
    driver = Driver(INNER)
    driver.step(s=[(1, 0, 1), (2, 1, 2)], t=[(9, 5, 9)])
    assert driver.cell.closedness.low("t", "ts") == 5
    assert driver.stored("s") == 2
    driver.step(t=[(9, 6, 9)])
    assert driver.stored("s") == 1  # 0 + 5 < 6; 1 + 5 is not.


def test_only_rows_between_the_limits_are_newly_closed() -> None:
    driver = Driver(LEFT)
    driver.step(s=[(1, ts, ts) for ts in range(10)], t=[(1, 0, 0)])
    closing, synopsis = driver.cell.closedness, driver.cell.synopses["s"]
    (closer,) = (c for c in driver.plan.closers if (c.source, c.target) == ("s", "t"))
    closing.before, closing.limits = closing.limits, {**closing.limits, closer: 4}
    closing.before = {**closing.before, closer: 2}
    times = synopsis.codes("ts", closing.newly_closed("s", synopsis))
    assert sorted(times.tolist()) == [3, 4]


def test_the_end_of_all_streams_closes_every_row() -> None:
    driver = Driver(INNER)
    driver.step(s=[(1, 0, 1)], t=[])
    driver.cell.closedness.ended = True
    assert closed(driver, "s", "t") == [True]
    ids = {"s": np.array([0])}
    assert driver.cell.closedness.closed_together(driver.cell.synopses, ids, "t").tolist() == [True]


def test_a_null_under_an_outer_join_meets_nothing() -> None:
    driver = Driver(
        STREAMS + "SELECT s.n, t.n AS tn FROM s LEFT JOIN t ON s.k = t.k AND t.ts >= s.ts AND t.ts <= s.ts;"
    )
    assert driver.step(s=[(1, None, 1)], t=[]).rows.to_pylist() == [{"s_n": 1, "t_n": None}]


def test_what_is_implied_has_the_target_on_the_left() -> None:
    closing = Driver(INNER).cell.closedness
    forth = {(p.left.alias, p.op, p.right.alias, p.ticks) for p in closing.implied(frozenset({"s"}), "t")}
    back = {(p.left.alias, p.op, p.right.alias, p.ticks) for p in closing.implied(frozenset({"t"}), "s")}
    assert all(left == "t" for left, *_ in forth)
    assert all(left == "s" for left, *_ in back)
    assert {(op, ticks) for _, op, _, ticks in forth} <= {(Op.LE, 5), (Op.GE, 0), (Op.LE, 0), (Op.GE, -5)}


@pytest.mark.parametrize("within", ["", " WITHIN 3", " WITHIN 2 ROWS"])
@pytest.mark.parametrize(
    "query",
    [
        "a.k FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5",
        "a.k FROM a, b WHERE a.k = b.k AND a.ts = b.ts",
        "a.k FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k",
        "b.k FROM b WHERE EXISTS (SELECT 1 FROM a WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5)",
    ],
)
def test_a_clock_at_either_end_of_its_range_closes_nothing_too_early(within: str, query: str) -> None:
    least, largest = -(2**63), 2**63 - 1
    driver = Driver(
        f"CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{within});"
        f"CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{within}); SELECT {query};"
    )
    found = []
    for key, time in ((1, least), (2, least), (3, largest), (4, largest)):
        driver.step(a=[(key, time, 0)])
        found += driver.step(b=[(key, time, 0)]).rows.column(0).to_pylist()
    assert found == [1, 2, 3, 4]
