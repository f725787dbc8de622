"""Which keys a clock closes, and which look alike but are of another kind than the clock."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.model.closed_groups import clocks_of, closes_groups, emits_once
from penstock.model.query import Query

STREAM = """CREATE STREAM s (k INT, kind STRING, ts {}, d DATE, EVENT TIME ts, ORDERED BY ts,
  PUNCTUATED ON (k) WHEN kind = 'end');"""
APPENDS = "CREATE SINK f USING parquet OPTIONS (path 'f'); INSERT INTO f"


def asked(select: str, kind: str = "TIMESTAMP", *, sink: str = "") -> Query:
    (query,) = parse(f"{STREAM.format(kind)} {sink} SELECT {select};").queries
    return query


@pytest.mark.parametrize(
    ("key", "kind", "is_closed"),
    [
        ("ts", "TIMESTAMP", True),
        ("date_trunc('month', ts)", "TIMESTAMP", True),
        ("date_trunc('fortnight', ts)", "TIMESTAMP", False),
        ("date_trunc('month', ts)", "TIMESTAMP_NTZ", True),
        ("date_trunc('month', ts)", "DATE", True),
        ("to_date(ts)", "TIMESTAMP_NTZ", True),
        ("CAST(ts AS DATE)", "TIMESTAMP", True),
        ("trunc(ts, 'MM')", "DATE", True),
        ("trunc(to_date(ts), 'YEAR')", "TIMESTAMP", True),
        ("trunc(CAST(ts AS DATE), 'MM')", "TIMESTAMP_NTZ", True),
        ("trunc(date_trunc('DAY', ts), 'MM')", "TIMESTAMP", False),
        ("ts - INTERVAL 1 MICROSECOND", "TIMESTAMP", True),
        ("ts - INTERVAL 1 MICROSECOND", "DATE", False),
        ("ts - INTERVAL 2 MICROSECONDS", "TIMESTAMP", False),
        ("trunc(ts, 'DAY')", "DATE", False),
        ("date_trunc('month', d)", "TIMESTAMP", False),
        ("year(ts)", "TIMESTAMP", False),
        ("kind", "TIMESTAMP", False),
    ],
)
def test_a_key_is_closed_by_a_clock_of_its_own_kind(key: str, kind: str, is_closed: bool) -> None:
    query = asked(f"{key} AS g, count(*) AS n FROM s GROUP BY {key}", kind)
    assert bool(clocks_of(query, query.group_by[0])) == is_closed
    assert closes_groups(query) == is_closed
    assert not emits_once(query)


def test_what_only_appends_is_given_closed_groups_once() -> None:
    for key in ("to_date(ts)", "k", "ts"):
        query = asked(f"{key} AS g, count(*) AS n FROM s GROUP BY {key}", sink=APPENDS)
        assert query.appends
        assert emits_once(query)
    assert emits_once(asked("count(*) AS n FROM s GROUP BY window(ts, '1 hour')"))
