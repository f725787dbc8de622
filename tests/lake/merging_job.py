"""A job of the environment with Delta: two queries that merge into tables, by Spark's own plan or adopted.

python merging_job.py SETTINGS FOLDER WAY [DIES]

Orders with their payments, if any came within ten minutes, by the order's id; and the sum of what was paid in each
quarter of an hour, by the window. FOLDER has `data` with files of both streams; the tables and checkpoints of a WAY
(`spark` or `adopted`) are in a folder of that name. With DIES the process is gone right after the query of that name
has merged its batch of that number (`paid:2`), before Spark knows that the batch is done.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock


def merge(path: Path, keys: list[str], dies: str) -> Callable[[DataFrame, int], None]:
    """What is done with each batch: rows that are known by their keys are changed, others are new."""

    def upsert(batch: DataFrame, number: int) -> None:
        spark = batch.sparkSession
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in batch.schema)
        spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta")
        batch.createOrReplaceTempView(f"batch_of_{path.name}")
        same = " AND ".join(f"old.{key} <=> new.{key}" for key in keys)
        spark.sql(
            f"MERGE INTO delta.`{path}` AS old USING batch_of_{path.name} AS new ON {same} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        if dies == f"{path.name}:{number}":
            os._exit(77)

    return upsert


def main(settings: list[str], folder: Path, way: str, dies: str) -> None:
    """Run the job until no more files are there."""
    builder: Any = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    # Delta's own default of 50 takes most of the time of small tables.
    builder = builder.config("spark.databricks.delta.snapshotPartitions", "2").config("spark.ui.enabled", "false")
    for setting in settings:
        name, _, value = setting.partition("=")
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("penstock.quarantine", str(folder / way / "too_late"))

    def stream(name: str, columns: str, clock: str) -> DataFrame:
        reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        frame: DataFrame = reader.parquet(str(folder / "data" / name)).withWatermark(clock, "2 minutes")
        return frame

    orders = stream("orders", "id BIGINT, ordered TIMESTAMP", "ordered")
    payments = stream("payments", "order_id BIGINT, amount BIGINT, paid TIMESTAMP", "paid")
    soon = F.expr("id = order_id AND paid BETWEEN ordered AND ordered + INTERVAL 10 MINUTES")
    paid = orders.join(payments, soon, "left_outer").select("id", "ordered", "amount", "paid")
    quarters = (
        orders.join(payments, soon)
        .groupBy(F.window("paid", "15 minutes"))
        .agg(F.sum("amount").alias("amount"), F.count("*").alias("orders"))
        .select(F.col("window.start").alias("since"), "amount", "orders")
    )
    queries = []
    for name, frame, keys in (("paid", paid, ["id"]), ("quarters", quarters, ["since"])):
        chosen = penstock.adopt(frame, query=name, on_violation="quarantine") if way == "adopted" else frame
        writer = chosen.writeStream.queryName(name).foreachBatch(merge(folder / way / name, keys, dies))
        writer = writer.option("checkpointLocation", str(folder / way / "kept" / name))
        queries.append(writer.trigger(availableNow=True).start())
    for query in queries:
        query.awaitTermination()
    adopted = queries if way == "adopted" else []
    late = sum(sum(line["violations"].values()) for query in adopted for line in penstock.metrics(query))
    tables = {
        name: sorted([str(value) for value in row] for row in spark.table(f"delta.`{folder / way / name}`").collect())
        for name in ("paid", "quarters")
    }
    print(json.dumps({"late": late, **tables}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else "")
