"""What conditions over a cut time say of the whole one; `tests/spark/test_implied_bounds.py` asks Spark."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.predicates import Difference, Residual

STREAMS = """CREATE STREAM r (id BIGINT, ts TIMESTAMP, d DATE, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
CREATE STREAM h (n BIGINT, ts TIMESTAMP, d DATE, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);
"""


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("date_trunc('hour', r.ts) = h.ts", ["r.ts < h.ts + INTERVAL 25 HOURS"]),
        ("h.ts >= date_trunc('hour', r.ts)", ["r.ts < h.ts + INTERVAL 25 HOURS"]),
        ("h.ts < date_trunc('hour', r.ts)", ["h.ts < r.ts + INTERVAL 1 DAY"]),
        ("to_date(r.ts) = h.ts", ["r.ts < h.ts + INTERVAL 2 DAYS"]),
        ("trunc(r.d, 'MONTH') = h.d", ["r.d < h.d + INTERVAL 31 DAYS"]),
        ("to_date(r.ts) = h.d", []),
        (
            "date_trunc('hour', r.ts) = date_trunc('hour', h.ts) + INTERVAL 1 HOUR",
            ["r.ts <= h.ts + INTERVAL 50 HOURS", "h.ts <= r.ts + INTERVAL 2 DAYS"],
        ),
        ("r.d < date_trunc('day', h.d) + INTERVAL 1 DAY", ["r.d <= h.d + INTERVAL 1 DAY"]),
        ("r.ts > timestampadd(MONTH, 1, h.ts)", []),
        ("date_trunc('fortnight', r.ts) = h.ts", []),
    ],
)
def test_a_cut_time_says_how_far_the_whole_one_lies(condition: str, bounds: list[str]) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r JOIN h ON {condition};").queries
    said = [p for p in query.predicates if isinstance(p, Difference)]
    assert [f"{p.minuend} {p.op} {p.subtrahend} + INTERVAL {p.span}" for p in said] == bounds


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("timestampdiff(MINUTE, r.ts, h.ts) <= 5", ["h.ts < r.ts + INTERVAL 6 MINUTES"]),
        ("timestampdiff(MINUTE, r.ts, h.ts) <= -5", ["h.ts <= r.ts - INTERVAL 5 MINUTES"]),
        ("timestampdiff(MINUTE, r.ts, h.ts) > 5", ["h.ts >= r.ts + INTERVAL 6 MINUTES"]),
        ("timestampdiff(SECOND, r.ts, h.ts) >= 0", ["h.ts > r.ts - INTERVAL 1 SECOND"]),
        ("0 > timestampdiff(SECOND, r.ts, h.ts)", ["h.ts <= r.ts - INTERVAL 1 SECOND"]),
        (
            "abs(timestampdiff(HOUR, h.ts, r.ts)) < 2",
            ["r.ts < h.ts + INTERVAL 2 HOURS", "r.ts > h.ts - INTERVAL 2 HOURS"],
        ),
        ("datediff(h.d, r.d) = 1", ["h.d >= r.d + INTERVAL 1 DAY", "h.d <= r.d + INTERVAL 1 DAY"]),
        ("datediff(h.d, r.d) IN (1, 0)", ["h.d >= r.d + 0", "h.d <= r.d + INTERVAL 1 DAY"]),
        ("datediff(HOUR, r.ts, h.ts) < 2", ["h.ts < r.ts + INTERVAL 2 HOURS"]),
        (
            "abs(h.ts - r.ts) <= INTERVAL 5 MINUTES",
            ["h.ts <= r.ts + INTERVAL 5 MINUTES", "h.ts >= r.ts - INTERVAL 5 MINUTES"],
        ),
    ],
)
@pytest.mark.parametrize("join", ["LEFT JOIN", "FULL JOIN"])
def test_where_it_says_which_rows_match_a_count_of_units_is_a_difference(
    join: str, condition: str, found: list[str]
) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r {join} h ON r.id = h.n AND {condition};").queries
    assert [str(p) for p in query.predicates if isinstance(p, Difference)] == found
    # Elsewhere Spark tests it, by the clock on the wall of its session.
    (inner,) = penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r JOIN h ON r.id = h.n AND {condition};").queries
    assert any(isinstance(p, Residual) for p in inner.predicates)


def test_the_days_of_times_are_columns_where_datediff_says_which_rows_match() -> None:
    on = "r.id = h.n AND datediff(h.ts, r.ts) <= 1"
    (query,) = penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r LEFT JOIN h ON {on};").queries
    assert [str(p) for p in query.predicates if isinstance(p, Difference)] == [
        "h.`CAST(h.ts AS DATE)` <= r.`CAST(r.ts AS DATE)` + INTERVAL 1 DAY",
        "h.ts < r.ts + INTERVAL 3 DAYS",
    ]


def test_a_month_of_timestampdiff_says_no_difference() -> None:
    condition = "timestampdiff(MONTH, r.ts, h.ts) < 1"
    with pytest.raises(penstock.PenstockError, match="only Spark can evaluate timestampdiff"):
        penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r LEFT JOIN h ON r.id = h.n AND {condition};")


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("x.w.start = h.ts", ["x.ts >= h.ts + 0", "x.ts < h.ts + INTERVAL 1 HOUR"]),
        ("h.ts = x.w.end", ["x.ts >= h.ts - INTERVAL 1 HOUR", "x.ts < h.ts + 0"]),
        (
            "x.w = window(h)",
            ["x.ts < h.ts + INTERVAL 1 HOUR", "h.ts < x.ts + INTERVAL 1 HOUR"],
        ),
    ],
)
def test_the_window_of_a_time_says_where_it_lies(condition: str, bounds: list[str]) -> None:
    of_h = "(SELECT n, window(ts, '1 hour') AS w FROM h) AS h" if "window" in condition else "h"
    on = condition.replace("window(h)", "h.w")
    rows = "(SELECT id, window(ts, '1 hour') AS w FROM r) AS x"
    (query,) = penstock.parse(f"{STREAMS} SELECT x.id, h.n FROM {rows} JOIN {of_h} ON {on};").queries
    assert [str(p) for p in query.predicates if isinstance(p, Difference)] == bounds


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_rows_of_hours_and_hours_close_each_other(join: str) -> None:
    script = f"{STREAMS} SELECT r.id, h.n FROM r {join} h ON date_trunc('hour', r.ts) = h.ts;"
    verdict = penstock.check(penstock.parse(script))
    assert verdict.verdict == "bounded"
    # The equality closes a row tighter than the hour and the day that a clock on the wall may jump.
    assert "h.ts has passed r.`date_trunc('hour', r.ts)`" in str(verdict)
