"""What is known of the values of a view because it was known below."""

from __future__ import annotations

import pytest

import penstock
from tests.analysis.blocks.promised import NEAR, A, B, conditions, promises

CHECKED = A.replace("3)", "3, CHECK (n > 0 AND n < 9), CHECK (k IS NOT NULL))") + B
TIED = A.replace("3)", "3, COOCCURS (k) AND b (k) WINDOW [-5, 7], FOLLOWS b (k) ON (n) WITHIN 9)") + B


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (f"SELECT a.t AS x, b.t AS y FROM a, b WHERE {NEAR}", ["y >= x + 0", "y <= x + 5"]),
        (f"SELECT a.t AS x, b.n AS y FROM a, b WHERE {NEAR} AND b.n > 4", ["y > 4"]),
        (f"SELECT a.t AS x, b.n AS y FROM a LEFT JOIN b ON {NEAR} AND b.n > 4", []),
        ("SELECT a.n AS x FROM a WHERE a.n * 2 > 4", []),
    ],
)
def test_conditions_that_hold_in_every_row(view: str, expected: list[str]) -> None:
    assert conditions(view) == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("SELECT a.n AS x, a.k AS y FROM a", ["CHECK (x > 0 AND x < 9)", "CHECK (y IS NOT NULL)"]),
        ("SELECT a.k AS y FROM a", ["CHECK (y IS NOT NULL)"]),
        (f"SELECT a.n AS x, b.k AS y FROM a RIGHT JOIN b ON {NEAR}", []),
    ],
)
def test_checks_survive_where_their_stream_is_in_every_row(view: str, expected: list[str]) -> None:
    assert [text for text in promises(view, CHECKED) if text.startswith("CHECK")] == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("SELECT a.k AS x, a.t AS y FROM a", ["COOCCURS (x) AND b (k) WINDOW [-5, 7]"]),
        ("SELECT a.n AS x, a.t AS y FROM a", ["FOLLOWS b (k) ON (x) WITHIN 9"]),
        ("SELECT a.k AS x, a.n AS z FROM a", []),
    ],
)
def test_windows_of_matches_survive_with_their_event_time(view: str, expected: list[str]) -> None:
    assert [text for text in promises(view, TIED) if text.startswith(("COOCCURS", "FOLLOWS"))] == expected


RIDES = "CREATE STREAM rides (id BIGINT, zone INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);"
BY_HOUR = "SELECT window(ts, '1 hour') AS w, zone, count(*) AS n FROM rides GROUP BY window(ts, '1 hour'), zone"


@pytest.mark.parametrize(
    "select",
    [
        "SELECT date_trunc('day', ts) AS m, id FROM rides {} UNION SELECT date_trunc('day', ts), id FROM rides {}",
        "SELECT DISTINCT m, id FROM (SELECT to_date(ts) AS m, id FROM rides {})",
    ],
)
def test_what_is_cut_of_a_time_that_is_never_null_never_is(select: str) -> None:
    for where in ("", "WHERE ts IS NOT NULL"):
        verdict = penstock.check(penstock.parse(f"{RIDES} {select.replace('{}', where)};")).verdict
        assert (verdict == "bounded") == bool(where)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT w, max(n) AS most FROM ({}) GROUP BY w",
        "SELECT w, max(n) AS most FROM ({}) GROUP BY ALL",
        "SELECT w FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC) AS r FROM ({})) WHERE r <= 3",
    ],
)
def test_groups_by_a_window_of_a_block_are_closed_by_its_start(select: str) -> None:
    assert penstock.check(penstock.parse(f"{RIDES} {select.replace('{}', BY_HOUR)};")).verdict == "bounded"


@pytest.mark.parametrize(
    ("value", "verdict"), [("min(ts)", "bounded"), ("max(ts)", "bounded"), ("max_by(ts, zone)", "undecided")]
)
def test_the_least_time_of_a_window_is_never_null(value: str, verdict: str) -> None:
    groups = f"SELECT id, {value} AS t FROM rides GROUP BY id, window(ts, '1 hour')"
    for query in (f"SELECT DISTINCT id, t FROM ({groups})", f"{groups} INTERSECT SELECT id, ts FROM rides"):
        assert penstock.check(penstock.parse(f"{RIDES} {query};")).verdict == verdict
