"""Names of columns that nobody named: as Spark would, and each once."""

from __future__ import annotations

import pytest

from penstock.compile import parse
from penstock.errors import ScriptErrors
from penstock.model.clauses import Output
from penstock.model.expressions import ColumnRef
from penstock.sql.output_names import NamedOutput, with_names_of_their_own

STREAMS = """CREATE STREAM s (a INT, b INT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM t (a INT, c INT, ts TIMESTAMP, EVENT TIME ts);"""


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("* FROM s, t", "a b ts t_a c t_ts"),
        ("s.a, t.a, t.a FROM s, t", "a t_a t_a_2"),
        ("s.a, t.a AS t_a, t.a FROM s, t", "a t_a t_a_2"),
        ("s.a, t.c AS a FROM s, t", "s_a a"),
        ("s.A, b + 1, b+1, count(*) FROM s GROUP BY s.a, b", "A (b+1) (b+1)_2 count(1)"),
        ("*, s.a FROM s", "a b ts s_a"),
        ("S.`A`, B + 1, cast(B AS INT) FROM s", "A (B+1) B"),
        ("x.* FROM (SELECT A, b AS C FROM s) AS x", "A C"),
        ("A AS n, N FROM s", "n s_N"),
        ("count(*), count(1), count(*) AS n FROM s", "count(1) count(1)_2 n"),
    ],
)
def test_each_name_stands_once(select: str, names: str) -> None:
    (query,) = parse(f"{STREAMS} SELECT {select};").queries
    assert [output.name.replace(" ", "") for output in query.answer] == names.split()


@pytest.mark.parametrize(
    "expression",
    [
        *("a * 2L", "a = 1.5D", "(+ a) * 2", "DATE '2024-01-01'", "ts - TIMESTAMP '2024-01-01'", "round(a)"),
        *("substring(n, 2)", "SUBSTRING(n FROM 2 FOR 1)", "TRIM(BOTH 'x' FROM n)", "datediff(HOUR, ts, ts)"),
    ],
)
def test_a_name_is_asked_for_where_spark_gives_one_of_its_own(expression: str) -> None:
    stream = "CREATE STREAM s (a INT, n STRING, ts TIMESTAMP, EVENT TIME ts);"
    with pytest.raises(ScriptErrors, match="an expression needs a name"):
        parse(f"{stream} SELECT {expression} FROM s;")


def test_what_is_given_is_left_as_it_is() -> None:
    twice = [NamedOutput(Output("a", ColumnRef("s", "a")), "s", is_given=True)] * 2
    assert [output.name for output in with_names_of_their_own(twice)] == ["a", "a"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k AS n FROM s UNION ALL SELECT substring_index(k, '.', 2) FROM s",
        "WITH t (n) AS (SELECT substring_index(k, '.', 2) FROM s) SELECT n FROM t",
        "SELECT n FROM (SELECT substring_index(k, '.', 2) FROM s) AS t (n)",
        "SELECT n FROM (SELECT substring_index(k, '.', 2) FROM s UNION ALL SELECT lower(k) || '' FROM s) AS t (n)",
    ],
)
def test_an_expression_that_is_named_from_without_needs_no_name(query: str) -> None:
    parsed = parse(f"CREATE STREAM s (k STRING); {query};")
    assert [output.name for output in parsed.queries[0].answer] == ["n"]


@pytest.mark.parametrize("name", ["subquery", "subquery_2", "Subquery"])
def test_a_query_without_a_name_leaves_each_name_to_the_user(name: str) -> None:
    unnamed = "(SELECT DISTINCT a AS {0} FROM t)"
    source = f"{unnamed.format('x')} JOIN s AS {name} ON {name}.a = x JOIN {unnamed.format('y')} ON y = x"
    (query,) = parse(f"{STREAMS} SELECT {name}.b, x, y FROM {source};").queries
    assert [output.name for output in query.answer] == ["b", "x", "y"]
