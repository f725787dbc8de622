"""The evaluator of predicates beside SQLite's, which has the same three-valued logic and no code of ours."""

from __future__ import annotations

import datetime as dt
import sqlite3
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.facts.truth import Truth, passes, ticks_between, truth
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Difference, NoneOf, NullTest, OneOf, Op, Predicate
from penstock.model.spans import Span
from tests.analysis.build import condition
from tests.measure import size

A, B, T = ColumnRef("", "a"), ColumnRef("", "b"), ColumnRef("", "t")
_NUMBERS = st.integers(-2, 3)
_TEXTS = st.sampled_from(["", "x", "y"])


def _constant(value: int | str) -> Constant:
    return Constant(f"'{value}'" if isinstance(value, str) else str(value), value)


_OPS = st.sampled_from(list(Op))
_PREDICATES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Comparison, st.just(A), _OPS, st.just(B)),
    st.builds(Bound, st.just(A), _OPS, _NUMBERS.map(_constant)),
    st.builds(Bound, st.just(T), _OPS, _TEXTS.map(_constant)),
    st.builds(OneOf, st.just(A), st.lists(_NUMBERS.map(_constant), min_size=1, max_size=3).map(tuple)),
    st.builds(NoneOf, st.just(A), st.lists(_NUMBERS.map(_constant), min_size=1, max_size=3).map(tuple)),
    st.builds(NoneOf, st.just(T), st.lists(_TEXTS.map(_constant), min_size=1, max_size=3).map(tuple)),
    st.builds(NullTest, st.sampled_from([A, B, T]), st.booleans()),
    st.builds(Difference, st.just(A), st.just(B), _OPS, _NUMBERS.map(lambda n: Span(Decimal(n)))),
)


@settings(max_examples=size(400, 20_000), deadline=None)
@given(_PREDICATES, st.none() | _NUMBERS, st.none() | _NUMBERS, st.none() | _TEXTS)
def test_a_predicate_is_true_false_or_unknown_as_in_sql(
    predicate: Predicate, a: int | None, b: int | None, t: str | None
) -> None:
    connection = sqlite3.connect(":memory:")
    (said,) = connection.execute(f"SELECT {predicate} FROM (SELECT ? AS a, ? AS b, ? AS t)", (a, b, t)).fetchone()
    connection.close()
    expected = {None: Truth.UNKNOWN, 0: Truth.FALSE, 1: Truth.TRUE}[said]
    assert truth(predicate, {A: a, B: b, T: t}) is expected
    assert truth(predicate, {ref: v for ref, v in ((A, a), (B, b), (T, t)) if v is not None}) is expected
    assert passes(predicate, {A: a, B: b, T: t}) is (expected is Truth.TRUE)
    assert passes(predicate, {A: a, B: b, T: t}, is_check=True) is (expected is not Truth.FALSE)


def test_what_only_spark_evaluates_is_unread_unless_a_null_settles_it() -> None:
    assert truth(condition("abs(a) > 3", "a"), {A: 5}) is Truth.UNREAD
    assert truth(condition("abs(a) > 3", "a"), {}) is Truth.UNKNOWN
    assert truth(condition("coalesce(a, 5) > 3", "a"), {}) is Truth.UNREAD
    assert not passes(condition("coalesce(a, 5) > 3", "a"), {}, is_check=True)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, "1"),
        (True, 1),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_values_of_different_kinds_are_not_compared(left: object, right: object) -> None:
    assert truth(Comparison(A, Op.EQ, B), {A: left, B: right}) is Truth.UNREAD


def test_lengths_between_times_are_microseconds() -> None:
    assert ticks_between(dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 1)) == 86_400_000_000
    assert ticks_between(dt.date(2024, 1, 2), dt.date(2024, 1, 1)) == 86_400_000_000
    assert ticks_between(7, 9) == -2
    assert ticks_between("a", "b") is None
