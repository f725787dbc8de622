"""What a condition on a stream is worth where the stream is absent: Spark says, once, of a row of NULLs."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.plan.plan import Plan
from penstock.runtime import Truth
from penstock.spark.types import spark_type


def worth_of_absence(spark: SparkSession, plan: Plan) -> Truth:
    """By test, whether it holds of NULLs; unknown counts as no."""
    found: dict[str, bool] = {}
    for test in plan.outer.tests if plan.outer is not None else ():
        if test.rejects_absent:
            found[test.column] = False
            continue
        columns = plan.by_alias[test.alias].read
        absent = spark.range(1).select(*(F.lit(None).cast(spark_type(c.type)).alias(c.name) for c in columns))
        (row,) = absent.alias(test.alias).selectExpr(f"({test.text}) AS worth").collect()
        found[test.column] = bool(row["worth"])
    return found
