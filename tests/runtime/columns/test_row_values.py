"""Rows compared as DISTINCT compares them, against Python's own equality of nested values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.columns.row_values import null_safe_equal, numbers, row_hashes, same_values

NAN = float("nan")
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "integers": (pa.int64(), [1, 2, 1, None, None, -(2**63), 2**63 - 1]),
    "doubles": (pa.float64(), [0.0, -0.0, NAN, NAN, None, 1.5, None]),
    "strings": (pa.string(), ["", "a", None, "a", "\0", "a\0", None]),
    "lists": (pa.list_(pa.int64()), [[], None, [1, 2], [2, 1], [1, 2], [None], [1], [None, None]]),
    "structs": (
        pa.struct([("x", pa.int64()), ("y", pa.string())]),
        [{"x": 1, "y": None}, {"x": 1, "y": ""}, None, {"x": None, "y": None}, {"x": 1, "y": None}, None],
    ),
    "maps": (
        pa.map_(pa.string(), pa.int64()),
        [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2), ("b", 1)], [], None, [("a", None)]],
    ),
    "lists of lists": (pa.list_(pa.list_(pa.string())), [[["a"], ["b"]], [["a", "b"]], [[], ["a", "b"]], [["a", "b"]]]),
    "nulls": (pa.null(), [None, None]),
}


def known(value: Any) -> Any:
    """A value that Python compares as Spark groups it."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return value + 0.0
        case dict():
            return ("struct", *((name, known(field)) for name, field in value.items()))
        case list() if value and isinstance(value[0], tuple):
            return ("map", *sorted((key, known(entry)) for key, entry in value))
        case list():
            return ("list", *map(known, value))
    return value


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_and_hashes_agree_where_values_are_equal(name: str) -> None:
    kind, values = COLUMNS[name]
    column = pa.array(values, kind)
    numbered, hashed = numbers(column).tolist(), row_hashes(pa.table({"c": column})).tolist()
    for left, first in enumerate(values):
        for right, second in enumerate(values):
            is_equal = known(first) == known(second)
            assert (numbered[left] == numbered[right]) == is_equal, (first, second)
            if is_equal:
                assert hashed[left] == hashed[right], (first, second)


@pytest.mark.parametrize("name", COLUMNS)
def test_each_way_to_compare_two_columns_says_the_same(name: str) -> None:
    kind, values = COLUMNS[name]
    left, right = pa.array(values, kind), pa.array([*values[1:], values[0]], kind)
    expected = [known(a) == known(b) for a, b in zip(values, [*values[1:], values[0]], strict=True)]
    assert same_values(left, right).tolist() == expected
    assert null_safe_equal(left, right).tolist() == expected


@given(st.lists(st.lists(st.none() | st.integers(0, 2), max_size=3) | st.none(), min_size=1, max_size=12))
def test_lists_of_any_length(values: list[Any]) -> None:
    found = numbers(pa.array(values, pa.list_(pa.int64()))).tolist()
    assert [found.index(n) for n in found] == [values.index(v) for v in values]


def test_no_rows() -> None:
    for kind, _ in COLUMNS.values():
        empty = pa.array([], kind)
        assert len(numbers(empty)) == len(same_values(empty, empty)) == 0


def test_a_sliced_column_is_read_from_where_it_begins() -> None:
    kind, values = COLUMNS["lists"]
    whole = pa.array(values, kind)
    hashed = row_hashes(pa.table({"c": whole}))
    assert (row_hashes(pa.table({"c": whole.slice(2)})) == hashed[2:]).all()
    assert len(np.unique(hashed)) == len({str(v) for v in values})
