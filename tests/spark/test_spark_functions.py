"""The names of Spark's functions are those that Spark lists; a session may have others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from penstock.sql.spark_functions import SPARK_FUNCTIONS
from tests.spark.conftest import Bench
from tests.spark.function_names import names_of


def test_every_function_of_spark_is_known(spark: SparkSession) -> None:
    found = set(names_of(spark))
    assert found - SPARK_FUNCTIONS == set()
    # An older Spark may lack some of the newest; what none has would hide a mistake.
    if spark.version.startswith("4.3"):
        assert SPARK_FUNCTIONS - found == set()


def test_a_function_of_the_session_is_called(spark: SparkSession, bench: Bench) -> None:
    bench.write("s", [{"k": 1}, {"k": 2}, {"k": None}], pa.schema([("k", pa.int64())]))
    streams = bench.text("CREATE STREAM s (k BIGINT) USING parquet OPTIONS (path '{data}/s');")
    spark.udf.register("thrice", lambda k: None if k is None else 3 * k, "bigint")
    found: list[Any] = []
    answer = penstock.stream(spark, penstock.parse(f"{streams} SELECT thrice(k) AS n FROM s WHERE thrice(k) > 3;"))
    writer = answer.writeStream.foreachBatch(lambda frame, _: found.extend(frame.collect()))
    writer.option("checkpointLocation", str(bench.folder / "own")).trigger(availableNow=True).start().awaitTermination()
    assert [row["n"] for row in found] == [6]
    # The command, whose session has it only if it is told so, finds that it is missing by itself.
    ran = bench.run(f"{streams} CREATE SINK out USING noop; INSERT INTO out SELECT thrise(k) AS n FROM s;")
    assert (ran.code, "Spark has no function thrise" in ran.err) == (2, True)
