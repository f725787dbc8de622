"""Days of a calendar: where Spark counts a length of time by the clocks of the session's zone, and Penstock does not.

To Spark `ts + INTERVAL 1 DAY` is the same time of the next day, also where the clocks of the session's zone are put
forward or back in between, and `ts - other` is the difference of what these clocks show. Penstock takes a day as 24
hours and a difference as the time that has passed. In UTC, and in every zone of a fixed offset, that is the same, and
so are lengths of less than a day that are added.

So an adopted job with such a condition in a zone whose clocks change is refused: it could differ from Spark's answer by
an hour, twice a year. A script has the meaning that the language gives it, and is told the difference.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from penstock.errors import NotSupportedYet
from penstock.model.block_tree import blocks_below
from penstock.model.predicates import Difference
from penstock.model.query import Query
from penstock.spark.essence import ZONE


def calendar_obstacle(spark: SparkSession, query: Query) -> NotSupportedYet | None:
    """Why a job is not run that has a condition which the clocks of the session's zone decide."""
    found, zone = _by_calendar(query), _changing_zone(spark)
    if found is None or zone is None:
        return None
    return NotSupportedYet(
        f"{found} is counted by the clocks of {zone}, which are put forward and back",
        detail="Spark takes a day as 23 to 25 hours there; Penstock takes it as 24",
        hint='spark.conf.set("spark.sql.session.timeZone", "UTC"), or add less than a day to the earlier time',
    )


def tell_calendar_days(spark: SparkSession, query: Query) -> None:
    """Tell of a script that its condition is not counted as Spark would."""
    found, zone = _by_calendar(query), _changing_zone(spark)
    if found is not None and zone is not None:
        sys.stderr.write(
            f"penstock: {query.name}: {found} counts the time that has passed, a day as 24 hours; Spark would count by "
            f"the clocks of {zone}, which are put forward and back\n"
        )


def _by_calendar(query: Query) -> str | None:
    """The first condition that Spark would count by the calendar."""
    below = [source.below for source in blocks_below(query) if isinstance(source.below, Query)]
    found = (
        p.text or str(p)
        for each in (query, *below)
        for p in each.predicates
        if isinstance(p, Difference) and p.is_by_calendar
    )
    return next(found, None)


def _changing_zone(spark: SparkSession) -> str | None:
    """The session's zone, if its clocks are ever put forward or back."""
    zone = str(spark.conf.get(ZONE))
    jvm = spark.sparkContext._jvm  # Java knows the zones as Spark does.
    assert jvm is not None
    named = jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone)
    return None if named.getRules().isFixedOffset() else zone
