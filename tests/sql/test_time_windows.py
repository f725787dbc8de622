"""Windows of time in SELECT DISTINCT are groups; a session is none without GROUP BY, so it is refused there."""

from __future__ import annotations

import pytest

import penstock

STREAM = "CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"


def relation(text: str) -> object:
    (query,) = penstock.parse(f"{STREAM} {text};").queries
    return query.relation


@pytest.mark.parametrize("item", ["window(ts, '5 minutes') AS w", "window(ts, '5 minutes', '1 minute').end AS w"])
def test_distinct_rows_with_a_window_are_its_groups(item: str) -> None:
    call = item.partition(")")[0] + ")"
    grouped = f"SELECT a, upper(b) AS b, {item} FROM s WHERE a > 1 GROUP BY a, upper(s.b), {call}"
    assert relation(f"SELECT DISTINCT a, upper(b) AS b, {item} FROM s WHERE a > 1") == relation(grouped)


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
