"""A program of the environment with Delta and Iceberg: fills tables, and compares an answer with a batch join.

python work.py SETTINGS KIND FOLDER STEP…, where a step is `fill:SEED:COMMITS` or `compare`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from random import Random
from typing import Any

from pyspark.sql import SparkSession

_COLUMNS = "k BIGINT, n BIGINT, ts TIMESTAMP"
_JOIN = """
    SELECT a.k, a.n, b.n AS m FROM a, b
    WHERE a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 30 SECONDS AND a.ts + INTERVAL 30 SECONDS
"""


def main(settings: list[str], kind: str, folder: str, steps: list[str]) -> None:
    """Do the steps."""
    builder: Any = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    for setting in settings:
        name, _, value = setting.partition("=")
        builder = builder.config(name, value)
    spark = builder.getOrCreate()

    def table(name: str) -> str:
        return f"lake.db.{name}" if kind == "iceberg" else f"delta.`{folder}/{name}`"

    told: dict[str, Any] = {}
    for step in steps:
        verb, *rest = step.split(":")
        if verb == "fill":
            for name in ("a", "b", "out"):
                columns = "k BIGINT, n BIGINT, m BIGINT" if name == "out" else _COLUMNS
                spark.sql(f"CREATE TABLE IF NOT EXISTS {table(name)} ({columns}) USING {kind}")
            _fill(spark, table, kind, int(rest[0]), int(rest[1]))
        else:
            for name in ("a", "b"):
                spark.table(table(name)).createOrReplaceTempView(name)
            wanted = Counter(tuple(row) for row in spark.sql(_JOIN).collect())
            found = Counter(tuple(row) for row in spark.table(table("out")).select("k", "n", "m").collect())
            told = {"missing": sum((wanted - found).values()), "extra": sum((found - wanted).values())}
            told["rows"] = found.total()
    print(json.dumps(told))


def _fill(spark: SparkSession, table: Any, kind: str, start: int, commits: int) -> None:
    """Some commits of each table, of one file each, ten seconds long; the rows of one in no order."""
    for number in range(start, start + commits):
        draw = Random(number)
        for name in ("a", "b"):
            rows = [(draw.randrange(8), draw.getrandbits(40), 10 * number + draw.randrange(10)) for _ in range(40)]
            frame = spark.createDataFrame(rows, "k BIGINT, n BIGINT, s BIGINT").coalesce(1)
            frame = frame.selectExpr("k", "n", "timestamp_seconds(1700000000 + s) AS ts")
            if kind == "iceberg":
                frame.writeTo(table(name)).append()
            else:
                frame.write.format("delta").mode("append").save(table(name).split("`")[1])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
