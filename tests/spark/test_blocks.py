"""Queries of several blocks on Spark, within one streaming query. The oracle is Spark's batch answer on all rows.

Views are told to Spark as views; nothing of Penstock's is in that.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.analysis.check import check_query
from penstock.compile import parse, runnable_plan
from penstock.errors import DataError
from penstock.spark.quarantine_sinks import drains_of, into_of
from penstock.spark.table_joins import require_types
from tests.spark.conftest import Bench

START = datetime(2024, 5, 1, tzinfo=UTC)
SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = """
CREATE STREAM {name} (k BIGINT, n INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS)
  USING parquet OPTIONS (path '{data}/{name}', maxFilesPerTrigger '1');
"""
STREAMS = "".join(STREAM.replace("{name}", name) for name in "abc")
SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}/out'); INSERT INTO out "
NEAR = "{y}.k = {x}.k AND {y}.{s} BETWEEN {x}.{t} - INTERVAL 2 SECONDS AND {x}.{t} + INTERVAL 4 SECONDS"

VIEWS = {
    "pairs": "SELECT a.k AS k, a.ts AS t, coalesce(a.n, 0) + b.n AS n FROM a JOIN b ON "
    + NEAR.format(x="a", y="b", s="ts", t="ts"),
    "groups": "SELECT a.k AS k, window(a.ts, '4 seconds').end AS t, count(*) AS n FROM a "
    "GROUP BY a.k, window(a.ts, '4 seconds') HAVING count(*) > 1",
    "once": "SELECT DISTINCT a.k AS k, a.ts AS t, upper(CAST(a.n AS STRING)) AS n FROM a WHERE a.ts IS NOT NULL",
}
VIEWS["days"] = (
    "SELECT a.k AS k, date_trunc('MINUTE', a.ts) AS t, count(*) AS n FROM a WHERE a.ts IS NOT NULL AND a.k IS NOT NULL "
    "GROUP BY a.k, date_trunc('MINUTE', a.ts)"
)
TOPS = {
    "joined": "SELECT v.k, v.n, v.t, c.n AS m FROM v JOIN c ON " + NEAR.format(x="v", y="c", s="ts", t="t"),
    "left": "SELECT v.k, v.n, v.t, c.n + 1 AS m FROM c LEFT JOIN v ON "
    + NEAR.format(x="v", y="c", s="ts", t="t")
    + " AND v.k > 1",
    "groups of it": "SELECT window(v.t, '8 seconds').start AS since, count(*) AS rows, max(v.n) AS most FROM v "
    "GROUP BY window(v.t, '8 seconds')",
}


def write(bench: Bench, files: int, first: int = 0) -> None:
    for name in "abc":
        draw = random.Random(f"{name}{first}")
        for file in range(first, first + files):
            rows = [
                {
                    "k": draw.choice((None, 1, 2, 3)),
                    "n": draw.choice((None, 1, 2, 30)),
                    "ts": draw.choice((None, *[START + timedelta(seconds=2 * file + draw.randint(0, 2))] * 9)),
                }
                for _ in range(12)
            ]
            bench.write(name, rows, SCHEMA)


def wanted(spark: SparkSession, bench: Bench, view: str, select: str) -> Counter[tuple[Any, ...]]:
    for name in "abc":
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    spark.sql(view).createOrReplaceTempView("v")
    return Counter(map(tuple, spark.sql(select).collect()))


def found(spark: SparkSession, bench: Bench) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, spark.read.parquet(str(bench.folder / "out" / "out")).collect()))


@pytest.mark.parametrize(
    ("view", "top", "cells"),
    [
        ("pairs", "left", "2"),
        pytest.param("groups", "joined", "3", marks=pytest.mark.thorough),
        pytest.param("once", "joined", "1", marks=pytest.mark.thorough),
        pytest.param("days", "left", "2", marks=pytest.mark.thorough),
        pytest.param("groups", "groups of it", "2", marks=pytest.mark.thorough),
        pytest.param("groups", "left", "2", marks=pytest.mark.thorough),
        pytest.param("once", "groups of it", "2", marks=pytest.mark.thorough),
    ],
)
def test_a_view_below_another_block_gives_what_spark_says(
    spark: SparkSession, bench: Bench, view: str, top: str, cells: str
) -> None:
    script = f"{STREAMS} CREATE VIEW v AS {VIEWS[view]}; {SINK} {TOPS[top]};"
    conf = {"penstock.cells": cells}
    write(bench, 2)
    ran = bench.run(script, conf=conf, unbounded=False)
    assert ran.code == 0, ran.err
    assert any(alias.startswith("v.") for alias in ran.batches[-1]["state_rows"])
    # A second run goes on from the checkpoint; then all streams end.
    write(bench, 1, first=2)
    ran = bench.run(script, conf=conf, unbounded=False, final=True)
    assert ran.code == 0, ran.err
    assert ran.batches[-1]["exact"]
    assert set(ran.batches[-1]["state_rows"].values()) == {0}
    answer = wanted(spark, bench, VIEWS[view], TOPS[top])
    assert found(spark, bench) == answer
    assert sum(line["rows_out"] for line in ran.batches) == answer.total()


@pytest.mark.thorough
def test_a_view_that_two_blocks_read_and_a_stream_that_stands_in_two(spark: SparkSession, bench: Bench) -> None:
    view = VIEWS["pairs"]
    both = "SELECT v.k, g.n, a.n AS m FROM v JOIN g ON g.k = v.k AND g.t = v.t JOIN a ON a.k = v.k AND a.ts = v.t"
    groups = "SELECT v.k AS k, v.t AS t, max(v.n) AS n FROM v GROUP BY v.k, v.t, window(v.t, '1 second')"
    script = f"{STREAMS} CREATE VIEW v AS {view}; CREATE VIEW g AS {groups}; {SINK} {both};"
    write(bench, 2)
    ran = bench.run(script, final=True)
    assert ran.code == 0, ran.err
    for name in "abc":
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    spark.sql(view).createOrReplaceTempView("v")
    spark.sql(groups).createOrReplaceTempView("g")
    assert found(spark, bench) == Counter(map(tuple, spark.sql(both).collect()))


@pytest.mark.thorough
def test_a_row_that_breaks_a_promise_in_two_blocks_is_in_quarantine_once(bench: Bench, spark: SparkSession) -> None:
    script = """
        CREATE STREAM late (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 1 ON VIOLATION QUARANTINE)
          USING parquet OPTIONS (path '{data}/late');
        CREATE VIEW g AS SELECT k, window(ts, 5).start AS ts, count(*) AS n FROM late GROUP BY k, window(ts, 5);
        CREATE SINK out USING parquet OPTIONS (path '{out}');
        INSERT INTO out SELECT g.k, g.n, late.ts FROM g JOIN late ON late.k = g.k AND late.ts - g.ts BETWEEN 0 AND 3;
    """
    rows = [{"k": 1, "ts": ts} for ts in (1, 6, 3, 4)]
    bench.write("late", rows, pa.schema([("k", pa.int64()), ("ts", pa.int64())]))
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    assert [batch["violations"] for batch in ran.batches] == [{"ORDERED BY ts WITHIN 1 ON late": 2}]
    [folder] = bench.folder.glob("checkpoint/out/quarantine/*")
    assert sorted(row.ts for row in spark.read.parquet(str(folder)).collect()) == [3, 4]


@pytest.mark.thorough
def test_a_checkpoint_is_of_all_blocks(bench: Bench) -> None:
    script = f"{STREAMS} CREATE VIEW v AS {VIEWS['groups']}; {SINK} {TOPS['joined']};"
    write(bench, 1)
    assert bench.run(script).code == 0
    ran = bench.run(script.replace("> 1", "> 2"))
    assert ran.code == 2
    assert "was made by another query" in ran.err


def test_a_type_that_spark_does_not_give_is_an_error(spark: SparkSession) -> None:
    columns = [("k", "BIGINT"), ("n", "STRING")]
    require_types(spark.sql("SELECT 1L AS k, 'x' AS n"), columns, "v")
    with pytest.raises(DataError, match="column k of v is BIGINT"):
        require_types(spark.sql("SELECT 1 AS k, 'x' AS n"), columns, "v")


KEPT_OUT = """
CREATE SINK odd USING parquet OPTIONS (path '{out}/odd');
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION QUARANTINE INTO odd,
  CHECK (ts IS NOT NULL)) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM b (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts) USING parquet OPTIONS (path '{data}/b');
