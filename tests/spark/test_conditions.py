"""Conditions over several streams on Spark: what the core tests, what Spark filters, keys that Spark derives.

All queries of one script run over the same rows, in several batches; each answer is that of Spark's own batch query.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench
from tests.spark.oracle import bag

_SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.int32()), ("s", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
_QUERIES = {
    "core": "SELECT a.k, a.x, b.x AS bx FROM a JOIN b ON a.k = b.k AND (a.x <> b.x OR a.s = b.s)",
    "spark": "SELECT a.k, a.s, b.s AS bs FROM a JOIN b ON a.k = b.k WHERE a.s LIKE concat('%', b.s, '%')",
    "once": "SELECT DISTINCT a.k FROM a JOIN b ON a.k = b.k WHERE levenshtein(a.s, b.s) < 2",
    "counted": "SELECT window.start AS w, a.k, count(*) AS n, sum(b.x) AS t FROM a JOIN b ON a.k = b.k "
    "AND instr(a.s, b.s) = 1 GROUP BY window(a.ts, '1 hour'), a.k",
    "summed": "SELECT window.start AS w, count(*) AS n, sum(b.x) AS t FROM a JOIN b ON a.k = b.k AND a.x <> b.x "
    "GROUP BY window(a.ts, '1 hour')",
    "keys": "SELECT a.k, b.k AS bk FROM a JOIN b ON lower(a.s) = lower(b.s) AND a.x < b.x",
    "casts": "SELECT a.k, b.x FROM a JOIN b ON CAST(a.k AS STRING) = b.x || '' AND a.x * 0.5 <> b.x",
    "hours": "SELECT a.k, b.k AS bk FROM a JOIN b ON date_trunc('HOUR', a.ts) = date_trunc('HOUR', b.ts) AND a.x = b.x",
    "left_out": "SELECT a.k, a.s, b.x FROM a LEFT JOIN b ON a.k = b.k AND upper(a.s) <> upper(b.s)",
    "missing": "SELECT a.k, a.x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND length(b.s) + a.x > 3)",
    "itself": "SELECT a.k, b.k AS bk FROM a JOIN a AS b ON lower(a.s) = upper(b.s) OR a.x = b.x + 1",
    "below": "SELECT d.k, b.x FROM (SELECT DISTINCT a.k FROM a JOIN b ON a.k = b.k WHERE a.s LIKE concat('%', b.s)) "
    "AS d JOIN b ON b.k = d.k",
    "below_too": "SELECT d.n, b.x FROM (SELECT window.start AS w, count(*) AS n FROM a JOIN b ON a.k = b.k "
    "WHERE a.s LIKE concat('%', b.s) GROUP BY window(a.ts, '1 hour')) AS d JOIN b ON b.x < d.n",
    "nothing": "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE 1 = 0",
    # A key that cannot be worked out of every row, and a condition that keeps those rows out.
    "guarded": "SELECT a.k, b.k AS bk FROM a JOIN b ON 6 / a.x = b.k WHERE a.x <> 0",
    "guarded_below": "SELECT d.k, b.k AS bk FROM (SELECT DISTINCT k, x FROM a) AS d LEFT JOIN b ON 6 / b.x = d.x "
    "AND b.x <> 0 WHERE d.x <> 0",
}


def _rows(chance: random.Random, size: int) -> list[dict[str, Any]]:
    return [
        {
            "k": chance.choice([None, 1, 2, 3, 4]),
            "x": chance.choice([None, 0, 1, 2, 3]),
            "s": chance.choice([None, "", "a", "A", "ab", "AB", "b"]),
            "ts": chance.choice([None, *(1_704_067_200_000_000 + n * 1_800_000_000 for n in range(6))]),
        }
        for _ in range(size)
    ]


_FEW = ("spark", "once", "counted", "left_out", "guarded")
"""One of each kind, where time counts."""


def test_conditions_over_several_streams_are_those_of_spark(bench: Bench, spark: SparkSession) -> None:
    _check(bench, spark, {name: _QUERIES[name] for name in _FEW})


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in _QUERIES if name not in _FEW])
def test_each_condition_over_several_streams_is_that_of_spark(bench: Bench, spark: SparkSession, name: str) -> None:
    _check(bench, spark, {name: _QUERIES[name]})


def _check(bench: Bench, spark: SparkSession, queries: dict[str, str]) -> None:
    chance = random.Random(5)
    streams = {name: [_rows(chance, 16) for _ in range(2)] for name in ("a", "b")}
    for name, files in streams.items():
        for rows in files:
            bench.write(name, rows, _SCHEMA)
        spark.createDataFrame(
            pa.Table.from_pylist([row for rows in files for row in rows], schema=_SCHEMA)
        ).createOrReplaceTempView(name)
    declared = "k BIGINT, x INT, s STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 DAY"
    options = "USING parquet OPTIONS (path '{data}/%s', maxFilesPerTrigger '1')"
    script = "".join(f"CREATE STREAM {name} ({declared}) {options % name};\n" for name in streams)
    for name, query in queries.items():
        script += f"CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');\n"
        script += f"INSERT INTO {name} {query};\n"
    ran = bench.run(script, final=True)
    assert ran.code == 0, ran.err
    for name, query in queries.items():
        expected = bag(tuple(row) for row in spark.sql(query).collect())
        assert bench.sink(name) == expected, name
        assert expected or name == "nothing"
        assert sum(line["rows_out"] for line in ran.batches if line["query"] == name) == expected.total(), name
