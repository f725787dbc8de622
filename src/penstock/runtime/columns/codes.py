"""Columns as numbers: codes that keep equality and order, ticks of event time, sets of ids.

A **coded** type maps one to one, order kept, onto int64: integers, booleans, dates, timestamps, decimals of up to 18
digits, and floats as Spark compares them (NaN equals itself and is the largest, -0.0 equals 0.0). Strings, binaries
and wide decimals have none, and are hashed instead (`hashing.py`). NULLs become 0: callers drop rows whose NULL matters
before they ask.

The constants of a plan are texts (plan/merge_plan.py): a string as it is, anything else a code; a TIMESTAMP that is no
code yet is one of UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.merge_plan import is_code

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Ordinal = int | str | bytes | Decimal
"""A value in the order of its column: a code, or the value itself where the type is not coded."""

DAY_TICKS = 86_400_000_000
INT64 = np.iinfo(np.int64)
_NAN_CODE = np.array([np.nan]).view(np.int64)[0]
_SIGN_TO_ORDER = np.int64(0x7FFFFFFFFFFFFFFF)


@cache
def is_coded(kind: Any) -> bool:
    """Whether codes exist for the type."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
        or pa.types.is_floating(kind)
        or (pa.types.is_decimal(kind) and kind.precision <= 18)
    )


@cache
def is_plain(kind: Any) -> bool:
    """Whether the type is of whole numbers or floats, which numpy holds as Arrow does."""
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def flat(column: Any) -> Any:
    """One contiguous Arrow array."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def codes(column: Any) -> Ints:
    """The codes of a column of a coded type."""
    array = flat(column)
    kind = array.type
    if pa.types.is_int64(kind) and not array.null_count:
        found: Ints = array.to_numpy()
        return found
    if pa.types.is_floating(kind):
        return _float_codes(array)
    if pa.types.is_decimal(kind):
        return np.ascontiguousarray(decimal_words(array)[:, 0])
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif pa.types.is_date64(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_date(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, 0)
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)  # type: ignore[no-any-return]


def ticks(column: Any) -> Ints:
    """Event times or other points of a clock as ticks: microseconds, or the bare integer."""
    found = codes(column)
    if not pa.types.is_date(column.type):
        return found
    reach = INT64.max // DAY_TICKS
    return np.clip(found, -reach, reach) * DAY_TICKS


def _float_codes(array: Any) -> Ints:
    values = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0
    bits: Ints = np.where(np.isnan(values), _NAN_CODE, values.view(np.int64))
    return np.where(bits < 0, bits ^ _SIGN_TO_ORDER, bits)


def decimal_words(array: Any) -> npt.NDArray[np.int64]:
    """Decimals as whole numbers of 128 bits, the low word first; 0 for NULL."""
    wide = array.cast(pa.decimal128(38, array.type.scale))
    words = np.frombuffer(wide.buffers()[1], dtype=np.int64).reshape(-1, 2)[wide.offset : wide.offset + len(wide)]
    if wide.null_count:
        words = np.where(_valid(wide)[:, None], words, 0)
    return words


def _valid(array: Any) -> Bools:
    return array.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def same(left: Any, right: Any) -> Bools:
    """Whether values at the same place are equal; for types that are not coded. NULL equals nothing."""
    equal = pc.equal(left, right)
    if equal.null_count:
        equal = pc.fill_null(equal, False)
    return equal.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


_SIGNED_BITS = 63


def empty_ids() -> Ints:
    """No rows."""
    return np.zeros(0, np.int64)


def union(pieces: Sequence[Ints]) -> Ints:
    """The ids of all pieces, each once, ascending. By a mask where they lie close together, else by sorting."""
    filled = sorted((piece for piece in pieces if len(piece)), key=lambda piece: int(piece[0]))
    if not filled:
        return empty_ids()
    every = np.concatenate(filled) if len(filled) > 1 else filled[0]
    if (every[1:] > every[:-1]).all():
        return every
    low = int(every.min())
    reach = int(every.max()) - low + 1
    if reach <= 8 * len(every):
        mask = np.zeros(reach, np.bool_)
        mask[every - low] = True
        found: Ints = np.flatnonzero(mask) + low
        return found
    ordered = np.sort(every, kind="stable")
    new: Bools = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def places_in(ids: Ints, asked: Ints) -> Ints:
    """Where each asked id stands among ascending ids, which hold all of them. By a table where they lie close."""
    if not len(asked):
        return empty_ids()
    low, reach = int(ids[0]), int(ids[-1] - ids[0]) + 1
    if reach > 8 * len(asked):
        return np.searchsorted(ids, asked)
    place = np.zeros(reach, np.int64)
    place[ids - low] = np.arange(len(ids))
    return place[asked - low]


def stable_order(values: Ints) -> Ints:
    """The places of numbers in ascending order, of equal ones in their own.

    Where a number and its place fit into 63 bits, they are sorted as one: numpy sorts numbers several times as fast as
    it finds the order of them.
    """
    bits = len(values).bit_length()
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if (high - low).bit_length() + bits > _SIGNED_BITS:
        return np.argsort(values, kind="stable")
    with_places = ((values - low) << bits) | np.arange(len(values))
    with_places.sort()
    return with_places & ((1 << bits) - 1)


def ordinal(text: str, kind: Any) -> int:
    """A text of the plan as a code; whole numbers beyond the type lie at its end."""
    if pa.types.is_decimal(kind):
        code = int(Decimal(text).scaleb(kind.scale))
    elif pa.types.is_timestamp(kind) and not is_code(text):
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
        code = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    else:
        code = int(text)
    return max(min(code, int(INT64.max)), int(INT64.min))


def _is_null(values: Any) -> Bools:
    return values.is_null().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def compared(op: Any, values: Any, text: str) -> Bools:
    """Each value against a text of the plan; false for NULL."""
    if is_coded(values.type):
        held = op(pa.array(codes(values)), ordinal(text, values.type)).to_numpy(zero_copy_only=False)
        return held & ~_is_null(values)  # type: ignore[no-any-return]
    constant = pa.scalar(Decimal(text), values.type) if pa.types.is_decimal(values.type) else text
    return pc.fill_null(op(values, constant), False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def is_none_of(values: Any, texts: tuple[str, ...]) -> Bools:
    """Which values are none of those of the plan; NULL is not asked."""
    found: Bools = ~_is_null(values)
    if is_coded(values.type):
        return found & ~np.isin(codes(values), [ordinal(text, values.type) for text in texts])
    for text in texts:
        found &= ~compared(pc.equal, values, text)
    return found
