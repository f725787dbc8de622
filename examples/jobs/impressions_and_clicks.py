"""Clicks with the impressions that they are of: which campaigns are clicked, and by whom.

spark-submit impressions_and_clicks.py DATA OUT
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
    impressions = stream(spark, data, "impressions", "ad BIGINT, campaign INT, shown TIMESTAMP", "shown")
    clicks = stream(spark, data, "clicks", "ad BIGINT, user INT, clicked TIMESTAMP", "clicked")
    within = "c.ad = i.ad AND c.clicked BETWEEN i.shown AND i.shown + INTERVAL 10 SECONDS"
    joined = impressions.alias("i").join(clicks.alias("c"), F.expr(within))
    return joined.select("i.ad", "campaign", "user", "shown", "clicked")


if __name__ == "__main__":
    session = SparkSession.builder.appName("impressions_and_clicks").getOrCreate()
    folder, out = sys.argv[1:3] if len(sys.argv) > 2 else ("data", "out")
    rows = answer(session, folder)
    # The one line that is changed: rows = penstock.adopt(answer(session, folder))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
