"""LATERAL VIEW on Spark: rows repeated for their elements, of streams and of queries; answers are those of batch."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench
from tests.spark.oracle import bag

_ITEM = pa.struct([("sku", pa.string()), ("n", pa.int32())])
_ROWS = pa.schema(
    [
        ("k", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("items", pa.list_(_ITEM)),
        ("prices", pa.map_(pa.string(), pa.int64())),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
_NEAR = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL '-5' SECOND AND INTERVAL '5' SECOND"
_QUERIES = {
    "views": f"SELECT a.k, p, tag, b.k AS bk FROM a JOIN b ON {_NEAR} LATERAL VIEW OUTER posexplode(a.tags) t "
    "AS p, tag LATERAL VIEW explode(b.prices) u AS sku, price WHERE tag IS NULL OR tag <> sku",
    "above": "SELECT g.k, name FROM (SELECT k, window(ts, '1 day') AS w, count(*) AS many, "
    "min(CAST(get(tags, 0) AS STRING)) AS tag FROM a GROUP BY k, window(ts, '1 day')) AS g "
    "LATERAL VIEW explode(array(CAST(g.tag AS STRING), 'all')) t AS name WHERE many > 1",
    "named": "SELECT k, t.item.sku, t.item.n + 1 AS n FROM a LATERAL VIEW explode(items) t AS item",
    "inlined": "SELECT k, inline(items) FROM a WHERE k > 1",
    "laterals": "SELECT a.k, t.x FROM a LEFT JOIN LATERAL explode(split(concat_ws('-', tags), '-')) AS t(x) ON TRUE",
    "counted": "SELECT tag, count(*) AS many, count(DISTINCT k) AS ks FROM a LATERAL VIEW explode(tags) t AS tag "
    "GROUP BY tag, window(ts, '1 day')",
    "asked": "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b LATERAL VIEW explode(tags) t AS tag "
    "WHERE tag = CAST(get(a.tags, 0) AS STRING) AND b.ts - a.ts BETWEEN INTERVAL '-5' SECOND AND INTERVAL '5' SECOND)",
    "asked_not": f"SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b LATERAL VIEW explode(tags) t AS tag "
    f"WHERE tag = 'x' AND {_NEAR})",
    "nothing_in_it": "SELECT k, explode_outer(prices) FROM a",
}
_FEW = ("above",)


def _rows(chance: random.Random, size: int) -> list[dict[str, Any]]:
    def some(make: Any) -> list[Any] | None:
        return chance.choice([None, [], [make()], [make(), make(), make()]])

    def name() -> str | None:
        return chance.choice([None, "x", "y", "z"])

    return [
        {
            "k": chance.choice([None, 1, 2, 3]),
            "tags": some(name),
            "items": some(lambda: chance.choice([None, {"sku": name(), "n": chance.choice([None, 4])}])),
            "prices": None if chance.random() < 0.3 else [(letter, chance.choice([None, 1, 2])) for letter in "xy"],
            "ts": 1_704_067_200_000_000 + n,
        }
        for n in range(size)
    ]


def test_rows_come_once_for_each_element_as_spark_gives_them(bench: Bench, spark: SparkSession) -> None:
    _check(bench, spark, _FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in _QUERIES if name not in _FEW])
def test_each_view_of_elements_is_that_of_spark(bench: Bench, spark: SparkSession, name: str) -> None:
    _check(bench, spark, (name,))


def _check(bench: Bench, spark: SparkSession, names: tuple[str, ...]) -> None:
    chance = random.Random(11)
    for name in ("a", "b"):
        files = [_rows(chance, 12) for _ in range(2)]
        for rows in files:
            bench.write(name, rows, _ROWS)
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    declared = (
        "k BIGINT, tags ARRAY<STRING>, items ARRAY<STRUCT<sku: STRING, n: INT>>, prices MAP<STRING, BIGINT>, "
        "ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 DAY"
    )
    options = "USING parquet OPTIONS (path '{data}/%s', maxFilesPerTrigger '1')"
    script = "".join(f"CREATE STREAM {name} ({declared}) {options % name};\n" for name in ("a", "b"))
    for name in names:
        script += f"CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');\n"
        script += f"INSERT INTO {name} {_QUERIES[name]};\n"
    ran = bench.run(script, final=True)
    assert ran.code == 0, ran.err
    for name in names:
        expected = bag(tuple(row) for row in spark.sql(_QUERIES[name]).collect())
        assert bench.sink(name) == expected, name
        assert expected
