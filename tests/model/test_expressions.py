"""What is read of an expression when it is bound: its term, and what follows from the term.

What the sets of functions claim is asked of Spark itself in tests/spark/test_functions.py.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.model.expressions import UNREAD, Call, Cast, ColumnRef, Literal, Term, is_random, is_strict, parts_of
from penstock.model.predicates import Bound, NoneOf, NullTest, OneOf, Op, Opaque, rejects_null
from penstock.model.spans import Span, Unit
from penstock.model.types import DataType, Kind
from tests.analysis.build import condition, derived_column

A, B = ColumnRef("", "a"), ColumnRef("", "b")


def term(text: str) -> Term:
    return derived_column(text, "a", "b").term


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a", A),
        ("(( `A` ))", A),
        ("-3", Literal(-3)),
        ("2.50", Literal(Decimal("2.50"))),
        ("1e3", Cast(Literal(Decimal(1000)), DataType.of(Kind.DOUBLE))),
        ("'x'", Literal("x")),
        ("TRUE", Literal(True)),
        ("NULL", Literal(None)),
        ("INTERVAL 5 MINUTES", Literal(Span(Decimal(5), Unit.MINUTE))),
        ("a + b * 2", Call("+", (A, Call("*", (B, Literal(2)))))),
        ("a = 1 AND (b AND a <> b)", Call("and", (Call("=", (A, Literal(1))), B, Call("<>", (A, B))))),
        ("CAST(a AS INT)", Cast(A, DataType.of(Kind.INT))),
        ("a::DECIMAL(4, 2)", Cast(A, DataType.decimal(4, 2))),
        ("Timestamp_Millis(a)", None),
        ("LCASE(a)", Call("lcase", (A,))),
        ("my_own(a, 3)", Call("my_own", (A, Literal(3)))),
        ("a IS NULL", Call("is null", (A,))),
        ("a IS NOT NULL", Call("is not null", (A,))),
        ("a IN (1, b)", Call("in", (A, Literal(1), B))),
    ],
)
def test_an_expression_is_read_as_a_term(text: str, read: Term | None) -> None:
    found = term(text)
    if read is None:
        assert isinstance(found, Call)
        assert (found.function, found.arguments[0]) == ("timestamp_millis", A)
    else:
        assert found == read


def test_of_date_trunc_the_time_comes_first() -> None:
    found = term("date_trunc('DAY', a)")
    assert isinstance(found, Call)
    assert (found.function, found.arguments[0]) == ("date_trunc", A)


def test_what_nests_too_deep_is_not_read_and_its_columns_are_kept() -> None:
    found = derived_column("a" + " + 1" * 150, "a")
    assert any(part == Call(UNREAD, (A,)) for part in parts_of(found.term))
    assert found.columns == (A,)
    assert not found.deterministic


def test_a_long_chain_is_one_call() -> None:
    found = term(" OR ".join(f"a = {n}" for n in range(150)))
    assert isinstance(found, Call)
    assert (found.function, len(found.arguments)) == ("or", 150)


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ("a + b", True),
        ("lower(upper(a))", True),
        ("CASE WHEN a > 1 THEN b ELSE 0 END", True),
        ("coalesce(a, b)", True),
        ("timestamp_millis(a)", True),
        ("ltrim(a) LIKE 'x!%' ESCAPE '!'", True),
        ("from_utc_timestamp(a, 'Asia/Tokyo')", True),
        ("a << 2", True),
        ("rand()", False),
        ("my_own(a)", False),
        ("current_timestamp()", False),
        ("lower(uuid())", False),
    ],
)
def test_an_expression_is_deterministic_only_where_all_its_functions_are_known_to_be(text: str, is_sure: bool) -> None:
    assert derived_column(text, "a", "b").deterministic is is_sure


def test_functions_that_give_another_value_each_time_are_known_but_not_in_a_text() -> None:
    assert is_random(term("a + RAND(3)"))
    assert not is_random(term("concat('rand()', a)"))


@pytest.mark.parametrize(
    ("text", "is_certain"),
    [
        ("a + b > 3", True),
        ("NOT (lower(a) LIKE 'x%')", True),
        ("a IN (1, 2)", True),
        ("1 IN (a, 1)", False),
        ("coalesce(a, 1) = 1", False),
        ("a IS NULL", False),
        ("a <=> 3", False),
        ("a > 1 OR b > 1", False),
        ("CASE WHEN a > 1 THEN 1 END = 1", False),
        ("greatest(a, b) > 1", False),
        ("my_own(a) = 1", False),
    ],
)
def test_a_condition_is_strict_only_where_every_null_makes_it_unknown(text: str, is_certain: bool) -> None:
    assert is_strict(term(text)) is is_certain


def test_what_says_that_a_column_is_or_is_not_one_of_some_constants_is_a_predicate_of_its_own() -> None:
    assert isinstance(condition("a <> 3", "a"), NoneOf)
    assert isinstance(condition("3 != a", "a"), NoneOf)
    assert condition("NOT (a = 3)", "a") == condition("a <> 3", "a")
    assert condition("NOT a IN (3, 4)", "a") == condition("a NOT IN (3, 4)", "a")
    assert isinstance(condition("a IN (3)", "a"), OneOf)
    assert condition("a NOT IN (3, b)", "a", "b").columns == (A, B)
    assert isinstance(condition("a NOT IN (3, b)", "a", "b"), Opaque)


def test_null_tests_are_predicates_of_their_own() -> None:
    assert condition("a IS NULL", "a") == NullTest(A, is_null=True)
    assert condition("( a ) is  not\n null", "a") == NullTest(A, is_null=False)
    assert isinstance(condition("a + 1 IS NULL", "a"), Opaque)
    assert not rejects_null(NullTest(A, is_null=True))
    assert rejects_null(NullTest(A, is_null=False))


def test_a_plain_comparison_stays_what_it_was() -> None:
    found = condition("a > 3", "a")
    assert isinstance(found, Bound)
    assert found.op is Op.GT
