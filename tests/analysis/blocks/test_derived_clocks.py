"""Which columns of a view have a clock, and why others have none."""

from __future__ import annotations

import pytest

from penstock.analysis.reasons import NotPromised
from tests.analysis.blocks.promised import NEAR, A, B, block, promises


def clocks(view: str, streams: str = A + B) -> list[tuple[str, str]]:
    return [(found.column, str(found.clock)) for found in block(view, streams).derived.clocks]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (f"SELECT a.t AS x, b.t AS y FROM a, b WHERE {NEAR}", [("x", "a.t"), ("y", "b.t")]),
        (f"SELECT a.n, b.t AS y FROM a LEFT JOIN b ON {NEAR}", [("y", "b.t")]),
        (f"SELECT DISTINCT a.t AS x FROM a, b WHERE {NEAR}", [("x", "a.t")]),
        (f"SELECT a.t AS x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {NEAR})", [("x", "a.t")]),
        ("SELECT a.k, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.k, window(a.t, 5)", [("e", "a.t")]),
        (
            "SELECT session_window(a.t, 5).start AS s, session_window.end AS e FROM a GROUP BY session_window(a.t, 5)",
            [("s", "a.t"), ("e", "a.t")],
        ),
        ("SELECT a.t AS x, a.k FROM a GROUP BY a.t, ROLLUP (a.k)", [("x", "a.t")]),
        ("SELECT a.t AS x, a.k FROM a GROUP BY CUBE (a.t, a.k)", []),
        ("SELECT window(a.t, 5).end AS x, a.k FROM a GROUP BY CUBE (window(a.t, 5), a.k)", []),
        ("SELECT a.t + 1 AS x FROM a", []),
        ("SELECT a.k, max(a.t) AS x FROM a GROUP BY a.k, window(a.t, 5)", [("x", "a.t")]),
        ("SELECT a.k, min_by(a.t, a.n) AS x FROM a GROUP BY a.k, window(a.t, 5)", [("x", "a.t")]),
        (
            "SELECT a.k, a.t FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY window(a.t, 5) ORDER BY a.n) = 1",
            [("t", "a.t")],
        ),
        ("SELECT a.k, max(a.n) AS x FROM a GROUP BY a.k, window(a.t, 5)", []),
        ("SELECT a.k, sum(a.t) AS x FROM a GROUP BY a.k, window(a.t, 5)", []),
        ("SELECT a.k, max(a.t) AS x FROM a GROUP BY CUBE (a.k, window(a.t, 5))", []),
        ("SELECT a.k, b.n AS x FROM a, b WHERE a.t = b.n AND a.k = b.k", []),
    ],
)
def test_ordered_columns_that_come_through_have_a_clock(view: str, expected: list[tuple[str, str]]) -> None:
    assert clocks(view) == expected


def test_a_column_that_equals_an_ordered_one_has_its_clock() -> None:
    assert clocks("SELECT b.n AS x FROM a, b WHERE a.t = b.n AND a.t = b.t") == [("x", "a.t")]


def test_a_group_has_only_the_clocks_that_close_it() -> None:
    # A group waits for its window, however far another ordered column of it has come.
    streams = A.replace("WITHIN 3)", "WITHIN 3, ORDERED BY n)") + B
    view = "SELECT a.n AS n, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY a.n, window(a.t, 5)"
    assert clocks(view, streams) == [("e", "a.t")]
    assert clocks("SELECT a.n AS n, a.t AS t FROM a", streams) == [("n", "a.n"), ("t", "a.t")]


def test_days_and_months_of_an_ordered_time_have_its_clock() -> None:
    streams = "CREATE STREAM a (k BIGINT, t TIMESTAMP, EVENT TIME t, ORDERED BY t);"
    cuts = "date_trunc('MONTH', a.t) AS m, to_date(a.t) AS d, date_format(a.t, 'y') AS y"
    assert clocks(f"SELECT {cuts} FROM a", streams) == [("m", "a.t"), ("d", "a.t")]
    grouped = "SELECT a.k, to_date(a.t) AS d, count(*) AS n FROM a GROUP BY a.k, to_date(a.t)"
    assert clocks(grouped, streams) == [("d", "a.t")]


