"""Columns that repeat, as they are stored: texts of few values as a dictionary, one number for all rows as a run.

A stored column is read as a whole where it matches or closes; of all others, rows are picked out for results. What is
picked out of a dictionary is decoded row by row, so the column itself never is. Arrow's own encodings, so a file of
state holds them as they are mapped. Numbers stay plain: they are as small as the indices of a dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.columns.codes import Ints, flat

_LOOKED_AT = 1024
"""Rows by which it is seen whether a dictionary would be in vain."""
_REPEATED = 4
"""How often each value is to stand on average for a dictionary to be worth it."""


def encoded(column: Any) -> Any:
    """A column of text or bytes of few values as a dictionary; any other as it is."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)) or not _repeats(column.slice(0, _LOOKED_AT)):
        return column
    found = flat(column).dictionary_encode()
    return found if _REPEATED * len(found.dictionary) <= len(found) else column


def _repeats(some: Any) -> bool:
    return bool(_REPEATED * pc.count_distinct(some, mode="all").as_py() <= len(some))


def plain(column: Any) -> Any:
    """The values of a column, encoded or not, as one Arrow array."""
    array = flat(column)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def plain_table(table: Any) -> Any:
    """A table without dictionaries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, plain(table.column(place)))
    return table


def one_run(numbers: Ints) -> Ints:
    """Numbers as one that stands for all, where they are all the same; not to be written to."""
    if len(numbers) < _REPEATED or not (numbers == numbers[0]).all():
        return numbers
    return np.broadcast_to(np.int64(numbers[0]), len(numbers))


def held_bytes(numbers: Ints) -> int:
    """The bytes that numbers take."""
    return int(numbers.itemsize if numbers.strides == (0,) else numbers.nbytes)


def as_column(numbers: Ints) -> Any:
    """Numbers as Arrow stores them."""
    if not len(numbers) or numbers.strides != (0,):
        return pa.array(numbers)
    ends, value = pa.array([len(numbers)], pa.int32()), pa.array(numbers[:1])
    return pa.RunEndEncodedArray.from_arrays(ends, value)


def from_column(column: Any) -> Ints:
    """The numbers of a column that `as_column` made, or of a plain one."""
    array = flat(column)
    is_run = pa.types.is_run_end_encoded(array.type)
    found: Ints = (
        np.broadcast_to(np.int64(array.values[0].as_py()), len(array))
        if is_run
        else array.to_numpy(zero_copy_only=False)
    )
    return found
