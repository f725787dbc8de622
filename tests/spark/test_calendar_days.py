"""Lengths that Spark counts by the clocks of the session's zone: refused of jobs, told of scripts, the same in UTC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

import penstock
from penstock.model.query import Query
from penstock.spark.calendar_days import calendar_obstacle, tell_calendar_days
from penstock.spark.essence import ZONE

FIELDS = "k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE"


def query_where(condition: str) -> Query:
    script = f"CREATE STREAM a ({FIELDS}); CREATE STREAM b ({FIELDS}); SELECT a.k FROM a JOIN b ON a.k = b.k AND "
    return penstock.parse(f"{script} {condition};").queries[0]


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose clocks are put forward and back."""
    before = str(spark.conf.get(ZONE))
    spark.conf.set(ZONE, "Europe/Berlin")
    yield spark
    spark.conf.set(ZONE, before)


def test_spark_counts_whole_days_and_differences_by_the_clocks_and_shorter_lengths_by_the_time_that_passed(
    zone: SparkSession,
) -> None:
    noon, late = "timestamp'2024-03-30 12:00:00'", "timestamp'2024-03-31 12:00:00'"
    seconds = f"unix_timestamp({{}}) - unix_timestamp({noon})"
    row = zone.sql(
        f"SELECT {seconds.format(f'{noon} + INTERVAL 24 HOURS')}, {seconds.format(f'{noon} + INTERVAL 20 HOURS')}, "
        f"{late} - {noon} = INTERVAL 24 HOURS"
    ).first()
    assert row is not None
    assert tuple(row) == (23 * 3600, 20 * 3600, True)


@pytest.mark.parametrize(
    "condition",
    ["b.ts BETWEEN a.ts AND a.ts + INTERVAL 2 DAYS", "b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR"],
)
def test_what_the_clocks_decide_is_refused_of_a_job_and_told_of_a_script(
    zone: SparkSession, condition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = query_where(condition)
    assert "counted by the clocks of Europe/Berlin" in str(calendar_obstacle(zone, query))
    tell_calendar_days(zone, query)
    assert "counts the time that has passed" in capsys.readouterr().err
    zone.conf.set(ZONE, "UTC")
    assert calendar_obstacle(zone, query) is None
    tell_calendar_days(zone, query)
    assert capsys.readouterr().err == ""


def test_less_than_a_day_that_is_added_is_taken_in_every_zone(zone: SparkSession) -> None:
    assert calendar_obstacle(zone, query_where("b.ts BETWEEN a.ts AND a.ts + INTERVAL 23 HOURS")) is None


def test_the_verdict_on_a_job_tells_that_it_would_not_be_run(zone: SparkSession) -> None:
    rows = zone.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    joined = rows.alias("a").join(
        rows.alias("b"), expr("a.value = b.value AND b.timestamp BETWEEN a.timestamp AND a.timestamp + INTERVAL 2 DAYS")
    )
    verdict = penstock.check(joined)
    assert verdict.verdict == "bounded"
    assert any("penstock.adopt refuses it" in str(notice) for notice in verdict.notices)
    zone.conf.set(ZONE, "UTC")
    assert penstock.check(joined).notices == ()
