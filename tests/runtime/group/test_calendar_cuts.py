"""Cuts of single moments; `tests/spark/test_calendar_cuts.py` asks Spark the same, in zones with summer time."""

from __future__ import annotations

import datetime as dt

import pytest

from penstock.errors import UsageError
from penstock.plan.aggregate import CalendarCut
from penstock.runtime.group.calendar_cuts import cut_ticks, zone_of

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def ticks(text: str) -> int:
    return (dt.datetime.fromisoformat(text) - EPOCH) // dt.timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("unit", "zone", "moment", "wanted"),
    [
        ("HOUR", None, "2024-05-01T10:59:59.999999+00:00", "2024-05-01T10:00:00+00:00"),
        ("DAY", "Europe/Vienna", "2024-03-31T23:30:00+02:00", "2024-03-31T00:00:00+01:00"),
        ("HOUR", "Asia/Kathmandu", "2024-05-01T10:20:00+05:45", "2024-05-01T10:00:00+05:45"),
        ("WEEK", None, "2024-05-05T10:00:00+00:00", "2024-04-29T00:00:00+00:00"),
        ("QUARTER", None, "2024-05-05T10:00:00+00:00", "2024-04-01T00:00:00+00:00"),
        ("MONTH", "-08:00", "2024-06-01T01:00:00+00:00", "2024-05-01T00:00:00-08:00"),
        ("YEAR", None, "1969-06-01T00:00:00+00:00", "1969-01-01T00:00:00+00:00"),
    ],
)
def test_a_moment_is_cut_in_its_zone(unit: str, zone: str | None, moment: str, wanted: str) -> None:
    assert cut_ticks(ticks(moment), CalendarCut(unit, False, zone)) == ticks(wanted)


def test_a_date_is_the_day_of_the_zone() -> None:
    cut = CalendarCut("DAY", True, "America/New_York")
    assert cut_ticks(ticks("2024-05-02T03:59:00+00:00"), cut) == ticks("2024-05-01T00:00:00+00:00")


def test_what_the_calendar_does_not_reach_has_no_cut_and_a_zone_must_be_known() -> None:
    assert cut_ticks(2**63 - 1, CalendarCut("DAY", False, None)) is None
    assert zone_of("GMT+2").utcoffset(None) == dt.timedelta(hours=2)
    with pytest.raises(UsageError, match="Mars"):
        zone_of("Mars/Base")


@pytest.mark.parametrize("zone", ["Europe/Vienna", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "UTC"])
@pytest.mark.parametrize("unit", ["MINUTE", "HOUR", "DAY", "MONTH"])
def test_nothing_without_a_zone_is_cut_below_what_its_clock_has_reached(zone: str, unit: str) -> None:
    cut = CalendarCut(unit, False, zone, of_local=True)
    for first in (
        dt.datetime(2011, 12, 28),
        dt.datetime(2018, 11, 3),
        dt.datetime(2026, 3, 28),
        dt.datetime(2026, 10, 3),
    ):
        shown = [first + dt.timedelta(minutes=7 * n) for n in range(3 * 24 * 9)]
        # As Spark makes a TIMESTAMP of it: what is passed over is later by as much, of two moments it is the first.
        made = [cut_ticks(_ticks(one.replace(tzinfo=zone_of(zone))), CalendarCut(unit, False, zone)) for one in shown]
        least = None
        for one, value in zip(reversed(shown), reversed(made), strict=True):
            assert value is not None
            least = value if least is None else min(least, value)
            reached = cut_ticks(_ticks(one.replace(tzinfo=dt.UTC)), cut)
            assert reached is not None
            assert reached <= least, one
            is_shown = (
                one.replace(tzinfo=zone_of(zone)).astimezone(dt.UTC).astimezone(zone_of(zone)).replace(tzinfo=None)
            )
            assert is_shown != one or reached == value, one


def _ticks(moment: dt.datetime) -> int:
    return (moment.astimezone(dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)
