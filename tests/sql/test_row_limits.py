"""A query that numbers its rows keeps as many as the place that asks for most, wherever it is read."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.block_tree import blocks_below
from penstock.model.query import Query

STREAM = "CREATE STREAM s (a INT, b STRING, c BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"
NUMBERED = "SELECT a, c, ts, ROW_NUMBER() OVER (PARTITION BY a, date_trunc('HOUR', ts) ORDER BY c DESC) AS rn FROM s"
N = f"WITH n AS ({NUMBERED})"
MEET = "x.a = y.a AND x.ts = y.ts"


def kept(text: str) -> list[list[int]]:
    """Of each query, how many rows of a partition its blocks keep that number some."""
    found = []
    for query in penstock.parse(f"{STREAM} {text};").queries:
        blocks = [*(source.below for source in blocks_below(query)), query]
        found.append([b.top.most for b in blocks if isinstance(b, Query) and b.top is not None])
    return found


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (f"CREATE VIEW n AS {NUMBERED}; SELECT a FROM n WHERE rn <= 1; SELECT a FROM n WHERE rn <= 3", [[1], [3]]),
        (
            f"{N} SELECT x.a FROM (SELECT * FROM n WHERE rn = 1) x JOIN (SELECT * FROM n WHERE rn < 4) y ON {MEET}",
            [[3]],
        ),
        (f"{N} SELECT x.a FROM n AS x JOIN n AS y ON {MEET} WHERE x.rn = 1 AND y.rn <= 3", [[3]]),
        (f"{N} SELECT a FROM n WHERE rn = 1 UNION ALL SELECT a FROM n WHERE rn = 3", [[1, 3]]),
        (f"{N}, x AS (SELECT a, ts FROM n WHERE rn = 1) SELECT x.a FROM x JOIN n AS y ON {MEET} AND y.rn <= 2", [[2]]),
        (f"{N} SELECT x.a FROM s AS x LEFT JOIN n AS y ON {MEET} AND y.rn <= 2", [[2]]),
        (f"{N} SELECT y.a FROM n AS x RIGHT JOIN s AS y ON {MEET} AND 2 > x.rn", [[1]]),
        (f"{N} SELECT x.a FROM s AS x JOIN n AS y ON {MEET} WHERE rn IN (1, 2)", [[2]]),
        (
            f"{N} SELECT x.a FROM n AS x WHERE x.rn = 1 AND EXISTS (SELECT 1 FROM n AS y WHERE y.rn <= 4 AND {MEET})",
            [[4]],
        ),
    ],
)
def test_the_most_that_any_place_asks_for_is_kept(text: str, most: list[list[int]]) -> None:
    assert kept(text) == most


@pytest.mark.parametrize(
    "text",
    [
        f"{N}, x AS (SELECT a, ts FROM n WHERE rn = 1) SELECT x.a FROM x JOIN n AS y ON {MEET}",
        f"{N} SELECT x.a FROM n AS x LEFT JOIN s AS y ON {MEET} AND x.rn <= 2",
        f"{N} SELECT x.a FROM s AS x FULL JOIN n AS y ON {MEET} AND y.rn <= 2",
        f"{N} SELECT x.a FROM n AS x JOIN n AS y ON {MEET} WHERE x.rn = 1",
        f"SELECT x.rn FROM ({NUMBERED}) AS x (rn, c, ts, r) WHERE x.rn <= 2",
        f"WITH n (rn, c, ts, r) AS ({NUMBERED}) SELECT rn FROM n WHERE rn <= 2",
        f"CREATE VIEW n AS {NUMBERED}; SELECT a FROM n WHERE rn <= 1; SELECT a FROM n WHERE rn >= 3",
    ],
)
def test_one_place_without_a_limit_leaves_none(text: str) -> None:
    with pytest.raises(penstock.PenstockError, match="ROW_NUMBER\\(\\) of all rows"):
        kept(text)


@pytest.mark.parametrize("query", ["WITH n (x, r) AS ({}) SELECT x FROM n", "SELECT n.x FROM ({}) AS n (x, r)"])
def test_a_number_that_is_named_from_without_is_asked_for_by_that_name(query: str) -> None:
    unnamed = "SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) FROM s"
    assert kept(f"{query.format(unnamed)} WHERE r <= 2") == [[2]]
