"""Measures: what many values come to, through columns and back, whatever their type; NULL counts for nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.plan.aggregate import Fold
from penstock.runtime.group.measures import (
    Extremes,
    Numbers,
    among_absent,
    column_names,
    from_columns,
    measured,
    numbers_of,
)
from penstock.runtime.group.numbering import grouped

KINDS = [pa.int64(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(30, 2)]
DECLARED = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.decimal128(9, 2): "DECIMAL(9,2)"}


@pytest.mark.parametrize("fold", list(Fold))
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_measure_goes_through_columns_and_back(fold: Fold, kind: Any) -> None:
    values = pa.array([1, None, -3], kind)
    made = measured(fold, values, by=values)
    columns = made.columns("m")
    assert set(columns) == set(column_names(fold, "m", numbers_of(DECLARED.get(kind, "DECIMAL(30,2)"))))
    again = from_columns(fold, columns, "m")
    assert {n: c.to_pylist() for n, c in again.columns("m").items()} == {n: c.to_pylist() for n, c in columns.items()}


def test_how_a_type_is_summed_up() -> None:
    assert numbers_of("BIGINT") is numbers_of("decimal(18,2)") is numbers_of(None) is Numbers.EXACT
    assert numbers_of("DECIMAL(19,0)") is Numbers.WIDE
    assert numbers_of("float") is numbers_of("DOUBLE") is Numbers.FLOAT


@pytest.mark.parametrize(
    ("values", "least", "greatest"),
    [
        (pa.array([2, None, -(2**63), 2**63 - 1]), -(2**63), 2**63 - 1),
        (pa.array(["b", None, "", "ba"]), "", "ba"),
        (pa.array([None, None, None, None], pa.string()), None, None),
        (
            pa.array([Decimal(1), None, Decimal("1e30"), Decimal(-5)], pa.decimal128(38, 2)),
            Decimal(-5),
            Decimal("1e30"),
        ),
    ],
)
def test_extremes_of_a_group(values: Any, least: Any, greatest: Any) -> None:
    one = grouped([], 4)
    assert measured(Fold.MIN, values).summed(one).values.to_pylist() == [least]  # type: ignore[union-attr]
    assert measured(Fold.MAX, values).summed(one).values.to_pylist() == [greatest]  # type: ignore[union-attr]


def test_nan_is_the_greatest_number() -> None:
    values = pa.array([1.0, float("nan"), float("inf")])
    assert str(measured(Fold.MAX, values).summed(grouped([], 3)).values[0]) == "nan"  # type: ignore[union-attr]
    assert measured(Fold.MIN, values).summed(grouped([], 3)).values.to_pylist() == [1.0]  # type: ignore[union-attr]


def test_an_extreme_gives_way_only_to_one_further_out() -> None:
    own = Extremes(pa.array([5, None, 7]), greatest=True)
    more = Extremes(pa.array([6, 1, None]), greatest=True)
    assert own.plus(np.array([0, 1, 2]), more).values.to_pylist() == [6, 1, 7]
    assert own.scaled(np.array([9, 9, 9])) is own


def test_weights_count_a_value_so_often() -> None:
    made = measured(Fold.SUM, pa.array([5, None]), np.array([3, 4]))
    assert made.held.tolist() == [3, 0]  # type: ignore[union-attr]
    assert made.words.tolist() == [15, 0]  # type: ignore[union-attr]


def test_absent_rows_are_null() -> None:
    assert among_absent(pa.array([1, 2]), np.array([False, True, True])).to_pylist() == [None, 1, 2]
    assert among_absent(pa.array([], pa.int64()), np.array([False])).to_pylist() == [None]
