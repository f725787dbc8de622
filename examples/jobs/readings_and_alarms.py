"""Readings of sensors in the places that a table names, with the alarms that followed them.

spark-submit readings_and_alarms.py DATA OUT
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it


def stream(spark: SparkSession, data: str, name: str, columns: str, time: str) -> DataFrame:
    """A stream of files, at most five seconds late."""
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{data}/{name}").withWatermark(time, "5 seconds")


def answer(spark: SparkSession, data: str) -> DataFrame:
    """What the job writes."""
    readings = stream(spark, data, "readings", "sensor BIGINT, celsius INT, read TIMESTAMP", "read")
    alarms = stream(spark, data, "alarms", "sensor BIGINT, level INT, raised TIMESTAMP", "raised")
    sensors = spark.read.parquet(f"{data}/sensors")
    placed = readings.join(sensors, readings.sensor == sensors.id, "left").drop("id")
    hot = placed.where("celsius > 3")
    raised = alarms.withColumnRenamed("sensor", "of")
    after = F.expr("of = sensor AND raised >= read AND raised < read + INTERVAL 5 SECONDS AND level > celsius - 4")
    return hot.join(raised, after).select("place", "sensor", "celsius", "level", F.upper("place").alias("sign"), "read")


if __name__ == "__main__":
    session = SparkSession.builder.appName("readings_and_alarms").getOrCreate()
    folder, out = sys.argv[1:3] if len(sys.argv) > 2 else ("data", "out")
    rows = answer(session, folder)
    # The one line that is changed: rows = penstock.adopt(answer(session, folder))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
