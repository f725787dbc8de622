"""A clock cut to a unit of the calendar, as Spark cuts a time: `date_trunc`, `trunc`, `to_date` of one moment.

Hours, minutes and seconds are cut on the clock of the zone, longer units on its calendar, a week begins on Monday; a
cut is the first moment of its day in the zone. A time that Python's calendar does not reach has no cut, and then no
group is closed by it. One moment at a time: it is asked once a batch.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError
from penstock.plan.aggregate import CalendarCut
from penstock.runtime.columns.codes import DAY_TICKS

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_ON_THE_CLOCK = {
    "HOUR": {"minute": 0, "second": 0, "microsecond": 0},
    "MINUTE": {"second": 0, "microsecond": 0},
    "SECOND": {"microsecond": 0},
}


def cut_ticks(ticks: int, cut: CalendarCut) -> int | None:
    """The ticks of the unit that a moment lies in; None where the calendar does not reach."""
    zone = zone_of(cut.zone or "UTC")
    try:
        local = (_EPOCH + dt.timedelta(microseconds=ticks)).astimezone(zone)
        if cut.unit in _ON_THE_CLOCK:
            return _ticks(local.replace(**_ON_THE_CLOCK[cut.unit]))  # type: ignore[arg-type] # a few numbers by name
        day = _first_day(local.date(), cut.unit)
        if cut.gives_date:
            return (day - _EPOCH.date()).days * DAY_TICKS
        return _ticks(dt.datetime.combine(day, dt.time(), zone))
    except OverflowError:
        return None


def _ticks(moment: dt.datetime) -> int:
    return (moment.astimezone(dt.UTC) - _EPOCH) // _MICROSECOND


def _first_day(day: dt.date, unit: str) -> dt.date:
    match unit:
        case "YEAR":
            return day.replace(month=1, day=1)
        case "QUARTER":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "MONTH":
            return day.replace(day=1)
        case "WEEK":
            return day - dt.timedelta(days=day.weekday())
        case _:
            return day


@cache
def zone_of(name: str) -> dt.tzinfo:
    """The zone that Spark calls so: a region, or an offset."""
    if name in ("Z", "UTC", "GMT"):
        return dt.UTC
    if found := _OFFSET.fullmatch(name):
        ahead = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return dt.timezone(-ahead if found[1] == "-" else ahead)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise UsageError(
            f"the time zone {name} of the session is not known here, so days and months cannot be told apart",
            hint="set spark.sql.session.timeZone to a region, such as Europe/Vienna, or an offset, such as +02:00",
        ) from None
