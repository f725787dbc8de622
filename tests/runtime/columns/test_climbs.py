"""Climbs against a loop over the values; they stand where a column rose above everything before it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.columns.climbs import NO_CLIMBS, Climbs
from penstock.runtime.columns.codes import INT64


def climbs_of(values: list[int]) -> list[tuple[int, int]]:
    """Where a list rises above all before it."""
    return [(v, n) for n, v in enumerate(values) if all(v > earlier for earlier in values[:n])]


def made(pairs: list[tuple[int, int]]) -> Climbs:
    return Climbs.of([v for v, _ in pairs], [n for _, n in pairs])


@given(st.lists(st.integers(-20, 20)), st.lists(st.integers(-20, 20)))
def test_what_rises_above_all_earlier_climbs_is_what_rises_in_both_together(
    first: list[int], second: list[int]
) -> None:
    together = climbs_of([*first, *second])
    later = made(climbs_of(second)).above(made(climbs_of(first)))
    assert [(v, n + len(first)) for v, n in later.told()] == [pair for pair in together if pair[1] >= len(first)]


def test_an_equal_value_is_no_climb() -> None:
    assert made([(5, 0)]).above(made([(5, 9)])).told() == []
    assert made([(5, 0), (6, 4)]).above(made([(5, 9)])).told() == [(6, 4)]


def test_nothing_rises_above_nothing() -> None:
    assert NO_CLIMBS.above(NO_CLIMBS) == NO_CLIMBS
    assert made([(1, 0)]).above(NO_CLIMBS).told() == [(1, 0)]
    assert len(NO_CLIMBS.above(made([(1, 0)]))) == 0


def test_whole_numbers_beyond_64_bits_are_held_at_the_end_of_the_range() -> None:
    held = Climbs.of([-(2**70), 0, 2**70], [0, 1, 2])
    assert held.values.dtype == np.int64
    assert [held.value(place) for place in range(3)] == [INT64.min, 0, INT64.max]


def test_values_without_codes_stay_what_they_are() -> None:
    words = Climbs.of(["a", "ab", "b"], [0, 3, 4])
    assert words.above(Climbs.of(["aa"], [1])).told() == [("ab", 3), ("b", 4)]
    wide = Climbs.of([Decimal("1.5"), Decimal("1e30")], [0, 1])
    assert wide.value(1) == Decimal("1e30")
    assert words != wide
