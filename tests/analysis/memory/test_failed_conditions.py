"""Which of the three conditions fails, for which rows, on the smallest queries that tell them apart."""

from __future__ import annotations

import pytest

from penstock.analysis.memory.failed_conditions import (
    compared_in_one_stretch,
    edges_of,
    equal_and_endless,
    extremes_in_conflict,
)
from penstock.analysis.memory.order import Order
from tests.analysis.memory.queries import order, reading

ONE = "CHECK (a IN (1, 2))"


def test_comparisons_between_sources_each_once() -> None:
    found = edges_of(reading("SELECT s.b FROM s, r WHERE s.a < r.a AND r.b >= s.b AND s.a = r.b"))
    assert [(str(e.low), str(e.high)) for e in found] == [("s.a", "r.a"), ("s.b", "r.b")]


def test_an_equality_of_endless_columns_fails_and_of_few_values_does_not() -> None:
    select = "SELECT DISTINCT s.b FROM s, r WHERE s.a = r.a"
    (failed,) = equal_and_endless(reading(select), order(select))
    assert failed.condition == "C2"
    assert set(failed.barred) == {"s", "r"}
    assert list(equal_and_endless(reading(select, ONE), order(select, ONE))) == []


@pytest.mark.parametrize(
    ("where", "fails"),
    [("s.a < r.a", True), ("s.a < r.a AND r.a < 5 AND s.a > 0", False), ("s.a < r.a AND s.a < 0 AND r.a > 9", False)],
)
def test_a_comparison_within_one_endless_stretch(where: str, fails: bool) -> None:
    select = f"SELECT s.b FROM s, r WHERE {where}"
    read = reading(select)
    assert bool(list(compared_in_one_stretch(edges_of(read), Order(read)))) is fails


def test_two_extremes_of_one_kind_are_in_conflict() -> None:
    both = reading("SELECT DISTINCT 1 AS one FROM s, r WHERE s.a < r.a AND s.b < r.b")
    one = reading("SELECT DISTINCT 1 AS one FROM s, r WHERE s.a < r.a")
    assert list(extremes_in_conflict(both, edges_of(both), Order(both)))
    assert list(extremes_in_conflict(one, edges_of(one), Order(one))) == []
