"""Sums of ranges against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.aggregate import Fold
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.measures import measured
from penstock.runtime.group.range_sums import RangeSums

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
