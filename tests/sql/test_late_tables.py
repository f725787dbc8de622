"""Tables that meet the answer of the joins: which block they are asked of, and what that block gives."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.model.block_tree import blocks_below
from penstock.model.query import Query
from tests.whole_queries.grammar import DECLARED

_TABLE = "CREATE TABLE t (k BIGINT, v BIGINT) USING parquet OPTIONS (path 'data/t');\n"
_NEAR = "b.k = c.k AND b.ts = c.ts"


def _joined(text: str) -> dict[str, list[str]]:
    """By the name of a stream or block: the conditions of the tables that its rows are joined with."""
    (query,) = parse(f"{_TABLE}{DECLARED}\n{text};").queries
    blocks = [query, *(source.below for source in blocks_below(query) if isinstance(source.below, Query))]
    sources = [source for block in blocks for source in block.all_sources]
    return {s.stream.name: [getattr(join, "on", "") for join in s.stream.tables] for s in sources if s.stream.tables}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON {_NEAR} JOIN t ON b.v = t.k AND c.v = t.v "
            "WHERE b.k = a.k AND b.ts = a.ts)",
            {"joined": ["joined.`b.v` = t.k AND joined.`c.v` = t.v"]},
        ),
        (
            "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b, t WHERE b.k = a.k AND b.ts = a.ts AND b.v = t.k)",
            {"b": ["b.v = t.k"]},
        ),
        (
            f"SELECT c.k FROM b LEFT JOIN c ON {_NEAR} WHERE c.k NOT IN (SELECT k FROM t)",
            {"joined": ["(joined.`c.k` = t.k) OR (joined.`c.k` = t.k) IS NULL"]},
        ),
        (
            "SELECT a.k FROM a JOIN a AS x ON a.k = x.k AND a.ts = x.ts JOIN t ON t.k = x.v",
            {"a": ["t.k = x.v"]},
        ),
        (
            "SELECT a.k FROM a JOIN (SELECT b.ts, c.k FROM b LEFT JOIN c ON b.k = c.k AND b.ts = c.ts "
            "SEMI JOIN t ON t.k = c.k) AS x ON a.k = x.k AND a.ts = x.ts",
            {"joined": ["t.k = joined.`c.k`"]},
        ),
    ],
    ids=["inside EXISTS", "by a comma inside EXISTS", "of a stream that may be absent", "twice", "within a query"],
)
def test_a_table_is_joined_with_what_its_condition_is_about(text: str, expected: dict[str, list[str]]) -> None:
    assert _joined(text) == expected


def test_a_stream_that_stands_twice_is_read_apart_where_a_table_joins_it() -> None:
    text = "SELECT a.k, t.v FROM a JOIN a AS x ON a.k = x.k AND a.ts = x.ts JOIN t ON t.k = x.v"
    (query,) = parse(f"{_TABLE}{DECLARED}\n{text};").queries
    apart = query.by_alias["x"]
    assert isinstance(apart.below, Query)
    assert {output.name for output in apart.below.outputs} == {"k", "ts", "t.v"}
    assert apart.stream.event_time == "ts"
    assert query.by_alias["a"].below is None
