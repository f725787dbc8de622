"""A query's relation and the block that it is: taken apart and put together, nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock import parse
from penstock.errors import ScriptErrors
from penstock.model.query import Query
from penstock.model.relation import Distinct, Filter, Group, Join, JoinKind, Leaf, Project, SemiJoin, block_of

_SCRIPTS = sorted((Path(__file__).parents[1] / "golden").glob("*/*.sql"))


def _queries() -> list[Query]:
    found: list[Query] = []
    for path in _SCRIPTS:
        try:
            found += parse(path.read_text(encoding="utf-8")).queries
        except ScriptErrors:
            continue
    return found


def test_a_block_taken_apart_and_put_together_is_the_same_relation() -> None:
    queries = _queries()
    assert len(queries) > 100
    for query in queries:
        assert query.block.relation == query.relation
        assert block_of(query.relation, query.by_alias) == query.block
        assert query.with_block(query.block) == query


STREAMS = "CREATE STREAM a (k INT, x INT); CREATE STREAM b (k INT, x INT); CREATE STREAM c (k INT, x INT);"


def _one(text: str) -> Query:
    return parse(STREAMS + text).queries[0]


def test_what_stands_where_in_a_relation() -> None:
    query = _one(
        "SELECT DISTINCT a.x FROM a LEFT JOIN b ON a.k = b.k "
        "WHERE a.x > 3 AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = a.k)"
    )
    assert isinstance(query.relation, Distinct)
    assert isinstance(query.relation.rows, Project)
    match query.relation.rows.rows:
        case SemiJoin(rows=Filter(rows=Join(kind=kind, left=left, right=right)), partner=partner, negated=negated):
            assert (kind, left, right) == (JoinKind.LEFT, Leaf("a"), Leaf("b"))
            assert (partner, negated) == (Leaf("c"), True)
        case other:
            pytest.fail(f"{other}")
    assert [s.alias for s in query.sources] == ["a", "b"]
    assert [s.alias for s in query.partners] == ["c"]


def test_aggregates_without_keys_are_one_group() -> None:
    query = _one("SELECT count(*) AS n FROM a, b WHERE a.k = b.k")
    assert isinstance(query.relation, Group)
    assert query.relation.keys == ()
    assert query.is_grouped


def test_joins_put_in_another_order_leave_the_sources_in_that_of_from() -> None:
    query = _one("SELECT a.x FROM a, b WHERE a.k = b.k")
    turned = replace(query.block, tree=Join(JoinKind.INNER, Leaf("b"), Leaf("a")))
    assert [s.alias for s in query.with_block(turned).sources] == ["a", "b"]
