"""Aggregates from measures, with the types and the rules of Spark SQL, against Python's decimals and statistics."""

from __future__ import annotations

import statistics
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.plan.aggregate import AggregateColumn, Fold
from penstock.runtime.group.finals import final_values, percentiles, sum_type
from penstock.runtime.group.measures import measured
from penstock.runtime.group.numbering import grouped


def column(function: str, kind: str) -> AggregateColumn:
    return AggregateColumn("c", f"{function}(x)", function, False, None, "x", None, kind)


def final(function: str, declared: str, values: Any) -> Any:
    fold = {"count": Fold.COUNT, "sum": Fold.SUM, "avg": Fold.SUM, "min": Fold.MIN, "max": Fold.MAX}[function]
    return final_values(column(function, declared), measured(fold, values).summed(grouped([], len(values))))


@pytest.mark.parametrize(
    ("function", "declared", "kind"),
    [
        ("sum", "INT", "BIGINT"),
        ("avg", "BIGINT", "DOUBLE"),
        ("sum", "FLOAT", "DOUBLE"),
        ("sum", "DECIMAL(9,2)", "DECIMAL(19,2)"),
        ("sum", "DECIMAL(38,2)", "DECIMAL(38,2)"),
        ("avg", "DECIMAL(9,2)", "DECIMAL(13,6)"),
    ],
)
def test_types_are_sparks(function: str, declared: str, kind: str) -> None:
    assert sum_type(column(function, declared)) == kind


@pytest.mark.parametrize("function", ["sum", "avg", "min", "max"])
def test_of_no_values_all_but_count_is_null(function: str) -> None:
    assert final(function, "BIGINT", pa.array([None, None], pa.int64())).to_pylist() == [None]
    assert final("count", "BIGINT", pa.array([None, None], pa.int64())).to_pylist() == [0]


@pytest.mark.parametrize("digits", [18, 30])
@given(values=st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=30))
def test_sums_and_means_of_decimals_are_exact_and_rounded_half_up(digits: int, values: list[int]) -> None:
    with localcontext() as exact:
        exact.prec = 60
        given_values = [Decimal(v).scaleb(-2) for v in values]
        array = pa.array(given_values, pa.decimal128(digits, 2))
        total = sum(given_values, Decimal(0))
        assert final("sum", f"DECIMAL({digits},2)", array).to_pylist() == [total]
        mean = (total / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        assert final("avg", f"DECIMAL({digits},2)", array).to_pylist() == [mean]


def test_a_sum_beyond_its_type_is_an_error_and_not_a_wrong_number() -> None:
    with pytest.raises(DataError, match="beyond BIGINT"):
        final("sum", "BIGINT", pa.array([2**63 - 1, 1]))
    assert final("sum", "BIGINT", pa.array([2**63 - 1, 1, -1])).to_pylist() == [2**63 - 1]
    wide = pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))
    with pytest.raises(DataError, match="beyond DECIMAL"):
        final("sum", "DECIMAL(38,0)", wide)


def test_a_mean_of_integers_beyond_the_range_of_their_sum() -> None:
    assert final("avg", "BIGINT", pa.array([2**63 - 1, 2**63 - 1])).to_pylist() == [float(2**63)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), st.integers(1, 3)), max_size=15))
def test_medians_of_values_that_stand_so_often(rows: list[tuple[int, int, int]]) -> None:
    place, values, count = (np.array([row[n] for row in rows], np.int64) for n in range(3))
    found = percentiles(4, place, pa.array(values), count, 0.5).to_pylist()
    for group in range(4):
        held = [value for own, value, often in rows if own == group for _ in range(often)]
        assert found[group] == (statistics.median(held) if held else None)
