"""Spark's own plan of a shape over the same files.

    python -m benchmarks.shapes.spark_side JOB.json

Its settings are Spark's but for what the comparison needs: two shuffle partitions, best on two cores, and for RocksDB
checkpoints by changelog and the newest format of a join's state.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.packets.spark_joins import AT_ITS_BEST, batch_figures
from benchmarks.shapes.data import COLUMNS, Size
from benchmarks.shapes.shapes import LATENESS, SHAPES
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it


@dataclass(frozen=True)
class Job:
    """What to run and where things go."""

    shape: str
    data: str
    out: str
    checkpoint: str
    result: str
    rocksdb: bool
    heap: str
    size: tuple[int, int]
    """Rows and batches."""
    broker: str | None = None
    jars: str | None = None

    def save(self, path: Path) -> None:
        """For `python -m`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def main(job: Job) -> None:
    """Run until all files are read, then write the figures of each batch."""
    settings = {
        "spark.driver.memory": job.heap,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        **(AT_ITS_BEST if job.rocksdb else {}),
        **({} if job.jars is None else {"spark.jars": job.jars}),
    }
    builder = SparkSession.builder.appName("shapes").master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    shape = SHAPES[job.shape]
    for name in shape.streams:
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS[name].items())
        options = shape.options(Path(job.data), name, Size(*job.size), job.broker)
        reader = spark.readStream.format(shape.form).options(**options)
        if shape.form == "kafka":
            rows = reader.load().select(F.from_json(F.col("value").cast("string"), columns).alias("r")).select("r.*")
        else:
            rows = reader.schema(columns).load()
        rows.withWatermark("ts", LATENESS).createOrReplaceTempView(name)
    writer = spark.sql(shape.spark_text).writeStream.format("parquet").outputMode("append")
    query = writer.option("checkpointLocation", job.checkpoint).trigger(availableNow=True).start(job.out)
    query.awaitTermination()
    batches = [batch_figures(json.loads(progress.json)) for progress in query.recentProgress]
    Path(job.result).write_text(json.dumps(batches), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
