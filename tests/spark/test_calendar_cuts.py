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


@pytest.mark.parametrize("zone", ["Europe/Vienna", "Australia/Lord_Howe", "Pacific/Apia"])
def test_what_has_no_zone_is_never_cut_below_what_its_clock_has_reached(spark: SparkSession, zone: str) -> None:
    shown = [56 * YEAR + 14 * DAY_TICKS + hour * DAY_TICKS // 24 + 59 * 60_000_000 for hour in range(24 * 366)]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        spark.createDataFrame([(m,) for m in shown], "m BIGINT").createOrReplaceTempView("shown")
        local = "to_timestamp_ntz(from_utc_timestamp(timestamp_micros(m), current_timezone()))"
        cuts = ", ".join(f"unix_micros(date_trunc('{unit}', l)) AS {unit}" for unit in UNITS)
        given = f"SELECT {local} AS l FROM shown"
        micros = "datediff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', l)"
        days = "unix_micros(date_trunc('MONTH', to_date(l))) AS of_day, unix_date(to_date(l)) AS day"
        rows = spark.sql(f"SELECT {micros} AS m, {cuts}, {days} FROM ({given}) ORDER BY 1 DESC").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    least = dict.fromkeys(UNITS, 2**63)
    equal = 0
    for row in rows:
        least = {unit: min(least[unit], row[unit]) for unit in UNITS}
        reached = {unit: cut_ticks(row["m"], CalendarCut(unit, False, zone, of_local=True)) or 0 for unit in UNITS}
        assert all(reached[unit] <= least[unit] for unit in UNITS), row
        equal += reached == {unit: row[unit] for unit in UNITS}
        months = CalendarCut("MONTH", False, zone, of_local=True)
        assert cut_ticks(row["day"] * DAY_TICKS, months) == row["of_day"]
    assert equal > len(rows) - 40
