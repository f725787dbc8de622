"""Which columns of blocks are certain to have a value: INTERSECT and EXCEPT compare them by `=`, which is a key."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import penstock
from penstock.model.predicates import Comparison

STREAM = "CREATE STREAM {} (id INT, big BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE{});"
SURE = STREAM.format("rides", ", CHECK (ts IS NOT NULL)") + STREAM.format("trips", ", CHECK (ts IS NOT NULL)")
UNSURE = STREAM.format("rides", "") + STREAM.format("trips", "")


@pytest.mark.parametrize("kind", ["INTERSECT", "EXCEPT"])
@pytest.mark.parametrize("cut", ["date_trunc('hour', ts)", "to_date(ts)", "trunc(ts, 'MONTH')", "CAST(ts AS DATE)"])
def test_set_operations_over_what_is_cut_of_a_time_are_bounded(kind: str, cut: str) -> None:
    query = f"SELECT {cut} AS h, id FROM rides {kind} SELECT {cut}, id FROM trips;"
    assert penstock.check(penstock.parse(SURE + query)).verdict == "bounded"
    assert penstock.check(penstock.parse(UNSURE + query)).verdict == "undecided"


def test_one_side_that_is_never_null_is_enough() -> None:
    query = "SELECT date_trunc('hour', ts) AS h FROM rides WHERE ts > '2026-01-01' INTERSECT SELECT ts FROM trips;"
    assert penstock.check(penstock.parse(UNSURE + query)).verdict == "bounded"


def test_what_is_widened_keeps_its_value() -> None:
    checked = SURE.replace("CHECK (ts", "CHECK (id IS NOT NULL), CHECK (ts")
    query = "SELECT ts, id FROM rides EXCEPT SELECT ts, big FROM trips;"
    for script, is_key in ((checked, True), (SURE, False)):
        existence = penstock.parse(script + query).queries[0].block.existences[0]
        assert [isinstance(p, Comparison) for p in existence.condition] == [True, is_key]


def test_hours_that_one_stream_has_alone() -> None:
    run = penstock.testing.Run(
        SURE + "SELECT date_trunc('hour', ts) AS h, id FROM rides EXCEPT SELECT date_trunc('hour', ts), id FROM trips;"
    )
    rides = _rows([1, 1, None, 2], [0, 90, 95, 99])
    trips = _rows([1, None], [59, 119])
    run.step({"rides": rides, "trips": trips})
    # Every hour of both is over, and nothing that has been is kept.
    last = run.step({"rides": _rows([5], [600]), "trips": _rows([5], [600])})
    emitted = sorted((row["h"].hour, row["id"]) for row in [*last.rows.to_pylist(), *run.end().rows.to_pylist()])
    assert emitted == [(1, 1), (1, 2)]


def _rows(ids: list[int | None], minutes: list[int]) -> pa.Table:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    times = [start + dt.timedelta(minutes=minute) for minute in minutes]
    return pa.table({"id": pa.array(ids, pa.int32()), "big": pa.array(ids, pa.int64()), "ts": times})
