"""The records of an aggregate: which columns are shipped for it alone, which windows are whose."""

from __future__ import annotations

from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts TIMESTAMP, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = STREAM.format("a") + STREAM.format("b")
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 9 SECONDS"


def test_what_is_only_summed_up_is_shipped_and_not_kept() -> None:
    aggregate = plan_of(f"{STREAMS} SELECT a.k, sum(b.n) AS s FROM a, b WHERE {BAND} GROUP BY a.k;").aggregate
    assert aggregate is not None
    assert aggregate.only_shipped("b") == {"n"}
    assert aggregate.only_shipped("a") == set()


def test_a_window_belongs_to_the_stream_whose_time_it_cuts() -> None:
    window = "window(a.ts, '5 minutes')"
    select = f"SELECT {window} AS w, count(*) AS c FROM a, b WHERE {BAND} GROUP BY {window};"
    aggregate = plan_of(f"{STREAMS} {select}").aggregate
    assert aggregate is not None
    assert [window.column for window in aggregate.windows_of("a")] == ["ts"]
    assert [*aggregate.windows_of("b")] == []
    assert aggregate.emits_once
