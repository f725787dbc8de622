"""A counter-model in full: constants of the columns' types that keep every CHECK, or what stands in the way."""

from __future__ import annotations

from fractions import Fraction

from penstock.analysis.implication.models import Row
from penstock.analysis.implication.realise import Realised, realise
from penstock.explain.reason_words import told
from tests.analysis.implication.scripts import Two


def realised(two: Two, goal: str, *rows: Row) -> Realised | object:
    return realise(two.streams, two.shapes, two.declared(), two.rule(goal), rows)


def row(a: object, time: int = 0, b: object = "b", period: int = 0) -> Row:
    return Row(0, (a, b), Fraction(time), Fraction(period))


def test_equal_terms_get_one_value_and_others_other_ones() -> None:
    made = realised(Two(), "PRIMARY KEY (a) ON r", row("x", 0), row("x", 5))
    assert isinstance(made, Realised)
    assert len(made.rows) == 2


def test_values_keep_the_checks() -> None:
    made = realised(Two(r="CHECK (a > 41 AND a < 43)"), "PRIMARY KEY (a) ON r", row("x", 0), row("x", 5))
    assert isinstance(made, Realised)
    assert all("42" in told for told in map(str, made.rows))


def test_a_column_with_too_few_values_stands_in_the_way() -> None:
    made = realised(Two(r="CHECK (b = 1)"), "STREAM KEY (a) SPANS r ON r", row("x", 0, "p"), row("x", 5, "q"))
    assert not isinstance(made, Realised)


def test_an_order_of_arrival_that_no_row_keeps_stands_in_the_way() -> None:
    two = Two(r="CLUSTERED BY a")
    made = realised(two, "PRIMARY KEY (a) ON r", row("x", 0, period=1), row("y", 0, period=1))
    assert not isinstance(made, Realised)


def test_endless_rows_are_said_to_be_endless() -> None:
    made = realised(Two(), "PRIMARY KEY (a) ON r", row("x", 0, period=3))
    assert isinstance(made, Realised)
    assert "again every" in told(made.rows[0])
