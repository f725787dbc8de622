"""What the session says of a plan before it runs: which instants its TIMESTAMPs are."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.compile import plan
from penstock.plan.promise_plans import PromiseKind
from penstock.plan.watched_checks import conditions_in
from penstock.spark.asked_before import in_session_zone

ZONE = "spark.sql.session.timeZone"
SCRIPT = """
CREATE STREAM s (at TIMESTAMP, local TIMESTAMP_NTZ, name STRING,
  CHECK (at < TIMESTAMP '2024-01-01' AND local < TIMESTAMP_NTZ '2024-01-01' AND name <> '2024-01-01 00:00:00'));
SELECT s.at, s.local, s.name FROM s;
"""
MIDNIGHT = 1_704_067_200_000_000


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), ("Europe/Berlin", -1), ("America/New_York", 5)])
def test_a_check_is_watched_by_the_instant_that_the_zone_of_the_session_makes_of_it(
    spark: SparkSession, zone: str, hours: int
) -> None:
    """And times without a zone, and texts that look like one, stay as they are."""
    script = penstock.parse(SCRIPT)
    before = spark.conf.get(ZONE) or "UTC"
    spark.conf.set(ZONE, zone)
    try:
        placed = in_session_zone(spark, plan(script))
    finally:
        spark.conf.set(ZONE, before)
    (promise,) = (p for p in placed.promises if p.kind is PromiseKind.CHECK)
    assert promise.when is not None
    values = {condition.column: condition.values for condition in conditions_in(promise.when)}
    assert values == {
        "at": (str(MIDNIGHT + hours * 3_600_000_000),),
        "local": (str(MIDNIGHT),),
        "name": ("2024-01-01 00:00:00",),
    }
