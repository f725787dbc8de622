"""A condition on the times is offered where it bounds the query, with the orders that it needs, and not else."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.finding import NearInTime
from penstock.analysis.near_in_time import near_in_time

TIMED = "CREATE STREAM {0} (k BIGINT, ts TIMESTAMP, EVENT TIME ts{1});"
ORDERED = ", ORDERED BY ts WITHIN 5 SECONDS"


def _offered(select: str, a: str = "", b: str = "", c: str = "") -> NearInTime | None:
    streams = "".join(TIMED.format(name, said) for name, said in (("a", a), ("b", b), ("c", c)))
    (query,) = penstock.parse(streams + select).queries
    return near_in_time(query)


def test_it_bounds_a_join_by_key_alone_with_an_order_for_each_time() -> None:
    found = _offered("SELECT a.k FROM a, b WHERE a.k = b.k;", a=ORDERED)
    assert found is not None
    assert [(str(theirs), str(ours)) for theirs, ours in found.pairs] == [("b.ts", "a.ts")]
    assert str(found.declared) == "ORDERED BY ts WITHIN AUTO ON b"
    text = TIMED.format("a", ORDERED) + TIMED.format("b", ", ORDERED BY ts WITHIN AUTO")
    near = "b.ts BETWEEN a.ts - INTERVAL 1 HOUR AND a.ts + INTERVAL 1 HOUR"
    assert (
        penstock.check(penstock.parse(f"{text} SELECT a.k FROM a, b WHERE a.k = b.k AND {near};")).verdict == "bounded"
    )


def test_only_the_pairs_that_nothing_limits_are_named() -> None:
    limited = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE"
    found = _offered(f"SELECT a.k FROM a, b, c WHERE a.k = b.k AND a.k = c.k AND {limited};")
    assert found is not None
    assert [str(theirs) for theirs, _ in found.pairs] == ["c.ts"]
    assert len(found.declared.declarations) == 3


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k;",
        "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k);",
        "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;",
        "SELECT a.k, count(*) AS n FROM a, b WHERE a.k = b.k GROUP BY a.k;",
        "SELECT k FROM a;",
    ],
)
def test_it_is_not_offered_where_it_is_there_or_would_not_do(select: str) -> None:
    assert _offered(select) is None


def test_a_stream_without_a_time_of_the_calendar_has_none() -> None:
    text = "CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts); CREATE STREAM b (k BIGINT); "
    (query,) = penstock.parse(text + "SELECT a.k FROM a, b WHERE a.k = b.k;").queries
    assert near_in_time(query) is None


def test_times_of_two_types_have_no_difference() -> None:
    dated = "CREATE STREAM d (k BIGINT, ts DATE, EVENT TIME ts);"
    (query,) = penstock.parse(f"{TIMED.format('a', '')}{dated} SELECT a.k FROM a, d WHERE a.k = d.k;").queries
    assert near_in_time(query) is None
