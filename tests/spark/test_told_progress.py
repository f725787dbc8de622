"""Spark's events of a query: each once, in their order, and of a query that starts anew all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.told_progress import ToldProgress


def started(spark: SparkSession, folder: Path) -> Any:
    rows = spark.readStream.schema("n BIGINT").option("maxFilesPerTrigger", 1).parquet(str(folder / "rows"))
    return rows.writeStream.format("noop").option("checkpointLocation", str(folder / "state")).start()


def names(events: Any) -> list[tuple[int, str]]:
    return [(event["batchId"], event["timestamp"]) for event in events]


def test_each_event_is_told_once_and_those_of_a_query_that_starts_anew_too(spark: SparkSession, tmp_path: Path) -> None:
    def write(number: int) -> None:
        spark.range(number).withColumnRenamed("id", "n").coalesce(1).write.mode("append").parquet(
            str(tmp_path / "rows")
        )

    write(1)
    told = ToldProgress()
    for run in range(2):
        query = started(spark, tmp_path)
        try:
            found = []
            for number in range(3):
                write(number + 2)
                query.processAllAvailable()
                found.append(told.since_then(query))
            assert all(found), "something came of every file"
            seen = names(event for events in found for event in events)
            assert seen == names(query.recentProgress)[: len(seen)], "Spark tells of idle moments too, now and then"
            assert not set(names(told.since_then(query))) & set(seen)
            rows = [event["numInputRows"] for events in found for event in events if event["numInputRows"]]
            assert rows == ([1, 2, 3, 4] if not run else [2, 3, 4])
        finally:
            query.stop()
