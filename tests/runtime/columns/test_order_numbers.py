"""Numbers in the order of a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import INT64
from penstock.runtime.columns.order_numbers import ranks, ticks_below


def test_a_distance_beyond_the_range_is_held_at_its_end() -> None:
    far = ticks_below(np.array([INT64.max]), np.array([INT64.min], np.int64), 1)
    assert far.tolist() == [INT64.max]
    assert ticks_below(np.array([5]), np.array([9], np.int64), 7).tolist() == [0]
    assert ticks_below(np.array([9]), np.array([5], np.int64), 7).tolist() == [28]


def test_ranks_are_in_the_order_of_the_values_and_equal_where_they_are() -> None:
    assert ranks(pa.array(["b", "a", "c", "a"])).tolist() == [2, 1, 3, 1]
