"""Ranges of a key's rows against loops, pieces that follow each other, and limits at the ends of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.predicates import Op
from penstock.runtime.columns.codes import INT64
from penstock.runtime.match.key_ranges import KeyRanges, joined, limits, most_pairs, pieces

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=20)
ASKED = st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 4), st.integers(-4, 4)), max_size=8)


@given(ROWS, ASKED, st.integers(0, 5))
def test_what_lies_in_a_range_of_a_key(rows: Any, asked: Any, most: int) -> None:
    key, values = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    keys, low, high = (np.array([one[n] for one in asked], np.int64) for n in range(3))
    ranges = KeyRanges(key, values)
    left, right = joined(pieces(*ranges.between(keys, low, high), most))
    told = sorted(zip(left.tolist(), ranges.order[right].tolist(), strict=True))
    wanted = [
        (place, row)
        for place, (k, least, largest) in enumerate(asked)
        for row, (own, value) in enumerate(rows)
        if own == k and least <= value <= largest
    ]
    assert told == wanted


@given(ROWS, ASKED, st.booleans())
def test_all_rows_of_a_key(rows: Any, asked: Any, has_values: bool) -> None:
    key, values = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    keys = np.array([one[0] for one in asked], np.int64)
    ranges = KeyRanges(key, values if has_values else None)
    left, right = joined(pieces(*ranges.all_of(keys), 1))
    told = sorted(zip(left.tolist(), ranges.order[right].tolist(), strict=True))
    assert told == [(p, r) for p, (k, _, _) in enumerate(asked) for r, (own, _) in enumerate(rows) if own == k]


@given(st.lists(st.integers(0, 6), max_size=12), st.integers(0, 10))
def test_a_piece_is_no_larger_than_asked_unless_one_range_is(counts: list[int], most: int) -> None:
    end = np.cumsum(np.array(counts, np.int64))
    begin = end - np.array(counts, np.int64)
    found = list(pieces(begin, end, most))
    assert [n for _, right in found for n in right.tolist()] == list(range(sum(counts)))
    assert [p for left, _ in found for p in left.tolist()] == np.repeat(np.arange(len(counts)), counts).tolist()
    for left, _ in found:
        assert len(left) <= most or len(set(left.tolist())) == 1


def test_the_room_for_pairs_follows_the_rows() -> None:
    assert most_pairs(0) == most_pairs(100_000) == 1_000_000
    assert most_pairs(10_000_000) == 80_000_000


EDGES = st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1])


@given(st.lists(st.tuples(st.sampled_from(list(Op)), EDGES, EDGES), max_size=3), EDGES)
def test_limits_are_what_the_conditions_say_without_wrapping(conditions: Any, value: int) -> None:
    low, high = limits([(op, np.array([other]), ticks) for op, other, ticks in conditions], 1)
    compare = {Op.EQ: int.__eq__, Op.LT: int.__lt__, Op.LE: int.__le__, Op.GT: int.__gt__, Op.GE: int.__ge__}
    holds = all(compare[op](value, other + ticks) for op, other, ticks in conditions)
    assert (int(low[0]) <= value <= int(high[0])) == holds


def test_no_condition_is_no_limit() -> None:
    low, high = limits([], 2)
    assert (low == INT64.min).all()
    assert (high == INT64.max).all()
