"""Windows of time are laid out from tick 0, in both directions, and do not wrap round."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.group.derived import columns_of_measure, derived_columns, window_starts
from tests.runtime.driving import plan_of

GROUPED = """CREATE STREAM a (k BIGINT, ts TIMESTAMP, v DOUBLE, d DECIMAL(9,2), EVENT TIME ts, ORDERED BY ts);
CREATE STREAM b (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT window(a.ts, '1 hour') AS w, count(*) AS n, sum(a.v) AS v, max(a.d) AS d
FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR
GROUP BY window(a.ts, '1 hour');"""


@given(st.lists(st.none() | st.integers(-(2**62), 2**62)), st.integers(1, 10**6))
def test_a_window_starts_at_a_multiple_of_its_length(times: list[int | None], length: int) -> None:
    found = window_starts(pa.chunked_array([pa.array(times, pa.int64())]), length).to_pylist()
    assert found == [None if time is None else time // length * length for time in times]


def test_the_first_time_of_all_has_a_window() -> None:
    hour = 3_600_000_000
    early = pa.chunked_array([pa.array([dt.datetime(1, 1, 1, 0, 30)], pa.timestamp("us"))])
    start = window_starts(early, hour).to_pylist()[0]
    assert start % hour == 0
    assert 0 < (early.cast(pa.int64()).to_pylist()[0] - start) < hour


def test_what_is_kept_beside_the_columns_of_a_stream() -> None:
    plan = plan_of(GROUPED)
    assert plan.aggregate is not None
    names = derived_columns(plan, "a")
    for measure in plan.aggregate.measures_of("a"):
        assert set(columns_of_measure(plan, measure)) <= set(names)
    assert plan.aggregate.windows_of("a")[0].name in names
    assert not derived_columns(plan, "b")
    assert derived_columns(plan_of("CREATE STREAM a (k BIGINT); SELECT a.k FROM a;"), "a") == ()
