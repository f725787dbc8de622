"""Groups are numbered as they first come, and two rows share one iff Spark would group them together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.group.numbering import grouped, grouped_by_hashes

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


@given(ROWS, st.integers(1, 6))
def test_rows_that_share_a_hash_are_told_apart_by_their_values(rows: list[Any], hashes: int) -> None:
    columns = [pa.array([a for a, _ in rows], pa.int64()), pa.array([b for _, b in rows], pa.string())]
    keys = np.array([hash(row) % hashes for row in rows], np.uint64)
    found = grouped_by_hashes(keys, lambda places: [column.take(pa.array(places)) for column in columns])
    whole = grouped(columns, len(rows))
    assert found.of.tolist() == whole.of.tolist()
    assert found.first.tolist() == whole.first.tolist()


def test_columns_are_not_looked_at_where_all_hashes_differ() -> None:
    def refuse(places: Any) -> Any:
        raise AssertionError(places)

    assert grouped_by_hashes(np.arange(5, dtype=np.uint64), refuse).of.tolist() == [0, 1, 2, 3, 4]
    assert grouped_by_hashes(np.zeros(0, np.uint64), refuse).count == 0
