"""Orders that were not paid, or paid and not shipped, in time.

spark-submit orders_payments_shipments.py DATA OUT
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
    orders = stream(spark, data, "orders", "id BIGINT, amount BIGINT, ordered TIMESTAMP", "ordered")
    payments = stream(spark, data, "payments", "order_id BIGINT, paid_amount BIGINT, paid TIMESTAMP", "paid")
    shipments = stream(spark, data, "shipments", "order_id BIGINT, carrier STRING, shipped TIMESTAMP", "shipped")
    paid = orders.join(
        payments.withColumnRenamed("order_id", "paid_id"),
        F.expr("paid_id = id AND paid BETWEEN ordered AND ordered + INTERVAL 8 SECONDS"),
        "left_outer",
    )
    shipped = paid.join(
        shipments,
        F.expr("order_id = id AND shipped BETWEEN ordered AND ordered + INTERVAL 12 SECONDS"),
        "left_outer",
    )
    return shipped.select("id", "amount", "paid_amount", "carrier", "ordered")


if __name__ == "__main__":
    session = SparkSession.builder.appName("orders_payments_shipments").getOrCreate()
    folder, out = sys.argv[1:3] if len(sys.argv) > 2 else ("data", "out")
    rows = answer(session, folder)
    # The one line that is changed: rows = penstock.adopt(answer(session, folder))
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
