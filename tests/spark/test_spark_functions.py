"""The names of Spark's functions are those that Spark lists."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.sql.spark_functions import SPARK_FUNCTIONS
from tests.spark.function_names import names_of


def test_every_function_of_spark_is_known(spark: SparkSession) -> None:
    found = set(names_of(spark))
    assert found - SPARK_FUNCTIONS == set()
    # An older Spark may lack some of the newest; what none has would hide a mistake.
    if spark.version.startswith("4.3"):
        assert SPARK_FUNCTIONS - found == set()
