"""A clock is cut to units of the calendar as Spark cuts it, also where the clocks are changed."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from penstock.plan.aggregate import CalendarCut
from penstock.runtime.columns.codes import DAY_TICKS
from penstock.runtime.group.calendar_cuts import cut_ticks

UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
YEAR = 365 * DAY_TICKS


@pytest.mark.parametrize(
    "zone", ["Europe/Vienna", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu", "+02:30"]
)
def test_cuts_are_those_of_spark(spark: SparkSession, zone: str) -> None:
    draw = random.Random(zone)
    moments = [draw.randrange(20 * YEAR, 60 * YEAR) for _ in range(300)]
    hours = [49 * YEAR + hour * DAY_TICKS // 24 for hour in range(24 * 366)]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        spark.createDataFrame([(m,) for m in moments + hours], "m BIGINT").createOrReplaceTempView("moments")
        cuts = ", ".join(f"unix_micros(date_trunc('{unit}', timestamp_micros(m))) AS {unit}" for unit in UNITS)
        rows = spark.sql(f"SELECT m, {cuts}, unix_date(to_date(timestamp_micros(m))) AS day FROM moments").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    for row in rows:
        found = {unit: cut_ticks(row["m"], CalendarCut(unit, False, zone)) for unit in UNITS}
        assert found == {unit: row[unit] for unit in UNITS}, row
        assert cut_ticks(row["m"], CalendarCut("DAY", True, zone)) == row["day"] * DAY_TICKS
