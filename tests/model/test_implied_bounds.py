"""What conditions over a cut time say of the whole one; `tests/spark/test_implied_bounds.py` asks Spark."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.predicates import Difference

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
        ("date_trunc('fortnight', r.ts) = h.ts", []),
    ],
)
def test_a_cut_time_says_how_far_the_whole_one_lies(condition: str, bounds: list[str]) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT r.id, h.n FROM r JOIN h ON {condition};").queries
    said = [p for p in query.predicates if isinstance(p, Difference)]
    assert [f"{p.minuend} < {p.subtrahend} + INTERVAL {p.span}" for p in said] == bounds


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_rows_of_hours_and_hours_close_each_other(join: str) -> None:
    script = f"{STREAMS} SELECT r.id, h.n FROM r {join} h ON date_trunc('hour', r.ts) = h.ts;"
    verdict = penstock.check(penstock.parse(script))
    assert verdict.verdict == "bounded"
    # The equality closes a row tighter than the hour and the day that a clock on the wall may jump.
    assert "h.ts has passed r.`date_trunc('hour', r.ts)`" in str(verdict)
