"""What of time is offered where it bounds the query, with the event times and orders that it needs, and not else."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.finding import Meeting, NearInTime
from penstock.explain.fix_text import near_text

TIMED = "CREATE STREAM {0} (k BIGINT, ts TIMESTAMP, EVENT TIME ts{1});"
ORDERED = ", ORDERED BY ts WITHIN 5 SECONDS"
NEAR = "b.ts BETWEEN a.ts - INTERVAL 1 HOUR AND a.ts + INTERVAL 1 HOUR"


def _offered(select: str, a: str = "", b: str = "", c: str = "") -> NearInTime | None:
    streams = "".join(TIMED.format(name, said) for name, said in (("a", a), ("b", b), ("c", c)))
    return penstock.check(penstock.parse(streams + select)).near


def _pairs(found: NearInTime | None) -> list[tuple[str, str, Meeting]]:
    assert found is not None
    return [(str(one.theirs), str(one.ours), one.meeting) for one in found.conditions]


def test_it_bounds_a_join_by_key_alone_with_an_order_for_each_time() -> None:
    found = _offered("SELECT a.k FROM a, b WHERE a.k = b.k;", a=ORDERED)
    assert _pairs(found) == [("b.ts", "a.ts", Meeting.WHERE)]
    assert found is not None
    assert str(found.declared) == "ORDERED BY ts WITHIN AUTO ON b"
    text = TIMED.format("a", ORDERED) + TIMED.format("b", ", ORDERED BY ts WITHIN AUTO")
    changed = penstock.parse(f"{text} SELECT a.k FROM a, b WHERE a.k = b.k AND {NEAR};")
    assert penstock.check(changed).verdict == "bounded"


def test_only_the_pairs_that_nothing_limits_are_named() -> None:
    limited = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE"
    found = _offered(f"SELECT a.k FROM a, b, c WHERE a.k = b.k AND a.k = c.k AND {limited};")
    assert [theirs for theirs, _, _ in _pairs(found)] == ["c.ts"]
    assert found is not None
    assert len(found.declared.declarations) == 3


@pytest.mark.parametrize(
    ("select", "meeting"),
    [
        ("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k;", Meeting.ON),
        ("SELECT a.k FROM a FULL OUTER JOIN b ON a.k = b.k;", Meeting.ON),
        ("SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k);", Meeting.EXISTS),
        ("SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k);", Meeting.EXISTS),
    ],
)
def test_of_an_outer_join_or_exists_it_is_asked_where_the_two_meet(select: str, meeting: Meeting) -> None:
    assert _pairs(_offered(select)) == [("b.ts", "a.ts", meeting)]


def test_a_join_below_an_outer_one_is_asked_in_its_own_condition() -> None:
    found = _offered("SELECT a.k FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k;")
    assert _pairs(found) == [("c.ts", "b.ts", Meeting.ON), ("b.ts", "a.ts", Meeting.ON)]


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;",
        "SELECT DISTINCT a.k FROM a, b WHERE a.k = b.k;",
        "SELECT k FROM a;",
    ],
)
def test_it_is_not_offered_where_it_is_there_or_would_not_do(select: str) -> None:
    assert _offered(select) is None


def test_groups_get_a_window_and_the_join_below_them_a_condition() -> None:
    found = _offered("SELECT a.k, count(*) AS n FROM a, b WHERE a.k = b.k GROUP BY a.k;")
    assert _pairs(found) == [("b.ts", "a.ts", Meeting.WHERE)]
    assert found is not None
    assert [str(window.time) for window in found.windows] == ["a.ts"]
    alone = _offered("SELECT k, count(*) AS n FROM a GROUP BY k;")
    assert alone is not None
    assert (alone.conditions, str(alone.declared)) == ((), "ORDERED BY ts WITHIN AUTO ON a")


def test_a_time_that_is_compared_but_not_declared_is_declared_and_nothing_else_is_asked() -> None:
    text = "CREATE STREAM {0} (k BIGINT, seen TIMESTAMP, ts TIMESTAMP);"
    select = "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;"
    found = penstock.check(penstock.parse(text.format("a") + text.format("b") + select)).near
    assert found is not None
    assert not found.has_length
    assert str(found.declared) == (
        "EVENT TIME ts ON a; ORDERED BY ts WITHIN AUTO ON a; EVENT TIME ts ON b; ORDERED BY ts WITHIN AUTO ON b"
    )


def test_a_block_below_is_asked_where_it_is_open() -> None:
    view = "CREATE VIEW v AS SELECT DISTINCT a.k, a.ts FROM a JOIN b ON a.k = b.k;"
    found = _offered(f"{view} SELECT v.k, c.ts FROM v JOIN c ON v.k = c.k;")
    assert found is not None
    assert [(one.block, str(one.theirs), str(one.ours)) for one in found.conditions] == [
        ("v", "b.ts", "a.ts"),
        ("", "c.ts", "v.ts"),
    ]


def test_only_the_side_that_nothing_limits_is_asked_for() -> None:
    found = _offered("SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts >= a.ts;")
    assert found is not None
    (one,) = found.conditions
    assert (one.is_after, one.is_before) == (True, False)
    assert near_text(one, found.apart) == "b.ts <= a.ts + INTERVAL 1 HOUR"


def test_times_that_are_whole_numbers_lie_so_many_of_them_apart() -> None:
    text = "CREATE STREAM {0} (k BIGINT, ms BIGINT, EVENT TIME ms);"
    select = "SELECT a.k FROM a, b WHERE a.k = b.k;"
    found = penstock.check(penstock.parse(text.format("a") + text.format("b") + select)).near
    assert found is not None
    assert near_text(found.conditions[0], found.apart) == "b.ms BETWEEN a.ms - 1000 AND a.ms + 1000"


def test_a_stream_without_a_time_of_the_calendar_has_none() -> None:
    text = "CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts); CREATE STREAM b (k BIGINT); "
    assert penstock.check(penstock.parse(text + "SELECT a.k FROM a, b WHERE a.k = b.k;")).near is None


def test_times_of_two_types_have_no_difference() -> None:
    dated = "CREATE STREAM d (k BIGINT, ts DATE, EVENT TIME ts);"
    text = f"{TIMED.format('a', '')}{dated} SELECT a.k FROM a, d WHERE a.k = d.k;"
    assert penstock.check(penstock.parse(text)).near is None


def test_only_the_groups_that_need_one_get_a_window() -> None:
    inner = "SELECT a.k, a.ts, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k, a.ts"
    found = _offered(f"SELECT k, sum(n) AS n FROM ({inner}) AS m GROUP BY k;")
    assert found is not None
    assert [(window.block, str(window.time)) for window in found.windows] == [("", "m.ts")]
