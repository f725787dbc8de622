"""Which aggregates count duplicates, are holistic, or have one value in a group."""

from __future__ import annotations

import pytest

from penstock.analysis.memory.aggregates import counts_duplicates, has_one_value_in_a_group, is_holistic
from penstock.analysis.memory.order import Order
from tests.analysis.memory.queries import reading, ref


@pytest.mark.parametrize(
    ("aggregate", "holistic", "counts"),
    [
        ("count(*)", False, True),
        ("sum(s.a)", False, True),
        ("max(s.a)", False, False),
        ("count(DISTINCT s.a)", True, False),
        ("median(s.a)", True, True),
    ],
)
def test_what_an_aggregate_needs(aggregate: str, holistic: bool, counts: bool) -> None:
    read = reading(f"SELECT {aggregate} AS x FROM s, r WHERE s.b = r.b")
    (found,) = read.aggregates
    assert is_holistic(found) is holistic
    assert counts_duplicates(found, read, Order(read)) is counts


def test_a_column_that_equals_one_of_the_group_has_one_value_in_it() -> None:
    read = reading("SELECT s.a, max(r.a) AS m FROM s, r WHERE s.a = r.a AND r.b > 0 GROUP BY s.a")
    assert has_one_value_in_a_group(ref("r.a"), read, Order(read))
    assert not has_one_value_in_a_group(ref("r.b"), read, Order(read))
