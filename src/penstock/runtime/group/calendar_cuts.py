"""A clock cut to a unit of the calendar, as Spark cuts a time: `date_trunc`, `trunc`, `to_date` of one moment.

Hours, minutes and seconds are cut on the clock of the zone, longer units on its calendar, a week begins on Monday; a
cut is the first moment of its day in the zone. A time that Python's calendar does not reach has no cut, and then no
group is closed by it. One moment at a time: it is asked once a batch.

Of a DATE or a TIMESTAMP_NTZ Spark makes a TIMESTAMP before it cuts it: the moment at which the clocks of the zone show
it. Where they show it twice it is the first of the two; what they pass over, as they are put forward by an hour, is an
hour later on the clock. So 02:59 of such a night is made 03:59, and 03:00 stays what it is: what is made falls, though
the column does not. Lemma: let g(c) be the lesser of the two moments that c is by the offset before and after a change,
and of others the one that it is. Nothing at c or later is made a moment before g(c). For outside of what is passed over
moments rise with what the clocks show, and g(c) is the moment; and what is passed over is made moments after the
change, while g(c) lies before it. Cuts of moments never fall, so the cut of g(c) is one that a clock at c has reached.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError
from penstock.model.closed_groups import LAST_MOMENT
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
    if cut.unit == LAST_MOMENT:
        return ticks - 1
    zone = zone_of(cut.zone or "UTC")
    try:
        moment = _EPOCH + dt.timedelta(microseconds=ticks)
        local = (_least_moment(moment, zone) if cut.of_local else moment).astimezone(zone)
        if cut.unit in _ON_THE_CLOCK:
            return _ticks(local.replace(**_ON_THE_CLOCK[cut.unit]))  # type: ignore[arg-type] # a few numbers by name
        day = _first_day(local.date(), cut.unit)
        if cut.gives_date:
            return (day - _EPOCH.date()).days * DAY_TICKS
        return _ticks(dt.datetime.combine(day, dt.time(), zone))
    except OverflowError:
        return None


def _least_moment(shown: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """The first moment that may be meant by what clocks show: by the offset before a change, or the one after it."""
    local = shown.replace(tzinfo=zone)
    return min(local.replace(fold=fold).astimezone(dt.UTC) for fold in (0, 1))


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