def test_the_window_that_a_row_is_in_has_the_clock_of_its_time() -> None:
    streams = "CREATE STREAM a (k BIGINT, t TIMESTAMP, EVENT TIME t, ORDERED BY t);"
    view = "SELECT window(a.t, '5 minutes') AS w, window(a.t, '5 minutes').start AS s, a.k FROM a"
    assert ("s", "a.t") in clocks(view, streams)


@pytest.mark.parametrize(
    ("time", "join", "expected"),
    [
        ("coalesce(a.t, b.t)", "FULL", [("x", "a.t", ["b.t"])]),
        ("greatest(a.t, coalesce(b.t, a.t))", "LEFT", [("x", "a.t", ["b.t"])]),
        ("coalesce(a.t, b.n)", "FULL", []),
        ("coalesce(a.t, b.t + 1)", "FULL", []),
        ("coalesce(a.t, 0)", "FULL", []),
    ],
)
def test_one_of_several_times_has_the_least_of_their_clocks(time: str, join: str, expected: list[object]) -> None:
    found = block(f"SELECT {time} AS x, a.k FROM a {join} JOIN b ON {NEAR}", A + B).derived.clocks
    assert [(one.column, str(one.clock), [str(ref) for ref in one.others]) for one in found] == expected


def test_they_are_promised_as_orders() -> None:
    assert promises(f"SELECT a.t AS x FROM a, b WHERE {NEAR}") == ["ORDERED BY x WITHIN FRONTIER"]


@pytest.mark.parametrize(
    ("view", "streams", "why"),
    [
        (
            f"SELECT a.t AS x FROM a, b WHERE {NEAR}",
            A.replace(", ORDERED BY t WITHIN 3", "") + B,
            NotPromised.NOT_ORDERED,
        ),
        ("SELECT a.t AS x FROM a, b WHERE a.k = b.k", A + B, NotPromised.ROWS_STAY),
        (
            f"SELECT a.t AS x FROM a, b WHERE {NEAR}",
            A.replace("WITHIN 3", "WITHIN 3 ON VIOLATION RECOVER") + B,
            NotPromised.MAY_COME_BACK,
        ),
        (f"SELECT a.t AS x FROM a, b WHERE {NEAR}", A.replace("3)", "3, CHECK (t < 9))") + B, NotPromised.STOPS),
    ],
)
def test_a_frontier_that_may_stand_still_is_not_claimed(view: str, streams: str, why: NotPromised) -> None:
    found = block(view, streams).derived
    assert found.clocks == ()
    assert [reason.kind for reason in found.unclaimed[0].because] == [why]


@pytest.mark.parametrize("by", ["date_trunc('HOUR', a.t)", "to_date(a.t)", "trunc(a.t, 'MM')", "CAST(a.t AS DATE)"])
def test_a_time_that_is_picked_of_its_day_or_month_has_the_clock_of_that(by: str) -> None:
    streams = "CREATE STREAM a (k BIGINT, t TIMESTAMP, u TIMESTAMP, EVENT TIME t, ORDERED BY t);"
    first = f"SELECT a.k, a.t, a.u FROM a QUALIFY ROW_NUMBER() OVER (PARTITION BY a.k, {by} ORDER BY a.u) = 1"
    (found,) = block(first, streams).derived.clocks
    assert (found.column, str(found.clock)) == ("t", "a.t")
    assert found.cut is not None
    assert not found.cut.gives_date
    assert clocks(f"SELECT a.k, max(a.t) AS x, max(a.u) AS y FROM a GROUP BY a.k, {by}", streams) == [("x", "a.t")]
