"""QUALIFY and WINDOW are other ways to write a numbered query in FROM: both texts give the same model."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.errors import PenstockError
from penstock.model.block_tree import blocks_below
from penstock.model.query import Query

STREAM = "CREATE STREAM s (a INT, b STRING, c BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"
BY = "PARTITION BY a, date_trunc('HOUR', ts) ORDER BY c DESC"


def relation(text: str) -> object:
    """What the query is."""
    (query,) = penstock.parse(f"{STREAM} {text};").queries
    return query.relation


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (
            f"SELECT a, b FROM s QUALIFY ROW_NUMBER() OVER ({BY}) = 1",
            f"SELECT a, b FROM (SELECT a, b, ROW_NUMBER() OVER ({BY}) AS rn FROM s) WHERE rn = 1",
        ),
        (
            f"SELECT * FROM s QUALIFY 2 >= row_number() OVER w WINDOW w AS ({BY})",
            f"SELECT a, b, c, ts FROM (SELECT *, ROW_NUMBER() OVER ({BY}) AS rn FROM s) WHERE rn <= 2",
        ),
        (
            f"SELECT a, row_number() OVER w AS rn FROM s WINDOW w AS ({BY}) QUALIFY rn < 3",
            f"SELECT a, rn FROM (SELECT a, ROW_NUMBER() OVER ({BY}) AS rn FROM s) WHERE rn < 3",
        ),
        (
            f"SELECT a, ROW_NUMBER() OVER ({BY}) AS rn FROM s QUALIFY ROW_NUMBER() OVER ({BY}) = 1",
            f"SELECT a, rn FROM (SELECT a, ROW_NUMBER() OVER ({BY}) AS rn FROM s) WHERE rn = 1",
        ),
    ],
)
def test_qualify_is_the_query_around(short: str, long: str) -> None:
    assert relation(short) == relation(long)


def test_a_column_that_is_not_selected_is_asked_and_left_out() -> None:
    text = f"SELECT a FROM s QUALIFY ROW_NUMBER() OVER ({BY}) <= 3 AND s.b = 'x' AND c < 5"
    (query,) = penstock.parse(f"{STREAM} {text};").queries
    assert [output.name for output in query.answer] == ["a"]
    below = query.sources[0].below
    assert isinstance(below, Query)
    assert [str(output.value) for output in below.outputs] == ["s.a", "row_number(*)", "top(s.b)", "top(s.c)"]
    assert [str(p) for p in query.predicates][1:] == ["subquery.__qualify_2 = 'x'", "subquery.__qualify_3 < 5"]


def test_hints_and_distinct_are_of_the_query_around() -> None:
    text = f"SELECT /*+ BUDGET(10 ROWS) */ DISTINCT b FROM s QUALIFY ROW_NUMBER() OVER ({BY}) = 1"
    (query,) = penstock.parse(f"{STREAM} {text};").queries
    assert query.distinct
    assert query.hints.budget is not None
    assert [source.below is not None for source in query.sources] == [True]


@pytest.mark.parametrize(
    "text",
    [
        f"WITH n AS (SELECT *, ROW_NUMBER() OVER ({BY}) AS rn FROM s), first AS (SELECT * FROM n WHERE rn = 1) "
        "SELECT first.a, s.b FROM first JOIN s ON s.a = first.a AND s.ts = first.ts",
        f"SELECT x.a FROM (SELECT * FROM s QUALIFY ROW_NUMBER() OVER ({BY}) <= 2) x WHERE x.b = 'y'",
        f"SELECT s.a FROM s WHERE EXISTS (SELECT 1 FROM (SELECT a, ts, ROW_NUMBER() OVER ({BY}) AS rn FROM s) n "
        "WHERE n.rn = 1 AND n.a = s.a AND n.ts = s.ts)",
        f"SELECT a FROM s WHERE a IN (SELECT a FROM s QUALIFY ROW_NUMBER() OVER ({BY}) = 1)",
    ],
)
def test_a_limit_counts_wherever_the_query_around_stands(text: str) -> None:
    penstock.parse(f"{STREAM} {text};")


WINDOW = "window(ts, '5 minutes')"


@pytest.mark.parametrize(
    ("short", "by", "limit"),
    [
        (
            f"SELECT b, n FROM (SELECT b, count(*) AS n, {WINDOW} AS w, "
            f"ROW_NUMBER() OVER (PARTITION BY {WINDOW} ORDER BY count(*) DESC, b) AS rn "
            f"FROM s GROUP BY b, {WINDOW}) WHERE rn <= 2",
            "w ORDER BY n DESC, b",
            2,
        ),
        (
            f"SELECT b, n FROM (SELECT b, count(*) AS n, {WINDOW} AS w FROM s GROUP BY b, {WINDOW} "
            f"QUALIFY ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC, s.b) <= 2)",
            "w ORDER BY n DESC, b",
            2,
        ),
    ],
)
def test_groups_are_numbered_by_a_query_around_them(short: str, by: str, limit: int) -> None:
    groups = f"SELECT b, count(*) AS n, {WINDOW} AS w FROM s GROUP BY b, {WINDOW}"
    numbered = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {by}) AS rn FROM ({groups})"
    (one,) = penstock.parse(f"{STREAM} {short};").queries
    (other,) = penstock.parse(f"{STREAM} SELECT b, n FROM ({numbered}) WHERE rn <= {limit};").queries
    assert check_query(one).verdict == check_query(other).verdict == "bounded"
    tops = [
        [b.top.most for b in (q, *(source.below for source in blocks_below(q))) if isinstance(b, Query) and b.top]
        for q in (one, other)
    ]
    assert tops == [[limit], [limit]]


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT b, ROW_NUMBER() OVER (ORDER BY count(*)) AS rn, count(*) FROM s GROUP BY b",
        "SELECT b, ROW_NUMBER() OVER (ORDER BY b, c) AS rn FROM s GROUP BY ALL",
        "SELECT DISTINCT b, ROW_NUMBER() OVER (ORDER BY b) AS rn FROM s",
        "SELECT b, count(*) AS n, ROW_NUMBER() OVER (ORDER BY c) AS rn FROM s GROUP BY b",
        "SELECT b, ROW_NUMBER() OVER (ORDER BY b) AS rn FROM (SELECT b, c FROM s GROUP BY b)",
    ],
)
def test_what_cannot_be_numbered_is_said(inner: str) -> None:
    with pytest.raises(PenstockError, match=r"beside GROUP BY|neither grouped"):
        penstock.parse(f"{STREAM} SELECT b FROM ({inner}) WHERE rn <= 2;")
