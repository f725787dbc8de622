"""Aggregates that follow from a count, as Spark writes them, and how steeply they grow with it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.analysis.rewriting.count_values import CountValue, N, count_value, formula_value
from penstock.compile import parse
from penstock.model.clauses import Aggregate, Formula

SCRIPT = "CREATE STREAM s (k BIGINT); SELECT {} AS x FROM s [ROWS 5];"


def value(text: str) -> CountValue | None:
    (query,) = parse(SCRIPT.format(text)).queries
    (answer,) = query.answer
    if isinstance(answer, Formula):
        return formula_value(answer)
    assert isinstance(answer.value, Aggregate)
    return count_value(answer.value)


@pytest.mark.parametrize(
    ("text", "shown", "slope"),
    [
        ("count(*)", N, 1),
        ("count(1)", N, 1),
        ("sum(1)", f"CAST(1 * {N} AS BIGINT)", 1),
        ("sum(2.50)", f"CAST(2.50 * {N} AS DECIMAL(13, 2))", Fraction(5, 2)),
        ("avg(3)", "CAST(3 AS DOUBLE)", 0),
        ("max(7)", "7", 0),
        ("60 * count(*)", f"60 * {N}", 60),
        ("count(*) / 4", f"{N} / 4", Fraction(1, 4)),
        ("10 - count(*)", f"10 - {N}", -1),
    ],
)
def test_what_follows_from_the_number_of_results(text: str, shown: str, slope: object) -> None:
    found = value(text)
    assert found is not None
    assert (found.text, found.slope) == (shown, slope)


@pytest.mark.parametrize("text", ["sum(s.k)", "min(s.k)", "count(*) * count(*)", "median(1)", "sum(1) + max(s.k)"])
def test_what_does_not(text: str) -> None:
    assert value(text) is None
