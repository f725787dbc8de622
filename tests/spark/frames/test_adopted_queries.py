"""Adopted DataFrames as users run them: sinks, triggers, listeners, restarts, late rows, a default session."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.streaming.listener import StreamingQueryListener

import penstock
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import (
    SCHEMA,
    START,
    Streams,
    answer,
    at_rest,
    batch_answer,
    streams,
    write,
)
from tests.spark.frames.test_adopt import NEAR
from tests.spark.oracle import canonical


def near(s: Streams, kind: str = "inner") -> DataFrame:
    """A job."""
    return s.a.join(s.b, F.expr(NEAR), kind)


class Seen(StreamingQueryListener):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.metrics: list[tuple[str, str]] = []

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - as Spark has it
        """Nothing to note."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to note."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Nothing to note."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Which metrics came with a batch."""
        self.metrics += [(event.progress.name, name) for name in event.progress.observedMetrics]


@pytest.mark.thorough
def test_two_queries_of_one_adopted_frame_with_other_sinks_and_triggers_and_a_listener(
    spark: SparkSession, bench: Bench
) -> None:
    write(bench, seed=2, files=2)
    adopted, seen, rows = penstock.adopt(near(streams(spark, bench))), Seen(), list[Any]()
    spark.streams.addListener(seen)
    try:
        memory = (
            adopted.writeStream.format("memory")
            .queryName("pairs_in_memory")
            .option("checkpointLocation", str(bench.folder / "kept" / "memory"))
            .trigger(processingTime="1 second")
            .start()
        )
        assert memory.id in {query.id for query in spark.streams.active}
        each = (
            adopted.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
            .queryName("pairs_in_batches")
            .option("checkpointLocation", str(bench.folder / "kept" / "each"))
            .trigger(availableNow=True)
            .start()
        )
        each.awaitTermination()
        memory.processAllAvailable()
        last = memory.lastProgress
        counted = penstock.metrics(memory)
        memory.stop()
    finally:
        spark.streams.removeListener(seen)
    wanted = batch_answer(near(at_rest(spark, bench)))
    assert Counter(canonical(tuple(row)) for row in rows) == wanted != Counter()
    assert Counter(canonical(tuple(row)) for row in spark.table("pairs_in_memory").collect()) == wanted
    assert last is not None
    assert any(name.startswith("penstock_") for name in last["observedMetrics"])
    assert sum(line["rows_out"] for line in counted) == sum(wanted.values())
    told = {query for query, name in seen.metrics if name.startswith("penstock_")}
    assert told == {"pairs_in_memory", "pairs_in_batches"}


@pytest.mark.thorough
def test_an_adopted_query_goes_on_where_it_stopped(spark: SparkSession, bench: Bench) -> None:
    """Each start reads the job anew, as a job that is started again does."""
    write(bench, seed=4, files=1)
    bench.write("a", [{"k": 7, "n": 1, "ts": START + timedelta(days=40)}], SCHEMA)
    answer(bench, penstock.adopt(near(streams(spark, bench), "left_outer")), "pairs")
    # Its partners come after the restart, and one of them has none.
    bench.write("b", [{"k": 7, "n": 2, "ts": START + timedelta(days=40, seconds=2)}], SCHEMA)
    for name in "ab":
        bench.write(name, [{"k": -1, "n": None, "ts": START + timedelta(days=80)}], SCHEMA)
    again = penstock.adopt(near(streams(spark, bench), "left_outer"))
    answer(bench, again, "pairs")
    rows = spark.read.schema(again.schema).parquet(str(bench.folder / "out" / "pairs")).collect()
    found = Counter(canonical(tuple(row)) for row in rows if row["ak"] != -1)
    whole = {name: spark.read.parquet(str(bench.folder / "data" / name)) for name in "abc"}
    frames = {name: frame.toDF(f"{name}k", f"{name}n", f"{name}ts") for name, frame in whole.items()}
    wanted = near(Streams(**frames), "left_outer").where("ak IS NULL OR ak <> -1").collect()
    assert found == Counter(canonical(tuple(row)) for row in wanted)
    assert any(row["ak"] == 7 and row["bn"] == 2 for row in rows)


@pytest.mark.thorough
def test_a_checkpoint_of_the_job_as_spark_ran_it_is_not_taken_over(spark: SparkSession, bench: Bench) -> None:
    """Its state is another's: the rows that wait there would be lost."""
    write(bench, seed=4, files=2)
    before = answer(bench, near(streams(spark, bench)), "kept")
    write(bench, seed=5, files=2)
    with pytest.raises(StreamingQueryException, match="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"):
        answer(bench, penstock.adopt(near(streams(spark, bench))), "kept")
    assert spark.read.parquet(str(bench.folder / "out" / "kept")).count() == sum(before.values())


@pytest.mark.thorough
def test_rows_that_break_their_watermark_are_told(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=6, files=1)
    bench.write("a", [{"k": 1, "n": 1, "ts": START - timedelta(days=1)}], SCHEMA)
    query = (
        penstock.adopt(near(streams(spark, bench)))
        .writeStream.format("noop")
        .option("checkpointLocation", str(bench.folder / "kept"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    counted = penstock.metrics(query)
    assert sum(count for line in counted for count in line["violations"].values()) == 1
    assert "ORDERED BY" in str(counted)
    assert "later than their watermark allows" in str(penstock.compare(near(streams(spark, bench)), batches=3))


@pytest.mark.thorough
def test_a_job_on_a_default_session(bench: Bench) -> None:
    """Nothing is set by us, nor by the job."""
    write(bench, seed=2, files=1)
    job = bench.folder / "job.py"
    job.write_text(f"""
from pyspark.sql import SparkSession, functions as F
import penstock
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

def read(name):
    frame = spark.readStream.schema("k BIGINT, n INT, ts TIMESTAMP").parquet("{bench.folder}/data/" + name)
    return frame.toDF(name + "k", name + "n", name + "ts").withWatermark(name + "ts", "3 seconds")

near = read("a").join(read("b"), F.expr("ak = bk AND ats = bts"))
query = penstock.adopt(near).writeStream.format("parquet").option("path", "{bench.folder}/out")
query = query.option("checkpointLocation", "{bench.folder}/kept").trigger(availableNow=True).start()
query.awaitTermination()
print("written", spark.read.schema(near.schema).parquet("{bench.folder}/out").count())
print("stored by", spark.conf.get("spark.sql.streaming.stateStore.providerClass").split(".")[-1])
""")
    done = subprocess.run([sys.executable, str(job)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "stored by RocksDBStateStoreProvider" in done.stdout
    assert done.stderr.count("penstock: set in this session: ") == 1
    assert "written " in done.stdout
    assert "written 0" not in done.stdout