CREATE VIEW g (PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO odd) AS
  SELECT k, window(ts, 5).end AS e, count(*) AS n FROM s GROUP BY k, window(ts, 5);
CREATE SINK good USING parquet OPTIONS (path '{out}/good');
INSERT INTO good SELECT g.k, g.e, g.n FROM g JOIN b ON b.k = g.k AND b.ts - g.e BETWEEN -50 AND 50;
"""


def test_the_sinks_for_what_blocks_keep_out_are_known() -> None:
    script = parse(KEPT_OUT)
    (query,) = script.queries
    plan = runnable_plan(query, check_query(query), allow_unbounded=False)
    checkpoint: Any = SimpleNamespace(folder=Path("checkpoint"), quarantine=Path("quarantine"))
    (drain,) = drains_of(script, query, plan, checkpoint)
    assert [sink.name for sink in into_of(script, plan)] == [drain.sink.name] == ["odd"]
    assert [(stream.name, [c.name for c in stream.carried]) for stream in drain.streams] == [
        ("s", ["k", "v", "ts"]),
        ("g", ["k", "e", "n"]),
    ]


@pytest.mark.thorough
def test_what_is_kept_out_below_and_of_a_view_goes_into_its_sink(bench: Bench) -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.int64())])
    for name, rows in (
        ("b", [(1, 0, 0), (2, 0, 1)]),
        ("s", [(1, 1, 0), (2, 1, 1), (1, 2, 6)]),
        ("s", [(1, -7, 2), (3, 1, 12)]),
    ):
        bench.write(name, [dict(zip(("k", "v", "ts"), row, strict=True)) for row in rows], schema)
    ran = bench.run(KEPT_OUT, final=True)
    assert ran.code == 0, ran.err
    assert bench.sink("good") == Counter([(1, 5, 1), (2, 5, 1)])
    assert bench.sink("odd") == Counter([(1, -7, 2, None, None), (1, None, None, 10, 1)])
