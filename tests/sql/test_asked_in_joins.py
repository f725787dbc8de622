"""EXISTS and IN in ON: what they become, and of which side."""

from __future__ import annotations

import pytest

from penstock.analysis.check import check_query
from penstock.compile import parse
from penstock.model.block_tree import blocks_below
from penstock.model.clauses import Union
from penstock.model.query import Query
from penstock.sql import print_script
from tests.whole_queries.grammar import DECLARED

_TABLE = "CREATE TABLE t (k BIGINT, v BIGINT) USING parquet OPTIONS (path 'data/t');\n"
_TIE = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 3"


def _query(text: str) -> Query:
    script = parse(f"{_TABLE}{DECLARED}\n{text};")
    assert parse(print_script(script)) == script
    (query,) = script.queries
    return query


def _of(alias: str, near: str = "") -> str:
    return f"EXISTS (SELECT 1 FROM c WHERE c.k = {alias}.k AND c.ts BETWEEN {alias}.ts AND {near or alias}.ts + 2)"


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        (_of("a"), _of("a")),
        (_of("a", "b"), _of("a", "b")),
        (f"({_of('a')} OR b.v > 1)", f"({_of('a')} OR b.v > 1)"),
        ("a.k IN (SELECT k FROM t)", "a.k IN (SELECT k FROM t)"),
    ],
)
def test_what_an_inner_join_asks_is_asked_by_where(asked: str, where: str) -> None:
    found = _query(f"SELECT a.id FROM a JOIN b ON {_TIE} AND {asked} WHERE a.v > 0")
    assert found == _query(f"SELECT a.id FROM a JOIN b ON {_TIE} WHERE a.v > 0 AND {where}")


def test_it_may_be_all_that_a_join_says() -> None:
    assert _query(f"SELECT a.id FROM a JOIN b ON {_of('a', 'b')}").existences


def test_what_is_kept_has_a_column_of_it() -> None:
    query = _query(f"SELECT a.id, b.v FROM a LEFT JOIN b ON {_TIE} AND {_of('a')}")
    (block,) = [source.below for source in blocks_below(query) if isinstance(source.below, Union)]
    assert len(block.members) == 2
    assert check_query(query).verdict == "bounded"


@pytest.mark.parametrize(("kind", "alias"), [("LEFT", "b"), ("RIGHT", "a"), ("ANTI", "b"), ("SEMI", "b")])
def test_what_is_not_kept_is_filtered_below(kind: str, alias: str) -> None:
    asked = _of(alias).replace("EXISTS", "NOT EXISTS")
    query = _query(f"SELECT a.ts FROM a {kind} JOIN b ON {_TIE} AND {asked}")
    (block,) = [source.below for source in blocks_below(query) if isinstance(source.below, Query)]
    assert [existence.negated for existence in block.existences] == [True]
    assert check_query(query).verdict == "bounded"


def test_the_first_rows_of_what_a_join_asks_are_those_of_where() -> None:
    numbered = "SELECT a.id, ROW_NUMBER() OVER (PARTITION BY a.k ORDER BY a.ts DESC) AS n FROM a JOIN b ON"
    assert _query(f"SELECT x.id FROM ({numbered} {_TIE} AND {_of('a')}) AS x WHERE x.n = 1").top is not None
