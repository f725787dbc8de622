"""Groups by cuts and windows of times of each kind, in a night in which the clocks are put forward.

The oracle is Spark itself: the same SELECT over all rows, as a batch, in the same zone.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench

ZONE = "Europe/Vienna"
_MOMENT, _LOCAL = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
_STREAMS = {
    "n": ("TIMESTAMP_NTZ", "2 MINUTES", _LOCAL, dt.datetime(2026, 3, 29, 0, 30), dt.timedelta(seconds=97)),
    "t": ("TIMESTAMP", "2 MINUTES", _MOMENT, dt.datetime(2026, 3, 28, 23, 30, tzinfo=dt.UTC), dt.timedelta(seconds=97)),
    "u": (
        "TIMESTAMP",
        "2 MINUTES",
        _MOMENT,
        dt.datetime(2026, 3, 28, 23, 31, tzinfo=dt.UTC),
        dt.timedelta(seconds=111),
    ),
    "d": ("DATE", "1 DAY", pa.date32(), dt.datetime(2026, 1, 20), dt.timedelta(days=1)),
}
_SELECTS = {
    "minutes_without_a_zone": "date_trunc('MINUTE', ts) AS g, count(*) AS c, max(v) AS m FROM n GROUP BY 1",
    "days_without_a_zone": "date_trunc('DAY', ts) AS g, to_date(ts) AS e, k, count(*) AS c FROM n GROUP BY 1, 2, 3",
    "months_of_days": "date_trunc('MONTH', ts) AS g, trunc(ts, 'MM') AS e, count(*) AS c FROM d GROUP BY 1, 2",
    "cuts_below": "window(g, '1 hour') AS w, sum(c) AS c FROM (SELECT date_trunc('MINUTE', ts) AS g, k, count(*) AS c "
    "FROM n GROUP BY 1, 2) GROUP BY 1",
}


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[None]:
    """The session is in a zone whose clocks change."""
    before = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("name", _SELECTS)
def test_groups_are_those_of_spark(spark: SparkSession, bench: Bench, name: str) -> None:
    select = f"SELECT {_SELECTS[name]}"
    read = {stream for stream in _STREAMS if f" {stream} " in f" {select} "}
    for stream in sorted(read):
        _write(bench, stream)
    declared = "".join(_declared(stream) for stream in sorted(read))
    sink = "CREATE SINK s USING parquet OPTIONS (path '{out}/s');"
    ran = bench.run(f"{declared} {sink} INSERT INTO s {select};", unbounded=False, final=True)
    assert ran.code == 0, ran.err
    for stream in read:
        spark.read.parquet(str(bench.folder / "data" / stream)).createOrReplaceTempView(stream)
    wanted = Counter(map(_row, spark.sql(select).collect()))
    assert len(wanted) > 1
    assert Counter(map(_row, spark.read.parquet(str(bench.folder / "out" / "s")).collect())) == wanted
    assert any(line["rows_out"] for line in ran.batches[:-1]), "nothing came before the end"
    assert all(line["exact"] for line in ran.batches)


def _row(row: Any) -> tuple[Any, ...]:
    return tuple(_row(value) if isinstance(value, tuple) else value for value in row)


def _declared(stream: str) -> str:
    kind, late, *_ = _STREAMS[stream]
    read = f"USING parquet OPTIONS (path '{{data}}/{stream}', maxFilesPerTrigger '1')"
    columns = f"k BIGINT, v BIGINT, s STRUCT<x: BIGINT, y: STRING>, ts {kind}"
    order = f"EVENT TIME ts, ORDERED BY ts WITHIN {late}, CHECK (ts IS NOT NULL)"
    return f"CREATE STREAM {stream} ({columns}, {order}) {read};\n"


def _write(bench: Bench, stream: str) -> None:
    """Rows of some hours, or days, in four files; some are late."""
    _, _, kind, first, step = _STREAMS[stream]
    draw = random.Random(stream)
    rows = []
    for number in range(160):
        moment = first + number * step - draw.choice((0, 0, 0, 1)) * min(step, dt.timedelta(seconds=110), step)
        x, y = draw.choice((None, 1, 2)), draw.choice((None, "a", "b"))
        ts: Any = moment.date() if pa.types.is_date(kind) else moment
        k, v = draw.choice((None, 1, 2)), draw.choice((None, *range(9)))
        rows.append({"k": k, "v": v, "s": draw.choice((None, {"x": x, "y": y})), "ts": ts})
    schema = pa.schema(
        {"k": pa.int64(), "v": pa.int64(), "s": pa.struct({"x": pa.int64(), "y": pa.string()}), "ts": kind}
    )
    for start in range(0, len(rows), 40):
        bench.write(stream, rows[start : start + 40], schema)
