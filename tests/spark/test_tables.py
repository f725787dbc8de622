"""Streams joined with tables on Spark, before they meet others or after: the answers are those of batch queries."""

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
_NEAR = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL '-5' SECOND AND INTERVAL '5' SECOND"
_QUERIES = {
    "inner_rows": "SELECT a.k, t.n, b.k AS bk FROM a JOIN t ON a.c = t.code JOIN b ON b.k = t.n",
    "kept_rows": "SELECT a.k, t.n, b.k AS bk FROM a LEFT JOIN t ON a.c = t.code "
    "LEFT JOIN b ON b.k = a.k AND b.k <> t.n",
    "known_rows": "SELECT a.k, b.c FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM t WHERE t.code = a.c) "
    "AND b.c NOT LIKE 'z%' AND NOT EXISTS (SELECT 1 FROM t WHERE code = b.c AND n > 2)",
    "comma": "SELECT a.k, t.n FROM a, t WHERE a.c = t.code AND t.n > 1",
    "crossed": "SELECT a.k, t.n FROM a CROSS JOIN t",
    "naturals": "SELECT * FROM a NATURAL JOIN (SELECT k, c FROM b) JOIN t ON n = k",
    "never_among": "SELECT a.k, a.c FROM a WHERE a.c NOT IN (SELECT code FROM t WHERE n = 1)",
    "among_null": "SELECT a.k, a.c FROM a WHERE a.c NOT IN (SELECT code FROM t)",
    "of_both": f"SELECT a.k, t.n, b.c FROM a JOIN b ON {_NEAR} JOIN t ON t.code = b.c AND t.n >= a.k WHERE a.k < 3",
    "of_both_kept": f"SELECT a.k, t.n, b.c FROM a LEFT JOIN b ON {_NEAR} LEFT JOIN t ON t.code = coalesce(b.c, a.c)",
    "of_both_where": f"SELECT a.k, t.n, b.c FROM a, b, t WHERE {_NEAR} AND t.code = b.c AND (t.n = a.k OR t.n IS NULL)",
    "grouped": f"SELECT t.n, count(*) AS many, min(b.c) AS c FROM a JOIN b ON {_NEAR} JOIN t ON t.code = a.c "
    "AND b.c >= t.code GROUP BY t.n, window(a.ts, '1 day')",
    "of_groups": "SELECT g.w.start AS since, g.many, t.code FROM (SELECT window(ts, '1 day') AS w, k, count(*) AS many "
    "FROM a GROUP BY window(ts, '1 day'), k) AS g JOIN t ON t.n = g.k",
    "of_groups_known": "SELECT g.many FROM (SELECT window(ts, '1 day') AS w, k, count(*) AS many "
    "FROM a GROUP BY window(ts, '1 day'), k) AS g LEFT SEMI JOIN t ON t.n = g.k",
    "of_groups_unknown": "SELECT g.many, g.k FROM (SELECT window(ts, '1 day') AS w, k, count(*) AS many "
    "FROM a GROUP BY window(ts, '1 day'), k) AS g LEFT ANTI JOIN t ON t.n = g.k AND t.code <> 'w'",
    "two_tables": f"SELECT a.k, t.n, u.code FROM a JOIN b ON {_NEAR} JOIN t ON t.code = b.c AND t.n >= a.k "
    "LEFT JOIN t AS u ON u.n = t.n",
    "twice": f"SELECT a.k, b.c, t.n FROM a JOIN a AS b ON {_NEAR} JOIN t ON t.code = b.c",
    "twice_apart": f"SELECT a.k, b.c, t.n FROM a JOIN a AS b ON {_NEAR} JOIN t ON t.code = b.c "
    "WHERE NOT EXISTS (SELECT 1 FROM t WHERE code = a.c AND n > a.k)",
    "asked_of_joins": f"SELECT a.k, b.c FROM a LEFT JOIN b ON {_NEAR} "
    "WHERE NOT EXISTS (SELECT 1 FROM t WHERE code = b.c AND n > a.k) AND a.k <= (SELECT max(n) FROM t)",
    "in_exists": f"SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b JOIN b AS c ON b.k = c.k AND b.ts = c.ts "
    f"JOIN t ON t.code = b.c AND t.n <> c.k WHERE {_NEAR})",
    "of_groups_less": "SELECT g.many, g.k FROM (SELECT window(ts, '1 day') AS w, k, count(*) AS many "
    "FROM a GROUP BY window(ts, '1 day'), k) AS g LEFT SEMI JOIN t ON t.n = g.k AND t.code > 'x'",
    "of_query": "WITH u AS (SELECT code, max(n) AS most FROM t GROUP BY code) SELECT a.k, u.most FROM a "
    "LEFT JOIN u ON a.c = u.code",
    "of_value": "SELECT a.k, (SELECT max(n) FROM t) - a.k AS less FROM a WHERE a.k < (SELECT avg(n) + 1 FROM t)",
    "value_in_query": "WITH u AS (SELECT code, n FROM t WHERE n < (SELECT max(n) FROM t) AND n NOT IN (SELECT n FROM t "
    "WHERE code = 'w' AND n > 2) OR code = 'y') SELECT a.k, u.n FROM a JOIN u ON u.code = a.c "
    "WHERE a.k <= (SELECT max(n) FROM t WHERE n < (SELECT max(n) + 1 FROM t))",
    "value_in_on": f"SELECT a.k, b.c FROM a LEFT JOIN b ON {_NEAR} AND b.k < (SELECT max(n) FROM t) "
    "AND a.k + b.k > (SELECT min(n) FROM t)",
    "value_in_inner_on": f"SELECT a.k, b.c FROM a JOIN b ON {_NEAR} AND b.k >= (SELECT avg(n) FROM t)",
    "value_in_full_on": f"SELECT a.k, b.c FROM a FULL JOIN b ON {_NEAR} AND (SELECT count(*) FROM t) > b.k + 3",
    "of_groups_value": "SELECT g.many, g.k + (SELECT min(n) FROM t) AS k FROM (SELECT window(ts, '1 day') AS w, k, "
    "count(*) AS many FROM a GROUP BY window(ts, '1 day'), k) AS g WHERE g.many > (SELECT count(*) - 5 FROM t)",
    "having_value": "SELECT k, count(*) + (SELECT max(n) FROM t) AS many, (SELECT min(code) FROM t) AS code FROM a "
    "GROUP BY k, window(ts, '1 day') HAVING count(*) > (SELECT min(n) FROM t)",
    "in_query": "SELECT a.k FROM a WHERE a.c IN (SELECT code FROM t GROUP BY code HAVING count(*) > 1)",
    "in_joined": "SELECT a.k FROM a WHERE a.k IN (SELECT t.n FROM t JOIN t AS u ON t.code = u.code WHERE u.n > t.n)",
    "alone": "SELECT upper(t.code) AS code, k FROM t JOIN a ON a.c = t.code WHERE t.n + a.k > 2",
}
_FEW = ("of_both_kept", "in_exists")


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
        assert expected or name == "among_null"
