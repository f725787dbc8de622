"""A condition is written where its streams meet, and nothing else of the text changes."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import UsageError
from penstock.sql.more_conditions import MoreCondition, MoreKey, with_conditions

_STREAMS = "".join(f"CREATE STREAM {n} (k BIGINT, ts TIMESTAMP, EVENT TIME ts);\n" for n in "abc")
_NEAR = MoreCondition("", ("a", "b"), "b.ts = a.ts")


@pytest.mark.parametrize(
    ("select", "changed"),
    [
        ("SELECT a.k FROM a JOIN b ON a.k = b.k;", "SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts = a.ts;"),
        ("SELECT a.k FROM a, b;", "SELECT a.k FROM a, b WHERE b.ts = a.ts;"),
        ("SELECT a.k FROM a JOIN b USING (k);", "SELECT a.k FROM a JOIN b USING (k) WHERE b.ts = a.ts;"),
        (
            "SELECT a.k FROM a, b WHERE a.k = b.k OR a.k > 5 GROUP BY a.k;",
            "SELECT a.k FROM a, b WHERE (a.k = b.k OR a.k > 5) AND b.ts = a.ts GROUP BY a.k;",
        ),
        (
            "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE a.k > 5;",
            "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts = a.ts WHERE a.k > 5;",
        ),
        (
            "SELECT a.k\nFROM a JOIN b ON a.k = b.k -- as it was\nWHERE a.k > 5;",
            "SELECT a.k\nFROM a JOIN b ON a.k = b.k\n  AND b.ts = a.ts -- as it was\nWHERE a.k > 5;",
        ),
        (
            "SELECT a.k\r\n  FROM a, b\r\n  WHERE a.k = b.k\r\n    AND a.k > 5;",
            "SELECT a.k\r\n  FROM a, b\r\n  WHERE a.k = b.k\r\n    AND a.k > 5\r\n    AND b.ts = a.ts;",
        ),
        (
            "SELECT A.k FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k;",
            "SELECT A.k FROM a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k AND b.ts = a.ts;",
        ),
    ],
)
def test_it_stands_behind_what_ties_the_two(select: str, changed: str) -> None:
    found = with_conditions(_STREAMS + select, 0, [_NEAR])
    assert found == _STREAMS + changed
    penstock.parse(found)


def test_it_is_written_into_exists_into_the_query_meant_and_into_views() -> None:
    exists = "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k);\n"
    text = f"{_STREAMS}{exists}{exists}"
    near = MoreCondition("", ("a", "b"), "b.ts = a.ts", in_exists=True)
    assert with_conditions(text, 1, [near]) == f"{_STREAMS}{exists}{exists.replace('b.k)', 'b.k AND b.ts = a.ts)')}"
    view = "CREATE VIEW v AS SELECT DISTINCT a.k FROM a JOIN b ON a.k = b.k;\n"
    other = view.replace("VIEW v", "VIEW w")
    select = "SELECT v.k FROM v JOIN w ON v.k = w.k;"
    changed = with_conditions(f"{_STREAMS}{view}{other}{select}", 0, [MoreCondition("w", ("a", "b"), "b.ts = a.ts")])
    assert changed == f"{_STREAMS}{view}{other.replace('b.k;', 'b.k AND b.ts = a.ts;')}{select}"


def test_a_window_is_a_key_and_a_column_behind_the_others() -> None:
    select = "SELECT k, count(*) AS n FROM a GROUP BY k;"
    key = MoreKey("", "a", "window(a.ts, '1 hour')")
    changed = f"SELECT k, count(*) AS n, {key.text} FROM a GROUP BY k, {key.text};"
    assert with_conditions(_STREAMS + select, 0, [key]) == _STREAMS + changed
    everything = "SELECT k, count(*) AS n FROM a GROUP BY ALL;"
    assert with_conditions(_STREAMS + everything, 0, [key]) == _STREAMS + everything.replace(
        "n FROM", f"n, {key.text} FROM"
    )


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.k FROM a LEFT JOIN b USING (k);",
        "SELECT c.k FROM c;",
        "SELECT a.k FROM a LEFT JOIN (b CROSS JOIN c) USING (k);",
    ],
)
def test_where_there_is_no_plain_place_nothing_is_guessed(select: str) -> None:
    with pytest.raises(UsageError, match="cannot be written for you"):
        with_conditions(_STREAMS + select, 0, [_NEAR])


@pytest.mark.parametrize(
    ("select", "changed"),
    [
        (
            "SELECT q.k FROM (SELECT a.k, a.ts FROM a JOIN c ON a.k = c.k) AS q JOIN b ON b.k = q.k;",
            "JOIN b ON b.k = q.k AND b.ts = q.ts;",
        ),
        ("WITH q AS (SELECT * FROM a JOIN c ON a.k = c.k) SELECT q.k FROM q, b;", None),
        ("WITH q AS (SELECT a.ts AS `a t`, a.k FROM a, c) SELECT q.k FROM q, b;", "FROM q, b WHERE b.ts = q.`a t`;"),
        ("SELECT q.k FROM (SELECT a.k FROM a JOIN c ON a.k = c.k) AS q JOIN b ON b.k = q.k;", None),
        ("SELECT b.k FROM (SELECT k, ts AS t FROM b) AS b, a;", "AS b, a WHERE b.t = a.ts;"),
    ],
)
def test_streams_that_meet_through_a_query_are_compared_by_what_it_gives(select: str, changed: str | None) -> None:
    near = MoreCondition("", ("a", "b"), "b.ts = a.ts", ("a.ts", "b.ts"))
    if changed is None:
        with pytest.raises(UsageError):
            with_conditions(f"{_STREAMS}{select}", 0, [near])
    else:
        assert with_conditions(f"{_STREAMS}{select}", 0, [near]).endswith(changed)
