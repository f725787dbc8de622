"""Outer joins and EXISTS on Spark, several cells and files a trigger, over two runs on one checkpoint.

The oracle is Spark's own SQL over all the data at once. The last rows of each stream are far ahead of all others, with
keys of their own: they settle what came before them. They themselves may still wait, so they are left out.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, canonical

START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = pa.schema([("n", pa.int64()), ("k", pa.int64()), ("m", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
STREAM = """
CREATE STREAM {name} (n BIGINT, k BIGINT, m STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS)
  USING parquet OPTIONS (path '{{data}}/{name}', maxFilesPerTrigger '2');
"""
LAST = 1_000_000
BAND = "{y}.ts BETWEEN {x}.ts - INTERVAL 4 SECONDS AND {x}.ts + INTERVAL 6 SECONDS"
AB, AC, BC = (BAND.format(x=x, y=y) for x, y in ("ab", "ac", "bc"))
QUERIES = {
    "lefts": f"SELECT a.n AS an, b.n AS bn, a.m FROM a LEFT JOIN b ON a.k = b.k AND {AB}",
    "filtered": f"SELECT a.n AS an, b.n AS bn FROM a LEFT JOIN b ON a.k = b.k AND {AB} AND a.m <> 'x' AND b.m <> 'y'",
    "anti_idiom": f"SELECT a.n AS an FROM a LEFT JOIN b ON a.k = b.k AND {AB} WHERE b.n IS NULL AND a.m <> 'z'",
    "defaults": f"SELECT a.n AS an, coalesce(b.n, -1) AS bn FROM a LEFT JOIN b ON a.k = b.k AND {AB}"
    " WHERE coalesce(b.m, 'x') = 'x'",
    "rights": f"SELECT a.n AS an, b.n AS bn FROM a RIGHT JOIN b ON a.k = b.k AND {AB}",
    "fulls": f"SELECT a.n AS an, b.n AS bn FROM a FULL JOIN b ON a.k = b.k AND {AB}",
    "known": f"SELECT a.n AS an FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND {AB})",
    "unknown": f"SELECT a.n AS an FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND {AB} AND b.m <> 'x')",
    "distinct_keys": f"SELECT DISTINCT a.k, b.m FROM a LEFT JOIN b ON a.k = b.k AND {AB} WHERE a.n < {LAST}",
    "answered_not_closed": f"SELECT a.n AS an, b.n AS bn FROM a JOIN b ON a.k = b.k AND {AB}"
    f" WHERE NOT EXISTS (SELECT 1 FROM c WHERE b.m = c.m AND {BC})",
    "chain": f"SELECT a.n AS an, b.n AS bn, c.n AS cn FROM a LEFT JOIN b ON a.k = b.k AND {AB}"
    f" LEFT JOIN c ON a.k = c.k AND {AC}",
    "inner_above": f"SELECT a.n AS an, b.n AS bn, c.n AS cn FROM a FULL JOIN b ON a.k = b.k AND {AB}"
    f" RIGHT JOIN c ON a.k = c.k AND {AC}",
}


def rows_of(first: int, second: int, draw: random.Random) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(first, first + 30):
        key = draw.choice([None, *range(12)])
        moment = START + timedelta(seconds=second + (n - first) // 2 + draw.randint(0, 1))
        found.append({"n": n, "k": key, "m": draw.choice(["x", "y", "z", None]), "ts": moment})
    return found


def script_of(names: list[str]) -> str:
    parts = [STREAM.format(name=name) for name in "abc"]
    for name in names:
        parts.append(f"CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');")
        parts.append(f"INSERT INTO {name} {QUERIES[name]};")
    return "\n".join(parts)


def settled(bag: Bag) -> Bag:
    """The rows that no last row is part of."""
    return type(bag)({row: n for row, n in bag.items() if not any(isinstance(v, int) and v >= LAST for v in row)})


GROUP = pytest.param(["fulls", "answered_not_closed", "distinct_keys"], marks=pytest.mark.thorough)
FEW = ["answered_not_closed"]
IN_FULL = (["filtered", "defaults", "unknown", "known", "chain"], ["lefts", "anti_idiom", "rights", "inner_above"])


@pytest.mark.parametrize("names", [FEW, GROUP, *(IN_FULL if FULL else ())], ids=lambda names: names[0])
def test_rows_are_those_of_sparks_own_sql_over_the_data(bench: Bench, spark: SparkSession, names: list[str]) -> None:
    draw = random.Random(5)
    script = script_of(names)
    for part in range(2):
        for name in "abc":
            for piece in range(2):
                second = 40 * part + 16 * piece
                bench.write(name, rows_of(100 * part + 40 * piece, second, draw), SCHEMA)
            if part:
                for last in range(2):
                    row = {"n": LAST, "k": LAST, "m": name, "ts": START + timedelta(days=1 + last)}
                    bench.write(name, [row], SCHEMA)
        ran = bench.run(script, conf={"penstock.cells": "4"})
        assert ran.code == 0, ran.err
    for name in "abc":
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    for name in names:
        expected: Bag = Bag(canonical(tuple(row)) for row in spark.sql(QUERIES[name]).collect())
        if name == "distinct_keys":
            assert bench.sink(name) <= expected, name
        assert settled(bench.sink(name)) == settled(expected), name
    kept = [sum(b["state_rows"].values()) for b in ran.batches if b["query"] == names[0]]
    assert max(kept) < 120
