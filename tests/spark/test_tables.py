"""Streams joined with tables on Spark, before they meet others: the answers are those of Spark's own batch queries."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench
from tests.spark.oracle import bag

_ROWS = pa.schema([("k", pa.int64()), ("c", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
_TABLE = pa.schema([("code", pa.string()), ("n", pa.int32())])
_QUERIES = {
    "inner_rows": "SELECT a.k, t.n, b.k AS bk FROM a JOIN t ON a.c = t.code JOIN b ON b.k = t.n",
    "kept_rows": "SELECT a.k, t.n, b.k AS bk FROM a LEFT JOIN t ON a.c = t.code "
    "LEFT JOIN b ON b.k = a.k AND b.k <> t.n",
    "known_rows": "SELECT a.k, b.c FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM t WHERE t.code = a.c) "
    "AND b.c NOT LIKE 'z%' AND NOT EXISTS (SELECT 1 FROM t WHERE code = b.c AND n > 2)",
    "alone": "SELECT upper(t.code) AS code, k FROM t JOIN a ON a.c = t.code WHERE t.n + a.k > 2",
}
_FEW = ("inner_rows", "kept_rows")


def _rows(chance: random.Random, size: int) -> list[dict[str, Any]]:
    return [
        {
            "k": chance.choice([None, 1, 2, 3]),
            "c": chance.choice([None, "x", "y", "z"]),
            "ts": 1_704_067_200_000_000 + n,
        }
        for n in range(size)
    ]


def test_rows_are_joined_with_tables_as_spark_does(bench: Bench, spark: SparkSession) -> None:
    _check(bench, spark, _FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in _QUERIES if name not in _FEW])
def test_each_join_with_a_table_is_that_of_spark(bench: Bench, spark: SparkSession, name: str) -> None:
    _check(bench, spark, (name,))


def _check(bench: Bench, spark: SparkSession, names: tuple[str, ...]) -> None:
    chance = random.Random(7)
    table = [{"code": code, "n": n} for code, n in (("x", 1), ("x", 2), ("y", 3), ("w", 1), (None, 2), ("z", None))]
    bench.write("t", table, _TABLE)
    spark.createDataFrame(pa.Table.from_pylist(table, schema=_TABLE)).createOrReplaceTempView("t")
    for name in ("a", "b"):
        files = [_rows(chance, 12) for _ in range(2)]
        for rows in files:
            bench.write(name, rows, _ROWS)
        whole = pa.Table.from_pylist([row for rows in files for row in rows], schema=_ROWS)
        spark.createDataFrame(whole).createOrReplaceTempView(name)
    declared = "k BIGINT, c STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 DAY"
    options = "USING parquet OPTIONS (path '{data}/%s', maxFilesPerTrigger '1')"
    script = "".join(f"CREATE STREAM {name} ({declared}) {options % name};\n" for name in ("a", "b"))
    script += "CREATE TABLE t (code STRING, n INT) USING parquet OPTIONS (path '{data}/t');\n"
    for name in names:
        script += f"CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');\n"
        script += f"INSERT INTO {name} {_QUERIES[name]};\n"
    ran = bench.run(script, final=True)
    assert ran.code == 0, ran.err
    for name in names:
        expected = bag(tuple(row) for row in spark.sql(_QUERIES[name]).collect())
        assert bench.sink(name) == expected, name
        assert expected
