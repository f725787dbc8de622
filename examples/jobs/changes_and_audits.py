"""Changes of a database, each once though it is told twice, with the audits that name them.

spark-submit changes_and_audits.py DATA OUT
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
    changes = stream(spark, data, "changes", "id BIGINT, version INT, changed TIMESTAMP", "changed")
    audits = stream(spark, data, "audits", "id BIGINT, who STRING, audited TIMESTAMP", "audited")
    once = changes.dropDuplicates(["id", "version", "changed"]).withColumnRenamed("id", "row")
    audited = F.expr("row = id AND audited BETWEEN changed - INTERVAL 2 SECONDS AND changed + INTERVAL 6 SECONDS")
    return once.join(audits, audited, "left_outer").select("row", "version", "changed", "who")


if __name__ == "__main__":
    session = SparkSession.builder.appName("changes_and_audits").getOrCreate()
    folder, out = sys.argv[1:3] if len(sys.argv) > 2 else ("data", "out")
    rows = answer(session, folder)
    # The one line that is changed: rows = penstock.adopt(answer(session, folder))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
