"""From measures to the values of aggregates, with the types and the rules of Spark SQL.

count is a BIGINT; sum of integers a BIGINT, beyond which it is an error as in Spark's ANSI mode; sum of DECIMAL(p, s) a
DECIMAL(p + 10, s), its mean a DECIMAL(p + 4, s + 4) rounded half up; any other mean, sum and every percentile a DOUBLE.
All but counts are NULL where there is no value, and lists are empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DataError
from penstock.model.types import digits_of
from penstock.plan.aggregate import AggregateColumn
from penstock.runtime.columns.codes import Bools, Ints, codes, is_coded
from penstock.runtime.columns.row_values import ranks
from penstock.runtime.group.measures import Extremes, Measured, Numbers, numbers_of
from penstock.runtime.group.moments import Moments, variances
from penstock.runtime.group.picked import Picked
from penstock.runtime.group.totals import PART_BITS, WITHOUT_END, Totals, WideTotals, true_sums

_MOST_DIGITS = 38


def sum_type(column: AggregateColumn) -> str:
    """The type of a sum or a mean, as Spark writes it."""
    decimal = digits_of(column.type or "")
    if decimal is not None:
        digits, scale = decimal
        more = (digits + 10, scale) if column.function == "sum" else (digits + 4, scale + 4)
        return f"DECIMAL({min(_MOST_DIGITS, more[0])},{min(_MOST_DIGITS, more[1])})"
    return "DOUBLE" if column.function == "avg" or numbers_of(column.type) is Numbers.FLOAT else "BIGINT"


def no_sums(column: AggregateColumn, size: int) -> Any:
    """The sums or means of so many groups that have no value."""
    kind = sum_type(column)
    digits = digits_of(kind)
    plain = pa.float64() if kind == "DOUBLE" else pa.int64()
    return pa.nulls(size, plain if digits is None else pa.decimal128(*digits))


def final_values(column: AggregateColumn, measure: Measured) -> Any:
    """The values of an aggregate that is worked out from a measure."""
    if isinstance(measure, Extremes | Picked):
        return measure.values
    if isinstance(measure, Moments):
        of_sample, is_root = column.function.endswith("_samp"), column.function.startswith("stddev")
        return variances(measure, of_sample=of_sample, is_root=is_root)
    if isinstance(measure, WideTotals) and column.function != "count":
        return _wide_values(column, measure)
    match column.function:
        case "count":
            return pa.array(measure.held)
        case "sum":
            assert isinstance(measure, Totals)
            return _sums(column, measure)
        case _:
            assert isinstance(measure, Totals)
            return _means(column, measure)


def _wide_values(column: AggregateColumn, totals: WideTotals) -> Any:
    """Sums and means of wide decimals. One number for each group that is given, so Python's own will do."""
    decimal = digits_of(column.type or "")
    assert decimal is not None
    whole: Any = np.zeros(len(totals), object)
    for place, part in enumerate(totals.parts):
        low, high = true_sums(part)
        whole = whole + (high.astype(object) * 2**64 + low.view(np.uint64).astype(object)) * 2 ** (PART_BITS * place)
    empty: Bools = totals.held == 0
    kind = digits_of(sum_type(column))
    assert kind is not None
    if column.function == "avg":
        counts = np.where(empty, 1, totals.held).astype(object)
        # Half up, away from zero.
        halves = 2 * abs(whole) * 10 ** (kind[1] - decimal[1]) + counts
        whole = np.where(whole < 0, -1, 1).astype(object) * (halves // (2 * counts))
    if (abs(whole) >= 10 ** kind[0]).any():
        raise DataError(f"{column.text} of a group is beyond {sum_type(column)}", hint="sum up a DOUBLE instead")
    low_words, high_words = (whole & (2**64 - 1)).astype(np.uint64).view(np.int64), (whole >> 64).astype(np.int64)
    return _decimals(low_words, high_words, empty, kind[1]).cast(pa.decimal128(*kind))


def _sums(column: AggregateColumn, totals: Totals) -> Any:
    empty: Bools = totals.held == 0
    if totals.words is None:
        return pa.array(totals.floats, mask=empty)
    decimal = digits_of(column.type or "")
    low, high = true_sums(totals)
    if decimal is not None:
        digits = min(_MOST_DIGITS, decimal[0] + 10)
        return _decimals(low, high, empty, decimal[1]).cast(pa.decimal128(digits, decimal[1]))
    if (high != np.where(low < 0, -1, 0)).any():
        raise DataError(f"{column.text} of a group is beyond BIGINT", hint="sum up a DECIMAL or a DOUBLE instead")
    return pa.array(low, mask=empty)


def _means(column: AggregateColumn, totals: Totals) -> Any:
    empty: Bools = totals.held == 0
    decimal = digits_of(column.type or "")
    assert totals.floats is not None
    if totals.words is None:
        return pa.array(totals.floats / np.where(empty, 1, totals.held), mask=empty)
    low, high = true_sums(totals)
    if decimal is None:
        sums = np.where(high == np.where(low < 0, -1, 0), low.astype(np.float64), totals.floats)
        return pa.array(sums / np.where(empty, 1, totals.held), mask=empty)
    digits, scale = min(_MOST_DIGITS, decimal[0] + 4), decimal[1] + 4
    counts = pa.array(np.where(empty, 1, totals.held)).cast(pa.decimal256(19, 0))
    exact = pc.divide(_decimals(low, high, empty, decimal[1]).cast(pa.decimal256(38, decimal[1])), counts)
    return pc.round(exact, scale, "half_towards_infinity").cast(pa.decimal128(digits, scale), safe=False)


def _decimals(low: Ints, high: Ints, empty: Bools, scale: int) -> Any:
    """128-bit numbers as decimals; NULL where there is none."""
    words = np.stack([low, high], axis=1)
    data = pa.py_buffer(np.ascontiguousarray(words).tobytes())
    valid = pa.array(~empty).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(_MOST_DIGITS, scale), len(low), [valid, data])


