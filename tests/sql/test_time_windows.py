"""Windows of time in SELECT DISTINCT are groups; a session is none without GROUP BY, so it is refused there."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.clauses import TimeWindow

STREAM = "CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"


def relation(text: str) -> object:
    (query,) = penstock.parse(f"{STREAM} {text};").queries
    return query.relation


@pytest.mark.parametrize("item", ["window(ts, '5 minutes') AS w", "window(ts, '5 minutes', '1 minute').end AS w"])
def test_distinct_rows_with_a_window_are_its_groups(item: str) -> None:
    call = item.partition(")")[0] + ")"
    grouped = f"SELECT a, upper(b) AS b, {item} FROM s WHERE a > 1 GROUP BY a, upper(s.b), {call}"
    assert relation(f"SELECT DISTINCT a, upper(b) AS b, {item} FROM s WHERE a > 1") == relation(grouped)


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("SELECT w, count(*) AS n FROM {} GROUP BY w", "SELECT window(ts, '5 minutes') AS w, count(*) AS n FROM s {}"),
        (
            "SELECT w.start AS x, max(a) AS n FROM {} GROUP BY w.start",
            "SELECT window(ts, '5 minutes').start AS x, max(a) AS n FROM s {}",
        ),
        (
            "SELECT w.end, count(*) FROM {} GROUP BY w HAVING count(*) > 1",
            "SELECT window(ts, '5 minutes').end AS `end`, count(*) FROM s {} HAVING count(*) > 1",
        ),
    ],
)
def test_a_window_of_a_query_in_from_is_that_of_its_stream(query: str, same: str) -> None:
    rows = "(SELECT a, window(ts, '5 minutes') AS w FROM s)"
    plain = same.format("WHERE ts IS NOT NULL GROUP BY window(ts, '5 minutes')")
    assert relation(query.format(rows)) == relation(plain)


def test_where_a_stream_may_be_absent_the_end_of_its_window_may_be_null() -> None:
    absent = "(SELECT b, window(ts, '5 minutes').start AS m FROM r) x ON s.b = x.b"
    streams = f"{STREAM} {STREAM.replace(' s ', ' r ')}"
    for rows in (f"s LEFT JOIN {absent}", f"(SELECT a, s.ts, x.m FROM s LEFT JOIN {absent}) s"):
        text = f"SELECT m, count(*) AS n FROM {rows} GROUP BY window(s.ts, '5 minutes'), m"
        (query,) = penstock.parse(f"{streams} {text};").queries
        assert [isinstance(key, TimeWindow) for key in query.group_by] == [True, False]


def test_windows_of_windows_hold_them_whole() -> None:
    rows = "(SELECT a, window(ts, '5 minutes') AS w FROM s)"
    wanted = relation("SELECT window(ts, '1 hour') AS h FROM s WHERE ts IS NOT NULL GROUP BY window(ts, '1 hour')")
    for time in ("w", "window_time(w)"):
        assert relation(f"SELECT window({time}, '1 hour') AS h FROM {rows} GROUP BY 1") == wanted
    # Those that do not are of the last moment of the window, which is made a column first.
    for length in ("'7 minutes'", "'10 minutes', '2 minutes'", "'10 minutes', '10 minutes', '1 minute'"):
        for time in ("w", "window_time(w)"):
            text = f"SELECT window({time}, {length}) AS h, max(a) AS m FROM {rows} GROUP BY 1"
            assert penstock.check(penstock.parse(f"{STREAM} {text};")).verdict == "bounded"
            (query,) = penstock.parse(f"{STREAM} {text};").queries
            (source,) = query.sources
            assert source.below is not None
            assert [c.name for c in source.stream.columns if c.name != "a"][-1] == "window_time(w)"


def test_a_session_needs_groups() -> None:
    with pytest.raises(penstock.PenstockError, match="add it: GROUP BY session_window"):
        relation("SELECT DISTINCT a, session_window(ts, '5 minutes').start AS w FROM s")


@pytest.mark.parametrize(
    "declared",
    [
        "CREATE STREAM v (ts TIMESTAMP, t TIMESTAMP AS (ts + INTERVAL 1 HOUR), EVENT TIME t, ORDERED BY t);",
        "CREATE STREAM s (ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts); "
        "CREATE VIEW v (EVENT TIME t, ORDERED BY t WITHIN 1 MINUTE) AS SELECT ts + INTERVAL 1 HOUR AS t FROM s;",
    ],
)
def test_a_time_that_is_worked_out_has_windows_where_it_is_declared(declared: str) -> None:
    query = "SELECT window(t, '5 minutes').end AS w, count(*) AS n FROM v GROUP BY window(t, '5 minutes');"
    assert penstock.check(penstock.parse(f"{declared} {query}")).verdict == "bounded"
