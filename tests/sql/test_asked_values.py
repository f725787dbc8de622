"""EXISTS and IN beside OR and as values: what the cases ask, and what their columns are."""

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
_NEAR = "EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + 3)"


def _query(text: str) -> Query:
    script = parse(f"{_TABLE}{DECLARED}\n{text};")
    assert parse(print_script(script)) == script
    (query,) = script.queries
    return query


def _cases(query: Query) -> list[Query]:
    (source,) = query.sources
    members = source.below.members if isinstance(source.below, Union) else (source,)
    return [member.below for member in members if isinstance(member.below, Query)]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"SELECT a.id, {_NEAR} AS met FROM a", [[False], [True]]),
        (f"SELECT a.id FROM a WHERE a.v > 1 OR {_NEAR}", [[], [False]]),
        (f"SELECT a.id FROM a WHERE a.v > 1 OR a.k IN (SELECT k FROM t) OR {_NEAR}", [[], [], [False]]),
        (f"SELECT {_NEAR} AS met, window(a.ts, 3).end AS w, count(*) AS n FROM a GROUP BY ALL", [[False], [True]]),
        (f"SELECT window(a.ts, 3).end AS w, count_if({_NEAR}) AS n FROM a GROUP BY ALL", [[False], [True]]),
        (f"SELECT a.id FROM a WHERE CASE WHEN {_NEAR} THEN a.v > 1 ELSE a.v < 1 END", [[False], [True]]),
    ],
)
def test_each_case_asks_what_it_needs(text: str, asked: list[list[bool]]) -> None:
    query = _query(text)
    assert [[one.negated for one in case.existences] for case in _cases(query)] == asked
    assert check_query(query).verdict == "bounded"


def test_what_is_one_case_is_no_block() -> None:
    query = _query(f"SELECT a.id FROM a WHERE NOT (a.v > 1 OR {_NEAR})")
    assert [source.below for source in query.sources] == [None]
    assert [one.negated for one in query.existences] == [True]


def test_a_table_that_is_joined_late_loses_no_question() -> None:
    late = f"SELECT a.id FROM a JOIN c ON c.k = a.k AND c.ts = a.ts JOIN t ON t.k = a.v + c.v WHERE t.v = 1 OR {_NEAR}"
    (query,) = parse(f"{_TABLE}{DECLARED}\n{late};").queries
    assert [[one.negated for one in case.existences] for case in _cases(query)] == [[], [False]]


def test_in_of_a_table_may_be_unknown_which_is_a_case() -> None:
    cases = _cases(_query("SELECT a.id, a.k IN (SELECT k FROM t) AS known FROM a"))
    assert [str(case.outputs[-1].value) for case in cases] == ["TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"]


def test_a_question_in_a_query_in_from_is_a_column_of_it() -> None:
    query = _query(f"SELECT x.id, c.v FROM (SELECT a.*, {_NEAR} AS met FROM a) x JOIN c ON c.ts = x.ts WHERE NOT x.met")
    assert check_query(query).verdict == "bounded"


def test_a_table_of_from_may_be_asked_too() -> None:
    (source,) = _query("SELECT a.id, t.v FROM a JOIN t ON t.k = a.k WHERE a.v IN (SELECT v FROM t)").sources
    assert [getattr(join, "alias", "") for join in source.stream.tables] == ["t", "t_2"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT p.k, p.w.start AS s, EXISTS (SELECT 1 FROM b WHERE b.k = p.k AND b.ts BETWEEN p.w.start AND p.w.end) "
        "AS met FROM per p",
        "SELECT p.k, w FROM per p WHERE p.n > 3 OR p.k IN (SELECT k FROM t)",
        "SELECT p.k, p.w.end AS e, t.v FROM per p JOIN per q ON p.k = q.k AND p.w = q.w JOIN t ON t.k = p.n + q.n",
    ],
)
def test_windows_of_blocks_below_are_named_above(text: str) -> None:
    view = "CREATE VIEW per AS SELECT k, window(ts, 3) AS w, count(*) AS n FROM a GROUP BY k, window(ts, 3);"
    (query,) = parse(f"{_TABLE}{DECLARED}\n{view}\n{text};").queries
    assert check_query(query).verdict == "bounded"


def test_cases_give_what_is_named_alone() -> None:
    query = _query(f"SELECT a.id FROM a WHERE a.v > 1 OR {_NEAR}")
    assert [[output.name for output in case.outputs] for case in _cases(query)] == [["a.id"], ["a.id"]]


def test_a_query_that_several_cases_ask_is_one_block() -> None:
    joined = "SELECT 1 FROM b JOIN c ON c.k = b.k AND c.ts = b.ts WHERE b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + 3"
    query = _query(f"SELECT a.id, EXISTS ({joined}) AS met FROM a")
    assert [source.stream.name for source in blocks_below(query)] == ["subquery", "asked_1", "asked_2", "asked"]
