"""Sums are exact whatever they pass through: against Python's own whole numbers, over wraps of 64 bits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.totals import PART_BITS, Totals, in_parts, running_sums, true_sums

INT64 = st.integers(-(2**63), 2**63 - 1)


def totals(values: list[int]) -> Totals:
    words = np.array(values, np.int64)
    return Totals(words, words.astype(np.float64), np.ones(len(values), np.int64))


def exact(found: Totals) -> list[int]:
    low, high = true_sums(found)
    return [int(h) * 2**64 + int(word) % 2**64 for word, h in zip(low, high, strict=True)]


@given(st.lists(st.tuples(st.integers(0, 3), INT64), min_size=1, max_size=40), st.integers(1, 10**6))
def test_sums_by_group_are_exact_however_often_they_wrap(rows: list[tuple[int, int]], times: int) -> None:
    groups = grouped([pa.array([g for g, _ in rows])], len(rows))
    found = totals([v for _, v in rows]).scaled(np.full(len(rows), times)).summed(groups)
    wanted: dict[int, int] = {}
    for group, value in rows:
        wanted[group] = wanted.get(group, 0) + value * times
    assert exact(found) == list(wanted.values())
    assert found.held.tolist() == [times * sum(g == group for g, _ in rows) for group in wanted]


@given(st.lists(INT64, max_size=20), st.data())
def test_what_lies_between_two_places_is_a_difference_of_running_sums(values: list[int], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    found = totals(values).running().between(np.array([begin]), np.array([end]))
    assert exact(found) == [sum(values[begin:end])]
    assert running_sums(np.ones(3, np.int64)).tolist() == [0, 1, 2, 3]


def test_more_is_added_where_it_belongs_and_the_own_stays() -> None:
    own = totals([1, 2, 3])
    assert exact(own.plus(np.array([2, 0]), totals([10, 20]))) == [21, 2, 13]
    assert exact(own) == [1, 2, 3]
    assert exact(own.where(np.array([True, False, True, True]))) == [1, 0, 2, 3]


@pytest.mark.parametrize("text", ["0", "-1", "99999999999999999999999999999999999999", "-12345678901234567890123.45"])
def test_a_wide_decimal_is_the_sum_of_its_parts(text: str) -> None:
    value = Decimal(text)
    scale = max(0, -int(value.as_tuple().exponent))
    parts = in_parts(pa.array([value, None], pa.decimal128(38, scale)))
    whole = sum(int(part[0]) << (PART_BITS * n) for n, part in enumerate(parts))
    assert whole == int(value * 10**scale if scale else value)
    assert [int(part[1]) for part in parts] == [0, 0, 0]
