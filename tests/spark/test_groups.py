"""GROUP BY over joins on Spark. The oracle is Spark itself: the same SELECT over all rows at once, as a batch.

It is asked for the values and for the types: sums of decimals, means, medians, windows are what Spark says they are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import penstock
from penstock.errors import NotSupportedYet, PenstockError, UsageError
from tests.measure import size
from tests.spark.conftest import Bench

START = datetime(2024, 5, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("i", pa.int32()),
        ("g", pa.string()),
        ("x", pa.float64()),
        ("p", pa.decimal128(9, 2)),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
STREAM = """
CREATE STREAM {name} (k BIGINT, i INT, g STRING, x DOUBLE, p DECIMAL(9,2), ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS)
  USING parquet OPTIONS (path '{data}/{name}', maxFilesPerTrigger '1');
"""
STREAMS = STREAM.replace("{name}", "s") + STREAM.replace("{name}", "t")
JOIN = "FROM s JOIN t ON s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL -3 SECONDS AND INTERVAL 3 SECONDS"
PLAIN = JOIN.replace("BETWEEN INTERVAL -3 SECONDS AND", "BETWEEN INTERVAL '-3' SECONDS AND")

RUNNING = {
    "all aggregates of one group": (
        "count(*) AS n, count(s.g) AS c, sum(s.i) AS si, sum(t.p) AS sp, sum(s.x) AS sx, avg(s.i) AS ai, "
        "avg(t.p) AS ap, sum(CAST(t.p AS DECIMAL(38,18))) AS wide, avg(CAST(s.p AS DECIMAL(20,4))) AS aw, "
        "avg(s.x) AS ax, min(t.g) AS mg, max(s.p) AS mp, min(s.x) AS mx, max(t.ts) AS mt, "
        "count(DISTINCT s.i) AS di, median(t.i) AS mi, median(s.p) AS mdp, median(s.x) AS mdx",
        "",
    ),
    "expressions": (
        "upper(s.g) AS u, s.i % 2 AS odd, sum(s.i * t.i) AS product, avg(s.x + t.x) AS mean, "
        "max(concat(s.g, t.g)) AS last, min(reverse(t.g)) AS back, "
        "count(DISTINCT s.i + t.i) AS sums, median(s.i - t.i) AS middle, "
        "sum(t.p) AS sp",
        "GROUP BY upper(s.g), s.i % 2",
    ),
    "NULL is a group": ("s.g, count(*) AS n, sum(t.i) AS si, count(DISTINCT t.g) AS dg", "GROUP BY s.g"),
    "two columns, of both streams": ("s.g, t.i, min(t.x) AS lo, max(s.g) AS hi", "GROUP BY s.g, t.i"),
    "a value of the group, and aggregates, in an expression": (
        "concat(s.g, '!') AS loud, s.i + 1 AS next, 60 * count(*) AS an_hour, sum(t.p)/count(*) AS mean, "
        "concat(s.g, max(t.g)) AS both, coalesce(sum(t.i), 0) - s.i AS gap, count(*) AS n, sum(1) AS ones",
        "GROUP BY s.g, s.i",
    ),
}


def rows_of(seed: int, files: int, count: int = 25) -> list[list[dict[str, Any]]]:
    """So many files, a few seconds each, in which nothing is more than 2 seconds late."""
    draw = random.Random(seed)

    def row(file: int) -> dict[str, Any]:
        return {
            "k": draw.choice((None, 1, 2, 3)),
            "i": draw.choice((None, *range(-4, 5))),
            "g": draw.choice((None, "a", "b", "Ab", "")),
            "x": draw.choice((None, 0.0, -0.0, 0.25, 1e6, -2.5)),
            "p": draw.choice((None, Decimal("0.01"), Decimal("9999999.99"), Decimal("-3.35"))),
            "ts": draw.choice((None, *[START + timedelta(seconds=2 * file + draw.randint(0, 2))] * 9)),
        }

    return [[row(file) for _ in range(count)] for file in range(files)]


def write(bench: Bench, files: int = 4) -> None:
    for name, seed in (("s", 1), ("t", 2)):
        for rows in rows_of(seed, files):
            bench.write(name, rows, SCHEMA)


def by_spark(spark: SparkSession, bench: Bench, select: str) -> DataFrame:
    """The answer of a plain batch query."""
    for name in ("s", "t"):
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    return spark.sql(select)


def batches_of(spark: SparkSession, bench: Bench, script: str) -> tuple[list[list[Row]], Any]:
    """What each batch gives, and the schema."""
    parsed = penstock.parse(bench.text(script))
    answer = penstock.stream(spark, parsed, allow_unbounded=True)
    found: list[list[Row]] = []
    writer = answer.writeStream.foreachBatch(lambda frame, _: found.append(frame.collect()))
    checkpoint = str(bench.folder / "checkpoint")
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    return found, answer.schema


def close(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and isinstance(other, float) and abs(one - other) < 1e-6)


def same_rows(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]]) -> None:
    def key(row: Sequence[Any]) -> str:
        return str([f"{v:.3f}" if isinstance(v, float) else str(v) for v in row])

    assert len(found) == len(wanted)
    for one, other in zip(sorted(found, key=key), sorted(wanted, key=key), strict=True):
        assert all(close(a, b) for a, b in zip(one, other, strict=True)), (one, other)


@pytest.mark.parametrize("case", [*RUNNING][: size(1, len(RUNNING))])
def test_running_groups_end_with_what_spark_says_of_all_rows(spark: SparkSession, bench: Bench, case: str) -> None:
    select, group_by = RUNNING[case]
    write(bench, size(3, 4))
    batches, schema = batches_of(spark, bench, f"{STREAMS} SELECT {select} {JOIN} {group_by};")
    wanted = by_spark(spark, bench, f"SELECT {select} {PLAIN} {group_by}")
    assert [(f.name, f.dataType) for f in schema] == [(f.name, f.dataType) for f in wanted.schema]
    keys = group_by.count(",") + 1 if group_by else 0
    last: dict[Any, Row] = {}
    for given in batches:
        assert len({tuple(row[:keys]) for row in given}) == len(given), "a group twice in one batch"
        last |= {tuple(row[:keys]): row for row in given}
    if not group_by:
        assert len(batches[0]) == 1, "one row from the first batch on"
    same_rows(list(last.values()), wanted.collect())


BAND = "s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL '-3' SECONDS AND INTERVAL 3 SECONDS"
BY = "GROUP BY window(s.ts, '4 seconds'), s.g"
WINDOWED = {
    "lefts": "window(s.ts, '4 seconds') AS w, s.g, count(*) AS n, count(t.k) AS met, sum(t.i) AS si, max(t.p) AS mp, "
    "avg(t.x) AS ax, min(t.g) AS mg, count(DISTINCT t.i) AS di, median(t.i) AS mi, sum(coalesce(t.i, 100)) AS ci, "
    "count(*) / 4.0 AS a_second "
    f"FROM s LEFT JOIN t ON {BAND} {BY}",
    "inners": "window(s.ts, '4 seconds') AS w, s.g, count(*) AS n, sum(t.i) AS si, max(t.p) AS mp, "
    f"count(*) / 4.0 AS a_second {JOIN} {BY}",
    "alone": "window(s.ts, '4 seconds') AS w, s.g, count(*) AS n, sum(s.p) AS sp FROM s "
    f"WHERE NOT EXISTS (SELECT 1 FROM t WHERE {BAND}) {BY}",
}


@pytest.mark.parametrize("cells", ["4", "1"][: size(1, 2)])
@pytest.mark.parametrize("name", [*WINDOWED][: size(1, len(WINDOWED))])
def test_windows_are_given_once_to_files_and_are_what_spark_says(
    spark: SparkSession, bench: Bench, name: str, cells: str
) -> None:
    select = WINDOWED[name]
    script = (
        f"{STREAMS} CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');"
        f"INSERT INTO {name} SELECT {select};"
    )
    write(bench, 5)
    half = bench.run(script, conf={"penstock.cells": cells}, unbounded=False)
    assert half.code == 0, half.err
    for stream, seed in (("s", 1), ("t", 2)):
        for rows in rows_of(seed, 9)[5:]:
            bench.write(stream, rows, SCHEMA)
    ran = bench.run(script, conf={"penstock.cells": cells}, unbounded=False)
    assert ran.code == 0, ran.err
    wanted = by_spark(spark, bench, f"SELECT {select}".replace("INTERVAL -3", "INTERVAL '-3'")).collect()
    found = spark.read.parquet(str(bench.folder / "out" / name)).collect()
    # s has been read up to second 18, 2 of which may be late; a row of s waits 3 seconds for its partners.
    closed = [row for row in wanted if row["w"]["end"] <= (START + timedelta(seconds=12)).replace(tzinfo=None)]
    assert {(r["w"], r["g"]) for r in closed} <= {(r["w"], r["g"]) for r in found}
    same_rows(found, [row for row in wanted if (row["w"], row["g"]) in {(r["w"], r["g"]) for r in found}])
    assert all("(groups)" in line["state_rows"] for line in ran.batches)
    assert sum(line["rows_out"] for line in ran.batches) == len(found)


@pytest.mark.parametrize(
    ("select", "error", "says"),
    [
        ("s.g, sum(s.i) AS a", PenstockError, "GROUP BY"),
        ("sum(upper(s.g)) AS a", UsageError, "is no number"),
        ("max(array(s.i, t.i)) AS a", PenstockError, "have no order here"),
        ("max(transform(array(s.i), x -> x)) AS a", NotSupportedYet, "extremes of ARRAY<INT>"),
        ("sum(s.i + rand()) AS a", NotSupportedYet, "another value each time"),
        ("sum(s.i + hash(`uuid`())) AS a", NotSupportedYet, "another value each time"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(
    spark: SparkSession, bench: Bench, select: str, error: type[PenstockError], says: str
) -> None:
    write(bench, 1)
    with pytest.raises(error, match=says):
        batches_of(spark, bench, f"{STREAMS} SELECT {select} {JOIN};")


@pytest.mark.usefixtures("spark")
def test_a_sum_beyond_bigint_is_an_error_that_names_it(bench: Bench) -> None:
    schema = pa.schema([("k", pa.int64())])
    for name in ("s", "t"):
        bench.write(name, [{"k": 2**62}, {"k": 2**62}], schema)
    script = "".join(
        f"CREATE STREAM {name} (k BIGINT) USING parquet OPTIONS (path '{{data}}/{name}');" for name in ("s", "t")
    )
    ran = bench.run(f"{script} SELECT sum(s.k) AS total FROM s, t WHERE s.k = t.k;", unbounded=True)
    assert ran.code == 1
    assert "sum(s.k) of a group is beyond BIGINT" in ran.err


def test_texts_of_a_collation_are_not_grouped_by_their_bytes(bench: Bench) -> None:
    stream = "CREATE STREAM s (a STRING, ts TIMESTAMP) USING parquet OPTIONS (path '{data}/s');"
    bench.write("s", [], pa.schema([("a", pa.string()), ("ts", pa.timestamp("us", "UTC"))]))
    ran = bench.run(f"{stream} SELECT a COLLATE UTF8_LCASE AS a, count(*) AS n FROM s GROUP BY a COLLATE UTF8_LCASE;")
    assert ran.code == 2
    assert "is not grouped or compared by its collation yet" in ran.err
