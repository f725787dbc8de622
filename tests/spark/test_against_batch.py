"""Queries against what Spark's batch engine says of the same rows: NULLs in all columns, several batches.

Each is a construct that Spark reads in its own way, so that no other oracle will do: names of columns, NULLs in IN,
what joins ask in ON, differences of times by clocks.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench

_SCHEMA = pa.schema(
    [("id", pa.int64()), ("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("day", pa.date32())]
)
_NEAR = "c.ts BETWEEN {0}.ts AND {0}.ts + INTERVAL 3 MINUTES"
_TIE = "b.k = a.k AND b.ts - a.ts BETWEEN INTERVAL '-1' MINUTE AND INTERVAL 4 MINUTES"
_START = dt.datetime(2026, 3, 28, 23, 53, tzinfo=dt.UTC)


def _of(alias: str) -> str:
    return f"EXISTS (SELECT 1 FROM c WHERE c.k = {alias}.k AND {_NEAR.format(alias)})"


_QUERIES = (
    f"SELECT a.id, a.k, a.v FROM a WHERE (a.k, a.v) NOT IN (SELECT c.k, c.v FROM c WHERE {_NEAR.format('a')})",
    f"SELECT a.id FROM a WHERE (a.k, a.v + 1, a.id) NOT IN (SELECT c.k, c.v, c.id FROM c WHERE {_NEAR.format('a')})",
    f"SELECT a.id FROM a WHERE a.k + a.v NOT IN (SELECT c.k + 1 FROM c WHERE {_NEAR.format('a')})",
    f"SELECT a.id, b.id AS other FROM a JOIN b ON {_TIE} AND {_of('a')}",
    f"SELECT a.id, b.id AS other FROM a JOIN b ON {_TIE} AND (a.v > 1 OR NOT {_of('b')})",
    f"SELECT a.id, b.id AS other FROM a LEFT JOIN b ON {_TIE} AND {_of('b')}",
    f"SELECT a.id, b.id AS other FROM a LEFT JOIN b ON {_TIE} AND {_of('a')}",
    f"SELECT a.id, b.id AS other FROM a FULL JOIN b ON {_TIE} AND {_of('a')}",
    f"SELECT a.id FROM a ANTI JOIN b ON {_TIE} AND {_of('a')}",
    f"SELECT a.id FROM a SEMI JOIN b ON {_TIE} AND (b.v > 1 OR {_of('b')})",
    "SELECT A.ID, A.`Day`, a.K + A.V, X.Id AS other FROM a JOIN b AS x ON A.K = x.K AND X.TS BETWEEN a.ts "
    "AND a.TS + INTERVAL 1 MINUTE",
    "SELECT * FROM (SELECT Id, TS FROM a) JOIN (SELECT DISTINCT iD AS other, tS AS at FROM b WHERE TS IS NOT NULL) "
    "AS subquery ON date_trunc('MINUTE', AT) = date_trunc('MINUTE', Ts)",
    "SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.k = b.k AND datediff(b.ts, a.ts) IN (0, 1)",
    "SELECT a.id, b.id AS other FROM a FULL JOIN b ON a.k = b.k AND abs(b.ts - a.ts) <= INTERVAL 90 SECONDS",
    "SELECT a.id FROM a ANTI JOIN b ON a.k = b.k AND datediff(MINUTE, a.ts, b.ts) BETWEEN 0 AND 2",
    "SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.k = b.k AND date_trunc('MINUTE', b.ts) "
    "BETWEEN date_trunc('MINUTE', a.ts) AND date_trunc('MINUTE', a.ts) + INTERVAL 1 MINUTE",
    "SELECT a.id FROM a SEMI JOIN b ON a.k = b.k AND to_date(b.ts) = date_add(to_date(a.ts), 1)",
)


def _rows(draw: random.Random, batch: int) -> list[dict[str, Any]]:
    def one() -> dict[str, Any]:
        ts = _START + dt.timedelta(seconds=300 * batch + draw.randint(0, 300))
        return {
            "id": draw.randint(0, 9),
            "k": draw.choice((None, 0, 1, 2)),
            "v": draw.choice((None, 0, 1, 2, 3)),
            "ts": draw.choice((None, ts, ts, ts, ts, ts)),
            "day": draw.choice((None, ts.date(), ts.date(), ts.date())),
        }

    return [one() for _ in range(12)]


@pytest.mark.parametrize("query", _QUERIES)
def test_it_gives_what_spark_gives_of_all_rows(bench: Bench, spark: SparkSession, query: str) -> None:
    draw = random.Random(query)
    declared = ""
    for name in "abc":
        rows = [_rows(draw, batch) for batch in range(3)]
        for batch in rows:
            bench.write(name, batch, _SCHEMA)
        frame = spark.read.parquet(str(bench.folder / "data" / name))
        frame.createOrReplaceTempView(name)
        declared += f"""CREATE STREAM {name} (id BIGINT, k BIGINT, v BIGINT, ts TIMESTAMP, day DATE,
            EVENT TIME ts, ORDERED BY ts WITHIN 10 MINUTES
        ) USING parquet OPTIONS (path '{{data}}/{name}', maxFilesPerTrigger '1');\n"""
    sink = "CREATE SINK s USING parquet OPTIONS (path '{out}/s');\n"
    expected = spark.sql(query)
    ran = bench.run(f"{declared}{sink}INSERT INTO s {query};", final=True, unbounded=False)
    assert ran.code == 0, ran.err
    found: Counter[tuple[Any, ...]] = Counter(bench.sink("s"))
    assert found == Counter(map(tuple, expected.collect()))
    assert found
    assert len({line["batch"] for line in ran.batches}) > 1
    assert spark.read.parquet(str(bench.folder / "out" / "s")).columns == expected.columns
