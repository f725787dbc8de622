"""The closure of equalities, against Warshall's algorithm over the pairs as written."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Equalities, Op
from tests.analysis.build import ref, where

COLUMNS = [ref(f"{alias}.{column}") for alias in "abc" for column in "xy"]

comparisons = st.builds(Comparison, st.sampled_from(COLUMNS), st.sampled_from(Op), st.sampled_from(COLUMNS))


def _closed_by_warshall(written: list[Comparison]) -> set[tuple[ColumnRef, ColumnRef]]:
    equal = {(c, c) for c in COLUMNS}
    for comparison in written:
        if comparison.op is Op.EQ:
            equal |= {(comparison.left, comparison.right), (comparison.right, comparison.left)}
    for middle, left, right in product(COLUMNS, repeat=3):
        if (left, middle) in equal and (middle, right) in equal:
            equal.add((left, right))
    return equal


@given(st.lists(comparisons, max_size=8))
def test_two_columns_are_equal_iff_a_chain_of_equalities_says_so(written: list[Comparison]) -> None:
    closed = Equalities.of(written)
    expected = _closed_by_warshall(written)
    for left, right in product(COLUMNS, repeat=2):
        assert closed.equal(left, right) == ((left, right) in expected)
        assert (right in closed.class_of(left)) == ((left, right) in expected)


@given(st.lists(comparisons, max_size=8))
def test_the_order_of_the_predicates_does_not_matter(written: list[Comparison]) -> None:
    shuffled = sorted(written, key=str, reverse=True)
    assert Equalities.of(written) == Equalities.of(shuffled)


def test_only_equalities_between_columns_count() -> None:
    closed = Equalities.of([where("a.x = b.x"), where("b.x <= c.x"), where("a.y = 3"), where("c.y = a.x + 5")])
    assert closed.classes == ((ref("a.x"), ref("b.x")),)
    assert closed.class_of(ref("c.x")) == (ref("c.x"),)
