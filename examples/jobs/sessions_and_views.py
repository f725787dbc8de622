"""How many pages are viewed in the sessions of each country, every ten seconds.

spark-submit sessions_and_views.py DATA OUT
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
    sessions = stream(spark, data, "sessions", "session BIGINT, country STRING, began TIMESTAMP", "began")
    views = stream(spark, data, "views", "session BIGINT, page STRING, viewed TIMESTAMP", "viewed")
    viewed = views.withColumnRenamed("session", "of").join(
        sessions, F.expr("of = session AND viewed BETWEEN began AND began + INTERVAL 20 SECONDS")
    )
    counted = viewed.groupBy(F.window("viewed", "10 seconds"), "country").agg(F.count("*").alias("pages"))
    return counted.select("window.start", "country", "pages")


if __name__ == "__main__":
    session = SparkSession.builder.appName("sessions_and_views").getOrCreate()
    folder, out = sys.argv[1:3] if len(sys.argv) > 2 else ("data", "out")
    rows = answer(session, folder)
    # The one line that is changed: rows = penstock.adopt(answer(session, folder))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
