"""Pieces become one by tiers: few of them at any time, and no row is written often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.state.tiers import FEW, to_merge


def test_few_of_like_size_become_one() -> None:
    assert to_merge([10] * (FEW - 1), 1000) == 0
    assert to_merge([10] * FEW, 1000) == FEW


def test_a_larger_one_before_them_stays() -> None:
    assert to_merge([21] + [10] * (FEW - 1), 1000) == 0
    assert to_merge([21] + [10] * FEW, 1000) == FEW
    assert to_merge([20] + [10] * (FEW - 1), 1000) == FEW


def test_large_ones_are_left_alone() -> None:
    assert to_merge([1000] * FEW, 1000) == 0
    assert to_merge([], 1000) == 0


@given(st.lists(st.integers(1, 1000), max_size=400))
def test_there_are_few_and_each_row_is_written_few_times(arriving: list[int]) -> None:
    most, pieces, rewritten = 1 << 14, list[int](), 0
    for size in arriving:
        pieces.append(size)
        while count := to_merge(pieces, most):
            rewritten += sum(pieces[-count:])
            pieces[-count:] = [sum(pieces[-count:])]
    # Behind a piece that is left there are fewer than FEW of its tier, and sizes at least halve from tier to tier.
    assert len([size for size in pieces if size < most]) <= FEW * 15
    assert rewritten <= 12 * sum(arriving)
