"""Sinks that take updates: what they hold are the newest values, each key once, over restarts and replays.

The database is Derby, which Spark brings along. The oracle is Spark's own GROUP BY over all rows at once.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.spark.upserts import merge_statement
from tests.spark.conftest import Bench

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
STREAM = "CREATE STREAM s (k STRING, n BIGINT) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');"
SINK = "CREATE SINK totals (PRIMARY KEY (k)) USING jdbc OPTIONS (url '{url}', dbtable 'totals');"
GROUPS = "INSERT INTO totals SELECT k, count(*) AS many, sum(n) AS total FROM s GROUP BY k;"


def script(bench: Bench, query: str) -> str:
    return STREAM + SINK.replace("{url}", database(bench)) + query


def database(bench: Bench) -> str:
    return f"jdbc:derby:{bench.folder}/database;create=true"


def held(spark: SparkSession, bench: Bench) -> list[tuple[Any, ...]]:
    table = spark.read.format("jdbc").options(url=database(bench), dbtable="totals").load()
    return sorted(map(tuple, table.collect()))


def test_groups_that_change_are_replaced_by_their_key_over_a_replayed_batch_and_a_restart(
    bench: Bench, spark: SparkSession
) -> None:
    rows: list[dict[str, Any]] = []
    for files in (2, 1):
        for file in range(files):
            new = [{"k": "abcd'"[(file + i) % 5], "n": 10 * len(rows) + i} for i in range(7)]
            bench.write("s", new, SCHEMA)
            rows += new
        ran = bench.run(script(bench, GROUPS))
        assert ran.code == 0, ran.err
        assert ran.err.splitlines()[-1] == "totals: exact"
        due = spark.createDataFrame(rows, "k STRING, n BIGINT").groupBy("k").agg({"*": "count", "n": "sum"})
        assert held(spark, bench) == sorted(map(tuple, due.collect()))
        # As if the run had been killed before Spark took note of its last batch: the next one writes it again.
        [commits] = bench.folder.glob("checkpoint/**/commits")
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        for path in (commits / str(last), commits / f".{last}.crc"):
            path.unlink(missing_ok=True)
    assert [batch["rows_out"] for batch in bench.metrics()] == [5, 5, 5]
    tables = spark.read.format("jdbc").options(url=database(bench), dbtable="SYS.SYSTABLES").load()
    assert [t.TABLENAME for t in tables.where("TABLETYPE = 'T'").collect()] == ["TOTALS"]


def test_two_rows_of_a_batch_with_one_key_are_refused_and_nothing_is_written(bench: Bench, spark: SparkSession) -> None:
    bench.write("s", [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}], SCHEMA)
    ran = bench.run(script(bench, "INSERT INTO totals SELECT k, n FROM s;"))
    assert ran.code == 1
    assert "sink totals: two rows of one batch have the key k = a, and which should stay is not known" in ran.err
    assert held(spark, bench) == []


def test_a_database_that_is_not_there_is_told_before_anything_starts(bench: Bench) -> None:
    bench.write("s", [{"k": "a", "n": 1}], SCHEMA)
    ran = bench.run(script(bench, GROUPS).replace(";create=true", ""))
    assert (ran.code, ran.batches) == (1, [])
    assert "error: sink totals: cannot connect to its database" in ran.err


def test_rows_of_tables_are_merged_by_all_columns_of_the_key_nulls_included() -> None:
    assert merge_statement("delta.`/out`", "batch", ["a", "b"]) == (
        "MERGE INTO delta.`/out` AS old USING batch AS new ON old.`a` <=> new.`a` AND old.`b` <=> new.`b` "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
