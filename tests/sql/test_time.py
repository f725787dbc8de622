"""Reading takes time in proportion to the text: no blow-up on nesting, on long conditions, on many columns.

Seconds are of the processor. The limits are far above what it needs, and far below what an exponential would take.
"""

from __future__ import annotations

import time

import pytest

from penstock.errors import ScriptErrors
from penstock.sql import parse_script, print_script
from tests.sql.surviving import survive

STREAM = "CREATE STREAM s (a INT, b INT, c STRING, ts TIMESTAMP, EVENT TIME ts);"


def _seconds(text: str) -> float:
    start = time.process_time()
    survive(text)
    return time.process_time() - start


def test_two_thousand_conjuncts_are_read_one_by_one() -> None:
    text = STREAM + "SELECT a FROM s WHERE " + " AND ".join(f"a < {n}" for n in range(2_000))
    start = time.process_time()
    script = parse_script(text)
    assert time.process_time() - start < 10
    assert len(script.queries[0].where) == 2_000
    assert parse_script(print_script(script)) == script


def test_three_hundred_columns_and_outputs() -> None:
    columns = ", ".join(f"c{n} BIGINT, CHECK (c{n} > {n})" for n in range(300))
    outputs = ", ".join(f"c{n} + 1 AS d{n}" for n in range(300))
    assert _seconds(f"CREATE STREAM wide ({columns}); SELECT {outputs} FROM wide") < 10


@pytest.mark.parametrize("depth", [10, 100, 199])
@pytest.mark.parametrize(
    "nested",
    [
        lambda n: "(" * n + "a > 1" + ")" * n,
        lambda n: "NOT (" * n + "a > 1" + ")" * n,
        lambda n: "abs(" * n + "a" + ")" * n + " > 1",
        lambda n: "(a > 1 OR " * n + "b > 1" + ")" * n,
        lambda n: "CASE WHEN a > (" * n + "1" + ") THEN a ELSE b END" * n + " > 1",
        lambda n: "CAST(" * n + "a" + " AS INT)" * n + " > 1",
        lambda n: "(" * n + "a > 1",
        lambda n: "a[" * n + "0" + "]" * n + " > 1",
        lambda n: "f(x -> " * n + "x" + ")" * n + " > 1",
        lambda n: "- " * n + "a < 1",
        lambda n: "(a, " * n + "a" + ")" * n + " = a",
    ],
    ids=["parentheses", "not", "calls", "or", "case", "cast", "open", "brackets", "lambdas", "signs", "tuples"],
)
def test_nesting_costs_no_more_than_its_depth(nested: object, depth: int) -> None:
    assert callable(nested)
    assert _seconds(f"{STREAM} SELECT a FROM s WHERE {nested(depth)}") < 10


@pytest.mark.parametrize("depth", [201, 5_000])
def test_deeper_nesting_is_refused_at_its_place(depth: int) -> None:
    with pytest.raises(ScriptErrors) as raised:
        parse_script(f"{STREAM} SELECT a FROM s WHERE {'(' * depth}a > 1{')' * depth}")
    (mistake,) = raised.value.mistakes
    assert mistake.message == "nested deeper than 200 levels"


def test_chains_without_parentheses_do_not_exhaust_the_stack() -> None:
    assert _seconds(f"{STREAM} SELECT a FROM s WHERE {' OR '.join(['a = 1'] * 3_000)}") < 20
    assert _seconds(f"{STREAM} SELECT {' + '.join(['a'] * 3_000)} AS x FROM s") < 20
    assert _seconds(f"{STREAM} SELECT a FROM s WHERE {' + '.join(['a'] * 3_000)} > 1") < 20
    assert (
        _seconds(f"CREATE STREAM t (a INT, b INT AS ({' + '.join(['a'] * 3_000)}), CHECK ({'a + ' * 3_000} a > 1))")
        < 20
    )
    assert _seconds(f"{STREAM} SELECT a FROM s WHERE {'NOT ' * 1_000} a > 1") < 20
    assert _seconds(f"{STREAM} SELECT a FROM s WHERE a = {'-' * 1} {'- ' * 1_000} 1") < 20


def test_long_lines_and_many_statements_are_read() -> None:
    assert _seconds("SELECT " + "z" * 100_000 + " FROM s") < 5
    assert _seconds("".join(f"CREATE STREAM s{n} (a INT, PRIMARY KEY (a));" for n in range(500))) < 20
    assert _seconds("SELECT * FROM s" + " " * 100_000 + ";" * 10_000) < 5
