"""Groups by cuts and windows of times of each kind, in a night in which the clocks are put forward.

The oracle is Spark itself: the same SELECT over all rows, as a batch, in the same zone.
"""

from __future__ import annotations

import datetime as dt
import random
import re
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
    "x": ("TIMESTAMP", "2 MINUTES", _MOMENT, dt.datetime(2026, 3, 28, 23, 30, tzinfo=dt.UTC), dt.timedelta(seconds=97)),
    "d": ("DATE", "1 DAY", pa.date32(), dt.datetime(2026, 1, 20), dt.timedelta(days=1)),
}
_BELOW = "(SELECT k, window(ts, '5 minutes') AS w, count(*) AS n FROM t GROUP BY 1, 2)"
_NEAR = "t FULL JOIN u ON t.k = u.k AND u.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 2 MINUTES"
_THREE = "t FULL JOIN u USING (k, ts) FULL JOIN x USING (k, ts)"
_SELECTS = {
    "minutes_without_a_zone": "date_trunc('MINUTE', ts) AS g, count(*) AS c, max(v) AS m FROM n GROUP BY 1",
    "days_without_a_zone": "date_trunc('DAY', ts) AS g, to_date(ts) AS e, k, count(*) AS c FROM n GROUP BY 1, 2, 3",
    "months_of_moments": "trunc(to_date(ts), 'MM') AS g, window(ts, '1 hour') AS w, count(*) AS c FROM t GROUP BY 1, 2",
    "months_of_days": "date_trunc('MONTH', ts) AS g, trunc(ts, 'MM') AS e, count(*) AS c FROM d GROUP BY 1, 2",
    "windows_below": f"w, count(*) AS c, max(n) AS m FROM {_BELOW} GROUP BY w",
    "last_moments": f"window_time(w) AS g, count(*) AS c FROM {_BELOW} GROUP BY window_time(w)",
    "last_moments_of_rows": "window_time(w) AS g, k, count(*) AS c "
    "FROM (SELECT *, window(ts, '5 minutes') AS w FROM t) GROUP BY window_time(w), k",
    "windows_not_held_whole": f"window(w, '7 minutes') AS g, sum(n) AS c FROM {_BELOW} GROUP BY 1",
    "windows_of_last_moments": "window(window_time(w), '7 minutes', '2 minutes') AS g, sum(n) AS c "
    f"FROM {_BELOW} GROUP BY 1",
    "windows_of_sessions": "window(w, '20 minutes') AS g, sum(n) AS c FROM (SELECT k, session_window(ts, '4 minutes') "
    "AS w, count(*) AS n FROM t GROUP BY k, session_window(ts, '4 minutes')) GROUP BY window(w, '20 minutes')",
    "one_of_several": f"window(coalesce(t.ts, u.ts), '5 minutes') AS w, t.k, count(*) AS c, sum(u.v) AS m FROM {_NEAR} "
    "WHERE t.v > 2 OR u.v > 2 GROUP BY window(coalesce(t.ts, u.ts), '5 minutes'), t.k HAVING count(*) > 1",
    "sessions_of_several": "session_window(greatest(t.ts, u.ts), '90 seconds') AS w, count(*) AS c "
    f"FROM {_NEAR} GROUP BY session_window(greatest(t.ts, u.ts), '90 seconds')",
    "different_structs": "window(ts, '1 hour') AS w, count(DISTINCT s) AS a, count(DISTINCT struct(k, v)) AS b, "
    "count(DISTINCT k, v) AS c, count(DISTINCT s, k) AS d, count(DISTINCT s) FILTER (WHERE v > 3) AS e "
    "FROM t GROUP BY 1",
    "three_joins": f"k, ts, t.v AS a, u.v AS b, x.v AS c FROM {_THREE}",
    "groups_of_three_joins": "window(ts, '5 minutes') AS w, count(t.v) AS a, count(u.v) AS b, count(x.v) AS c "
    f"FROM {_THREE} GROUP BY 1",
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
    read = set(re.findall(r"(?:FROM|JOIN) ([a-z])\b", select))
    for stream in sorted(read):
        write(bench, stream)
    streams = "".join(declared(stream) for stream in sorted(read))
    sink = "CREATE SINK s USING parquet OPTIONS (path '{out}/s');"
    ran = bench.run(f"{streams} {sink} INSERT INTO s {select};", unbounded=False, final=True)
    assert ran.code == 0, ran.err
    for stream in read:
        spark.read.parquet(str(bench.folder / "data" / stream)).createOrReplaceTempView(stream)
    wanted = Counter(map(row_of, spark.sql(select).collect()))
    assert len(wanted) > 1
    assert Counter(map(row_of, spark.read.parquet(str(bench.folder / "out" / "s")).collect())) == wanted
    # All rows are of one day, which is over with the streams.
    is_early = any(line["rows_out"] for line in ran.batches[:-1])
    assert is_early == (name != "days_without_a_zone"), "when groups came"
    assert all(line["exact"] for line in ran.batches)


def row_of(row: Any) -> tuple[Any, ...]:
    """A row that can be counted."""
    return tuple(row_of(value) if isinstance(value, tuple) else value for value in row)


def declared(stream: str, more: str = "") -> str:
    """A stream of files, which may declare more."""
    kind, late, *_ = _STREAMS[stream]
    read = f"USING parquet OPTIONS (path '{{data}}/{stream}', maxFilesPerTrigger '1')"
    columns = f"k BIGINT, v BIGINT, s STRUCT<x: BIGINT, y: STRING>, ts {kind}"
    order = f"EVENT TIME ts, ORDERED BY ts WITHIN {late}, CHECK (ts IS NOT NULL)"
    return f"CREATE STREAM {stream} ({columns}, {order}{more}) {read};\n"


def write(bench: Bench, stream: str) -> None:
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
