"""Groups are numbered as they first come, and two rows share one iff Spark would group them together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.group.numbering import grouped

ROWS = st.lists(st.tuples(st.none() | st.integers(-2, 2), st.none() | st.sampled_from(["", "a", "b"])), max_size=30)


@given(ROWS)
def test_numbers_are_given_in_the_order_of_first_rows(rows: list[Any]) -> None:
    columns = [pa.array([a for a, _ in rows], pa.int64()), pa.array([b for _, b in rows], pa.string())]
    found = grouped(columns, len(rows))
    distinct = list(dict.fromkeys(rows))
    assert found.of.tolist() == [distinct.index(row) for row in rows]
    assert found.first.tolist() == [rows.index(row) for row in distinct]
    assert found.count == len(distinct)


def test_without_columns_all_rows_are_one_group_and_no_rows_are_none() -> None:
    assert grouped([], 3).of.tolist() == [0, 0, 0]
    assert grouped([], 0).count == 0
    assert grouped([pa.array([], pa.int64())], 0).count == 0


def test_floats_group_as_spark_groups_them() -> None:
    nan = float("nan")
    assert grouped([pa.array([0.0, -0.0, nan, nan, None])], 5).of.tolist() == [0, 0, 1, 1, 2]


def test_many_columns_of_many_values_do_not_wrap_round() -> None:
    chance = np.random.default_rng(1)
    columns = [chance.integers(-(2**63), 2**63 - 1, 2000) for _ in range(6)]
    assert grouped(columns, 2000).count == 2000


def test_nested_values_are_told_apart() -> None:
    assert grouped([pa.array([[1], [], [1], None])], 4).of.tolist() == [0, 1, 0, 2]
