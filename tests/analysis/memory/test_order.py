"""What conditions say of the order of columns: against all small assignments of whole numbers."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.facts.values import Interval
from penstock.analysis.memory.order import conflicting
from penstock.model.predicates import Bound
from tests.analysis.memory.queries import order, reading, ref

NAMES = ("s.a", "s.b", "r.a", "r.b")
OPS = {"<": int.__lt__, "<=": int.__le__, "=": int.__eq__, ">": int.__gt__, ">=": int.__ge__}
CONDITION = st.tuples(st.sampled_from(NAMES), st.sampled_from(sorted(OPS)), st.sampled_from(NAMES)).filter(
    lambda c: c[0] != c[2]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(CONDITION, min_size=1, max_size=4, unique=True))
def test_order_and_equality_against_all_small_assignments(conditions: list[tuple[str, str, str]]) -> None:
    where = " AND ".join(" ".join(condition) for condition in conditions)
    found = order(f"SELECT s.a, s.b, r.a AS ra, r.b AS rb FROM s, r WHERE {where}")
    solutions = [
        values
        for values in (dict(zip(NAMES, row, strict=True)) for row in product(range(4), repeat=4))
        if all(OPS[op](values[x], values[y]) for x, op, y in conditions)
    ]
    assert found.holds == bool(solutions)
    for x, y in product(NAMES, repeat=2) if solutions else ():
        if found.below(ref(x), ref(y)):
            assert all(v[x] <= v[y] for v in solutions)
        else:
            assert any(v[x] > v[y] for v in solutions)
        assert found.strictly_below(ref(x), ref(y)) == (all(v[x] < v[y] for v in solutions))


def test_constants_pass_along_comparisons() -> None:
    found = order("SELECT s.a, r.a AS ra FROM s, r WHERE s.a > 5 AND s.a < r.a AND r.a < 9")
    assert found.reach(ref("s.a")) == Interval(6, 7)
    assert found.reach(ref("r.a")) == Interval(7, 8)
    assert found.values(ref("s.a")) == 2
    assert found.endless(ref("s.a")) == ()


def test_a_column_without_a_limit_is_endless() -> None:
    found = order("SELECT s.a FROM s WHERE s.a > 5")
    assert found.endless(ref("s.a"))
    assert found.values(ref("s.a")) is None


@pytest.mark.parametrize(("text", "follows"), [("s.a > 4", True), ("s.a > 5", True), ("s.a > 6", False)])
def test_what_follows_of_constants(text: str, follows: bool) -> None:
    asked = reading(f"SELECT s.a FROM s WHERE {text}").conditions[0].predicate
    assert isinstance(asked, Bound)
    assert order("SELECT s.a FROM s WHERE s.a > 5").implies(asked) is follows


def test_conditions_that_cannot_all_hold_are_named_without_the_rest() -> None:
    found = conflicting(reading("SELECT s.a FROM s WHERE s.a > 5 AND s.b = 1 AND s.a < 3"))
    assert {c.text for c in found} == {"s.a > 5", "s.a < 3"}
