"""Formats that Spark does not know here: one sentence says what brings them, or was meant, before anything starts."""

from __future__ import annotations

from typing import Any

import pyspark
from pyspark.sql import SparkSession

from penstock.errors import UsageError
from penstock.model.formats import meant
from penstock.spark.failures import SPARK_ERRORS

_OF_SPARK = {"kafka": "spark-sql-kafka-0-10_2.13", "avro": "spark-avro_2.13"}
"""What Spark's own project brings, by format: each version for the Spark of that version."""
_OF_OTHERS = {
    "delta": "io.delta:delta-spark_{minor}_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13",
}
"""What others bring, by format: their names say for which Spark, and their versions are their own."""
_BY_NAME_ALONE = frozenset({"memory"})
"""What Spark's writer of streams takes without looking for it."""
_OFFLINE = "without a network, --conf spark.jars=FILE.jar,…"


def package_hint(kind: str, spark: str) -> str | None:
    """What to give a Spark of that version, so that it knows a format; None if no package that we know brings it.

    Nobody asks the registry here, so it is also said what to do where it lacks that version.
    """
    major, minor = spark.split(".")[:2]
    if kind in _OF_SPARK:
        package = f"org.apache.spark:{_OF_SPARK[kind]}"
        before = f"; if the Maven registry has none of it yet, {major}.{int(minor) - 1}.0" if int(minor) else ""
        return f"run with --conf spark.jars.packages={package}:{spark}{before}; {_OFFLINE}"
    if kind in _OF_OTHERS:
        package = _OF_OTHERS[kind].format(minor=f"{major}.{minor}")
        return (
            f"run with --conf spark.jars.packages={package}:VERSION, its newest; if the Maven registry has none for "
            f"Spark {major}.{minor} yet, with a Spark that it has one for; {_OFFLINE}"
        )
    return None


def require_connector(spark: SparkSession, what: str, kind: str) -> None:
    """Raise UsageError if Spark has no source or sink of a format that a package brings; `what` uses it."""
    if kind.lower() == "foreachbatch":
        raise UsageError(
            f"{what}: USING foreachBatch is no format, but a call of a function of Python",
            hint="write to a sink that has a format; from Python: penstock.stream(…).writeStream.foreachBatch(…)",
        )
    if kind.lower() in _BY_NAME_ALONE or _is_known(spark, kind):
        return
    if (hint := package_hint(kind.lower(), pyspark.__version__)) is not None:
        raise UsageError(f"{what}: Spark has no format {kind} here, which a package of its own brings", hint=hint)
    close = meant(kind)
    raise UsageError(
        f"{what}: Spark has no format {kind} here",
        hint=f"did you mean {close}?" if close else f"if a package brings it: --conf spark.jars.packages=…; {_OFFLINE}",
    )


def _is_known(spark: SparkSession, kind: str) -> bool:
    """Whether Spark finds a format: among its own, in a jar that it was given, or written in Python and registered."""
    lookup: Any = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource  # type: ignore[union-attr]
    state: Any = spark._jsparkSession.sessionState()
    try:
        lookup.lookupDataSource(kind, state.conf())
    except SPARK_ERRORS:
        return bool(state.dataSourceManager().dataSourceExists(kind))
    return True
