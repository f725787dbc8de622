"""Queries that read no column of a stream, or give none: their rows are rows still, whoever reads the files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from tests.measure import size
from tests.spark.conftest import Bench

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
STREAMS = """
CREATE STREAM s (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n)
  USING {format} OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n)
  USING {format} OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
"""
QUERIES = {
    "ones": ("SELECT 1 AS one FROM s", [(1,)] * 4),
    "crossed": ("SELECT s.k FROM s [ROWS 100], t [ROWS 100]", [(k,) for k in range(4) for _ in range(2)]),
    "some": ("SELECT 1 AS one FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.n = s.n)", [(1,)] * 2),
    "single": ("SELECT DISTINCT 1 AS one FROM s", [(1,)]),
    "bare": ("SELECT 'x' AS x FROM s [ROWS 100], t [ROWS 100]", [("x",)] * 8),
    "none": ("SELECT DISTINCT 1 AS one FROM s WHERE s.k > 100", []),
}


def script(kind: str, asked: list[str]) -> str:
    sinks = "".join(f"CREATE SINK {name} USING parquet OPTIONS (path '{{out}}/{name}');" for name in asked)
    queries = "".join(f"INSERT INTO {name} {QUERIES[name][0]};" for name in asked)
    return STREAMS.replace("{format}", kind) + sinks + queries


@pytest.mark.parametrize("reader", ["penstock", "spark", "json"][: size(1, 3)])
def test_rows_without_columns_are_counted_given_and_joined(bench: Bench, reader: str) -> None:
    for stream, batches in (("s", [(0, 1, 2), (3,)]), ("t", [(0, 1)])):
        for number, keys in enumerate(batches):
            rows = [{"k": k, "n": k} for k in keys]
            if reader == "json":
                bench.write_text(stream, f"{number}.json", "".join(f'{{"k":{k},"n":{k}}}\n' for k in keys))
            else:
                bench.write(stream, rows, KN)
    conf = {"penstock.parquet": reader} if reader != "json" else {}
    asked = list(QUERIES)[: size(4, len(QUERIES))]
    ran = bench.run(script("json" if reader == "json" else "parquet", asked), conf=conf)
    assert ran.code == 0, ran.err
    for name in asked:
        wanted = QUERIES[name][1]
        found = sorted(bench.sink(name).elements())
        assert found == wanted, name


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["spark", "penstock"][: size(1, 2)])
def test_all_rows_are_counted_of_which_nothing_is_read(spark: SparkSession, bench: Bench, reader: str) -> None:
    for stream, batches in (("s", [(0, 1, 2), (3,)]), ("t", [(0, 1)])):
        for keys in batches:
            bench.write(stream, [{"k": k, "n": k} for k in keys], KN)
    streams = bench.text(STREAMS.replace("{format}", "parquet"))
    before = spark.conf.get("penstock.parquet", "penstock")
    spark.conf.set("penstock.parquet", reader)
    try:
        for query, wanted in (("count(*) AS n FROM s", 4), ("count(*) AS n FROM s [ROWS 100], t [ROWS 100]", 8)):
            found: list[Any] = []
            answer = penstock.stream(spark, penstock.parse(f"{streams} SELECT {query};"), allow_unbounded=True)
            writer = answer.writeStream.foreachBatch(lambda frame, _: found.extend(frame.collect()))  # noqa: B023 - ends here
            writer.trigger(availableNow=True).start().awaitTermination()
            assert found[-1]["n"] == wanted
    finally:
        spark.conf.set("penstock.parquet", before or "penstock")