@WITHOUT_END
def percentiles(size: int, place: Ints, values: Any, count: Ints, share: float) -> Any:
    """Below what a share of each of `size` groups lies: `values` stand in the group of their place, each so often.

    Between two values it lies as far as the share does between their places, as in Spark; the median is of one half.
    """
    if not len(place):
        return pa.nulls(size, pa.float64())
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    order = np.lexsort((codes(values) if is_coded(values.type) else codes(pa.array(numbers)), place))
    place, numbers, count = place[order], numbers[order], count[order]
    upto = np.cumsum(count)
    totals = np.zeros(size, np.int64)
    np.add.at(totals, place, count)
    before = np.cumsum(totals) - totals
    found = []
    wanted = np.maximum(totals - 1, 0) * share
    for near in (np.floor(wanted), np.ceil(wanted)):
        at = np.searchsorted(upto, before + near.astype(np.int64), "right")
        found.append(numbers[np.minimum(at, len(numbers) - 1)])
    low, high = found
    # As Spark does, so that the mean of two large numbers does not overflow.
    between = (np.ceil(wanted) - wanted) * low + (wanted - np.floor(wanted)) * high
    is_one: Bools = (low == high) | (np.floor(wanted) == np.ceil(wanted))
    return pa.array(np.where(is_one, low, between), mask=totals == 0)


def lists(size: int, place: Ints, values: Any, count: Ints) -> Any:
    """The values of each of `size` groups as a list, each so often, in their order; of what has none, by a hash."""
    if not len(place):
        return pa.ListArray.from_arrays(pa.array(np.zeros(size + 1, np.int32)), pa.nulls(0))
    order = np.lexsort((ranks(values), place))
    chosen = np.repeat(order, count[order])
    ends = np.cumsum(np.bincount(place[chosen], minlength=size))
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(chosen)))
