"""Codes keep equality and order, for every type that has them, at the ends of its range; sets of ids are sets."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.columns.codes import (
    DAY_TICKS,
    INT64,
    codes,
    compared,
    is_coded,
    is_none_of,
    ordinal,
    places_in,
    same,
    stable_order,
    ticks,
    union,
)

UTC = dt.UTC
ASCENDING: dict[str, tuple[Any, list[Any]]] = {
    "tinyint": (pa.int8(), [-128, -1, 0, 127]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "boolean": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [
            dt.datetime(1, 1, 1, tzinfo=UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
            dt.datetime(2026, 1, 1, tzinfo=UTC),
        ],
    ),
    "decimal": (
        pa.decimal128(18, 4),
        [Decimal("-99999999999999.9999"), Decimal("-0.0001"), Decimal(0), Decimal("1.5")],
    ),
    "double": (pa.float64(), [-np.inf, -1.5, -5e-324, 0.0, 5e-324, 2.0, np.inf, np.nan]),
    "float": (pa.float32(), [-np.inf, -1.5, 0.0, 1.5, np.inf, np.nan]),
}


@pytest.mark.parametrize("name", ASCENDING)
def test_codes_rise_as_the_values_do(name: str) -> None:
    kind, values = ASCENDING[name]
    assert is_coded(kind)
    found = codes(pa.array(values, kind))
    assert found.dtype == np.int64
    assert (found[1:] > found[:-1]).all()


@pytest.mark.parametrize("name", ASCENDING)
def test_a_null_is_0_and_disturbs_no_neighbour(name: str) -> None:
    kind, values = ASCENDING[name]
    whole = codes(pa.array(values, kind))
    holed = codes(pa.array([None, *values, None], kind))
    assert holed[0] == 0
    assert holed[-1] == 0
    assert holed[1:-1].tolist() == whole.tolist()


@pytest.mark.parametrize("name", ASCENDING)
def test_a_slice_and_chunks_have_the_codes_of_the_whole(name: str) -> None:
    kind, values = ASCENDING[name]
    array = pa.array(values, kind)
    whole = codes(array).tolist()
    assert codes(array.slice(1)).tolist() == whole[1:]
    assert codes(pa.chunked_array([array.slice(0, 1), array.slice(1)])).tolist() == whole


def test_minus_zero_is_zero_and_every_nan_is_one() -> None:
    quiet, other = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    found = codes(pa.array([-0.0, 0.0, quiet, other, -quiet], pa.float64()))
    assert found[0] == found[1]
    assert len(set(found[2:].tolist())) == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.decimal128(19, 0)], ids=str)
def test_strings_bytes_and_wide_decimals_have_none(kind: Any) -> None:
    assert not is_coded(kind)


def test_days_are_ticks_and_the_furthest_do_not_wrap_round() -> None:
    days = pa.array([0, 1, -1, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())
    found = ticks(days).tolist()
    assert found[:3] == [0, DAY_TICKS, -DAY_TICKS]
    assert found[3] > DAY_TICKS
    assert found[4] < -DAY_TICKS
    assert ticks(pa.array([7, -7], pa.int64())).tolist() == [7, -7]


def test_null_equals_nothing() -> None:
    assert same(pa.array(["a", None, "b"]), pa.array(["a", None, "c"])).tolist() == [True, False, False]


@given(st.lists(st.lists(st.integers(0, 60) | st.integers(0, 10**9), unique=True).map(sorted)))
def test_a_union_of_ids_is_their_set_in_order(pieces: list[list[int]]) -> None:
    found = union([np.array(piece, np.int64) for piece in pieces])
    assert found.tolist() == sorted({number for piece in pieces for number in piece})


def test_constants_of_a_plan_are_read_by_the_type_of_their_column() -> None:
    assert ordinal("1.25", pa.decimal128(10, 2)) == 125
    assert ordinal("1970-01-01 00:00:01", pa.timestamp("us")) == 1_000_000
    assert ordinal("-5", pa.int64()) == -5
    assert ordinal(str(10**30), pa.int64()) == INT64.max
    assert ordinal(str(-(10**30)), pa.int64()) == INT64.min


def test_a_comparison_with_a_constant_is_false_for_null() -> None:
    numbers = pa.array([1, None, 3], pa.int32())
    assert compared(pc.less, numbers, "2").tolist() == [True, False, False]
    words = pa.array(["a", None, "c"])
    assert compared(pc.greater, words, "b").tolist() == [False, False, True]
    wide = pa.array([Decimal(1), None, Decimal(3)], pa.decimal128(30, 2))
    assert compared(pc.equal, wide, "3").tolist() == [False, False, True]


def test_none_of_the_constants() -> None:
    assert is_none_of(pa.array([1, 2, None, 4], pa.int64()), ("2", "4")).tolist() == [True, False, False, False]
    assert is_none_of(pa.array(["x", "y", None]), ("y",)).tolist() == [True, False, False]
    assert is_none_of(pa.array([1], pa.int64()), ()).tolist() == [True]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=40))
def test_the_stable_order_is_that_of_a_stable_sort(values: list[int]) -> None:
    numbers = np.array(values, np.int64)
    assert stable_order(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


@given(st.sets(st.integers(0, 30) | st.integers(0, 10**9), min_size=1), st.data())
def test_places_are_those_of_a_search(values: set[int], data: st.DataObject) -> None:
    ids = np.array(sorted(values), np.int64)
    asked = np.array(data.draw(st.lists(st.sampled_from(sorted(values)))), np.int64)
    assert places_in(ids, asked).tolist() == np.searchsorted(ids, asked).tolist()
