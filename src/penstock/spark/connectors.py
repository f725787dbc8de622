"""Formats that Spark knows only with a package of their own: one sentence says which, before anything starts."""

from __future__ import annotations

import pyspark
from pyspark.sql import SparkSession

from penstock.errors import UsageError
from penstock.spark.failures import SPARK_ERRORS

_SPARK = pyspark.__version__
_MINOR = ".".join(_SPARK.split(".")[:2])
PACKAGES = {
    "kafka": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{_SPARK}",
    "avro": f"org.apache.spark:spark-avro_2.13:{_SPARK}",
    "delta": f"io.delta:delta-spark_{_MINOR}_2.13, in its latest",
    "iceberg": f"org.apache.iceberg:iceberg-spark-runtime-{_MINOR}_2.13, in its latest",
}
"""What to give Spark, by format."""


def require_connector(spark: SparkSession, what: str, kind: str) -> None:
    """Raise UsageError if Spark has no source or sink of a format that a package brings; `what` uses it."""
    if kind.lower() == "foreachbatch":
        raise UsageError(
            f"{what}: USING foreachBatch is no format, but a call of a function of Python",
            hint="write to a sink that has a format; from Python: penstock.stream(…).writeStream.foreachBatch(…)",
        )
    package = PACKAGES.get(kind.lower())
    if package is None:
        return
    lookup = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource  # type: ignore[union-attr]
    try:
        lookup.lookupDataSource(kind, spark._jsparkSession.sessionState().conf())
    except SPARK_ERRORS:
        raise UsageError(
            f"{what}: Spark has no format {kind} here, which a package of its own brings",
            hint=f"run with --conf spark.jars.packages={package}; without a network, --conf spark.jars=FILE.jar,…",
        ) from None
