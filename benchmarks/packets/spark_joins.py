"""The peer: Spark's own stream-stream joins over the same files, as its guide says to write them.

    python -m benchmarks.packets.spark_joins JOB.json

Each stream has a watermark of 3 s, and every pair of event times is held less than 60 s apart. Chained joins refuse two
event-time columns, so C's is a plain number from the first join on. The state store is Spark's default or RocksDB,
with Spark's own settings otherwise; two shuffle partitions, which is best on two cores.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.spark.session import ROCKSDB, SETTINGS

WINDOW = "INTERVAL 60 SECONDS"


@dataclass(frozen=True)
class Job:
    """What to run and where the figures go."""

    data: str
    out: str
    checkpoint: str
    result: str
    files_a_trigger: int
    rocksdb: bool
    heap: str
    our_file_manager: bool = False
    """Whether checkpoints are written as the engine has Spark write its own: fewer processes a batch."""

    def save(self, path: Path) -> None:
        """For `python -m`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
AT_ITS_BEST = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.join.stateFormatV4.enabled": "true",
    "spark.sql.streaming.join.stateFormatVersion": "4",
}
"""Of RocksDB: checkpoints by changelog, and the newest format of a join's state."""


def session(job: Job) -> SparkSession:
    """Spark's defaults, but for what the comparison needs."""
    builder = (
        SparkSession.builder.appName("packets")
        .master("local[2]")
        .config("spark.driver.memory", job.heap)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.numRecentProgressUpdates", "10000")
    )
    if job.our_file_manager:
        builder = builder.config(FILE_MANAGER, SETTINGS[FILE_MANAGER])
    if job.rocksdb:
        for name, value in AT_ITS_BEST.items():
            builder = builder.config(name, value)
    return builder.getOrCreate()


def joined(spark: SparkSession, job: Job) -> DataFrame:
    """The three-way join."""

    def stream(name: str) -> DataFrame:
        read = (
            spark.readStream.schema("pid BIGINT, size INT, ts TIMESTAMP")
            .option("maxFilesPerTrigger", job.files_a_trigger)
            .parquet(f"{job.data}/{name}")
        )
        return read.select(*(F.col(c).alias(f"{name}_{c}") for c in read.columns)).withWatermark(
            f"{name}_ts", "3 seconds"
        )

    def near(one: str, other: str) -> str:
        return f"{one} < {other} + {WINDOW} AND {other} < {one} + {WINDOW}"

    first = stream("c").join(stream("b"), F.expr(f"c_pid = b_pid AND {near('c_ts', 'b_ts')}"))
    first = first.withColumn("c_micros", F.unix_micros("c_ts")).drop("c_ts")
    c_time = "timestamp_micros(c_micros)"
    both = first.join(stream("o"), F.expr(f"b_pid = o_pid AND {near('b_ts', 'o_ts')} AND {near(c_time, 'o_ts')}"))
    return both.selectExpr("c_pid AS pid", "c_size", "b_size", "o_size", f"{c_time} AS c_ts", "o_ts")


def main(job: Job) -> None:
    """Run until all files are read, then write the figures of each batch."""
    spark = session(job)
    spark.sparkContext.setLogLevel("ERROR")
    writer = joined(spark, job).writeStream.format("parquet").outputMode("append")
    query = writer.option("checkpointLocation", job.checkpoint).trigger(availableNow=True).start(job.out)
    query.awaitTermination()
    batches = [batch_figures(json.loads(progress.json)) for progress in query.recentProgress]
    Path(job.result).write_text(json.dumps(batches), encoding="utf-8")
    spark.stop()


def batch_figures(progress: dict[str, Any]) -> dict[str, Any]:
    """What Spark tells of a batch."""
    operators = progress["stateOperators"]
    return {
        "rows": progress["numInputRows"],
        "seconds": progress["durationMs"]["triggerExecution"] / 1000,
        "state_rows": sum(o["numRowsTotal"] for o in operators),
        "promise_rows": 0,
        "state_bytes": sum(o["memoryUsedBytes"] for o in operators),
    }


if __name__ == "__main__":
    main(Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
