"""Sums of ranges against loops, and limits of conditions at the ends of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.predicates import Op
from penstock.plan.aggregate import Fold
from penstock.runtime.columns.codes import INT64
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.measures import measured
from penstock.runtime.group.range_sums import RangeSums, limits

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(-4, 4), st.integers(-9, 9)), max_size=20)
ASKED = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), st.integers(-5, 5)), max_size=8)


@given(ROWS, ASKED)
def test_what_lies_in_a_range_of_each_lane(rows: Any, asked: Any) -> None:
    key, carried, times, values = (np.array([row[n] for row in rows], np.int64) for n in range(4))
    measures = {"m": measured(Fold.SUM, pa.array(values))}
    sums = RangeSums(Bag(key, {"c": pa.array(carried)}, np.ones(len(rows), np.int64), measures), key, times)
    wanted_keys, low, high = (np.array([one[n] for one in asked], np.int64) for n in range(3))
    place, found = sums.between(wanted_keys, low, high)
    told = {
        (p, c): (n, s)
        for p, c, n, s in zip(
            place.tolist(),
            found.columns["c"].to_pylist(),
            found.count.tolist(),
            found.measures["m"].words.tolist(),  # type: ignore[union-attr]
            strict=True,
        )
    }
    wanted: dict[Any, tuple[int, int]] = {}
    for p, (k, least, most) in enumerate(asked):
        for own, c, time, value in rows:
            if own == k and least <= time <= most:
                count, total = wanted.get((p, c), (0, 0))
                wanted[p, c] = (count + 1, total + value)
    assert told == wanted
    assert (np.diff(found.owner) >= 0).all()


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
