"""What rows take in Arrow columns, row by row: what a budget in bytes must know before a row is taken in.

Rows stand in tables that are merged and rewritten later, so what one takes is bounded, not measured: a column may come
to have a validity bitmap, which is a bit for each row, and each table has a few bytes of its own. `most` is never below
what a row adds, `least` never above it, and `table_most` never below what a table can become by merging and rewriting.
Arrays that Arrow views or dictionaries hold are not asked for: the engine keeps none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.columns.codes import Ints, flat
from penstock.runtime.state.segment import Segment

_STAMPS = 18
"""Beside its columns: when a row arrived, in which batch, whether it is alive and at home."""
_A_TABLE = 24
"""Of each column of a table, whatever its rows: the last offset, and bits that do not fill a byte."""
_WORD = 8


def most(columns: Iterable[Any], more: int = 0) -> Ints:
    """The most that each row takes, with so many more columns of a word or two each."""
    arrays = [flat(column) for column in columns]
    size = len(arrays[0]) if arrays else 1
    bits = sum(_leaves(array.type) for array in arrays) + more
    found = np.full(size, _STAMPS + 2 * _WORD * more + -(-bits // _WORD), np.int64)
    for array in arrays:
        found += _values(array, small=1)
    return found


def least(columns: Iterable[Any]) -> Ints:
    """What each row takes at least."""
    arrays = [flat(column) for column in columns]
    found = np.full(len(arrays[0]) if arrays else 1, _STAMPS, np.int64)
    for array in arrays:
        found += _values(array, small=0)
    return found


def table_most(segments: Iterable[Segment]) -> int:
    """The most that segments can take once they are merged and rewritten."""
    found = 0
    for segment in segments:
        leaves = sum(_leaves(field.type) for field in segment.table.schema)
        found += segment.nbytes() + leaves * (len(segment) // _WORD + 1)
    return found


def is_fixed(kind: Any) -> bool:
    """Whether every value of a type takes the same."""
    fixed = (pa.types.is_null, pa.types.is_boolean, pa.types.is_primitive, pa.types.is_decimal)
    return any(is_one(kind) for is_one in fixed)


def overhead(columns: int) -> int:
    """The bytes of one more table of so many columns, beside its rows."""
    return _A_TABLE * columns


def _leaves(kind: Any) -> int:
    """The arrays that a column is made of."""
    return 1 + sum(_leaves(kind.field(n).type) for n in range(kind.num_fields))


def _values(array: Any, small: int) -> Ints:
    """The bytes of the values of an array, one by one; `small` is what one takes that is less than a byte."""
    kind, size = array.type, len(array)
    if pa.types.is_null(kind):
        return np.zeros(size, np.int64)
    if pa.types.is_boolean(kind):
        return np.full(size, small, np.int64)
    if pa.types.is_struct(kind):
        parts: Ints = np.sum([_values(array.field(n), small) for n in range(kind.num_fields)], axis=0, dtype=np.int64)
        return parts
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind)
    offset = _WORD if wide else _WORD // 2
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        inner = np.concatenate([[0], np.cumsum(_inner(array, small))])
        ends = np.cumsum(_lengths(array))
        return offset + inner[ends] - inner[ends - _lengths(array)]  # type: ignore[no-any-return]
    if is_fixed(kind) or pa.types.is_fixed_size_binary(kind):
        return np.full(size, kind.bit_width // _WORD, np.int64)
    return offset + pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def _inner(array: Any, small: int) -> Ints:
    """The bytes of the elements of lists or maps, in order."""
    if pa.types.is_map(array.type):
        # Rows that are NULL have no elements in either.
        return _values(_present(array).keys, small) + _values(_present(array).items, small)
    return _values(array.flatten(), small)


def _lengths(array: Any) -> Ints:
    if pa.types.is_map(array.type):
        offsets = np.asarray(array.offsets)
        return np.where(array.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    return pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def _present(array: Any) -> Any:
    """The maps that are not NULL, as an array that begins at its first element."""
    return pa.concat_arrays([array.filter(array.is_valid())])
