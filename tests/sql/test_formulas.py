"""The terms of expressions over aggregates, beside the same expressions worked out with numbers in their place."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from penstock.compile import parse
from penstock.model.clauses import Formula

Values = dict[str, Fraction]
Written = tuple[str, Callable[[Values], Fraction]]
AGGREGATES = ("count(*)", "sum(2)", "count(s.a)")


def _aggregate(text: str) -> Written:
    return text, lambda values: values[text]


def _number(text: str) -> Written:
    return text, lambda _: Fraction(text)


def _combined(operator: str, left: Written, right: Written) -> Written:
    work: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
    }
    return f"({left[0]}) {operator} ({right[0]})", lambda values: work[operator](left[1](values), right[1](values))


def _written(draw: random.Random, depth: int) -> Written:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice([*map(_aggregate, AGGREGATES), *map(_number, ("3", "0.5", "-1", "7"))])
    if draw.random() < 0.2:
        inner = _written(draw, depth - 1)
        return f"-({inner[0]})", lambda values: -inner[1](values)
    return _combined(draw.choice("+-*/"), _written(draw, depth - 1), _written(draw, depth - 1))


def test_terms_are_what_the_expression_grows_by() -> None:
    draw = random.Random(3)
    linear = others = 0
    for _ in range(150):
        text, value = _written(draw, 3)
        (query,) = parse(f"CREATE STREAM s (a INT); SELECT {text} AS x, count(*) AS n FROM s;").queries
        formula = query.answer[0]
        if not isinstance(formula, Formula):
            continue
        assert str(formula) == text
        if formula.terms is None:
            others += 1
            continue
        linear += 1
        factors = {str(aggregate): by for aggregate, by in formula.terms}
        nothing = value(dict.fromkeys(AGGREGATES, Fraction(0)))
        some = {name: Fraction(draw.randint(1, 9)) for name in AGGREGATES}
        assert value(some) == nothing + sum(factors.get(name, 0) * some[name] for name in AGGREGATES), text
    assert min(linear, others) > 20


def test_a_field_of_what_an_aggregate_gives_stands_right_after_it() -> None:
    stream = "CREATE STREAM s (a INT, at STRUCT<x: STRUCT<y: INT>>, ts TIMESTAMP);"
    (query,) = parse(f"{stream} SELECT max_by(at, ts).x.y + max(a) AS y, (max_by(at, ts)).x AS x FROM s;").queries
    assert [str(shown) for shown in query.answer] == [
        "max_by(s.at, s.ts).x.y + max(s.a)",
        "(max_by(s.at, s.ts)).x",
    ]
