"""Whole rows compared as Spark's DISTINCT compares them, nested values included: a hash of each, and exact equality.

NULL equals NULL, NaN equals NaN, -0.0 equals 0.0, arrays compare element by element, structs field by field, maps
entry by entry in any order. Equality numbers the values of two columns together, level by level, so that two values
have one number iff they are equal: a list is then the bytes of its elements' numbers. Whole columns at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.columns.codes import Bools, Ints, codes, flat, is_coded
from penstock.runtime.columns.hashing import Hashes, combine, hashes, mix

_NULL = np.uint64(7)


def row_hashes(rows: Any) -> Hashes:
    """A hash of each row of a table; equal rows have equal hashes, in every process and on every run."""
    return combine([mix(_hashes(flat(rows.column(name)))) for name in rows.column_names])


def same_values(left: Any, right: Any) -> Bools:
    """Whether values at the same place are equal, NULLs among them."""
    both = numbers(pa.concat_arrays([flat(left), flat(right)]))
    found: Bools = both[: len(left)] == both[len(left) :]
    return found


def _hashes(array: Any) -> Hashes:
    kind = array.type
    if pa.types.is_struct(kind):
        found = combine([np.full(len(array), kind.num_fields, np.uint64), *map(_hashes, array.flatten())])
    elif _is_list(kind):
        lengths, elements = _elements(array)
        found = _summed(lengths, mix(_hashes(elements) + mix(_within(lengths).astype(np.uint64))))
    elif pa.types.is_map(kind):
        lengths, entries = _entries(array)
        found = _summed(lengths, mix(combine([_hashes(entries[0]), _hashes(entries[1])])))
    elif pa.types.is_null(kind):
        return np.full(len(array), _NULL)
    else:
        found = hashes(array)
    return np.where(_nulls(array), _NULL, found)


def _summed(lengths: Ints, parts: Hashes) -> Hashes:
    running = np.zeros(len(parts) + 1, np.uint64)
    np.cumsum(parts, out=running[1:])
    ends = np.cumsum(lengths)
    return mix(running[ends] - running[ends - lengths] + lengths.astype(np.uint64))


def numbers(array: Any) -> Ints:
    """Numbers that are equal iff the values are; NULL has one of its own."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        found = np.zeros(len(array), np.int64)
        for field in array.flatten():
            found = _dense(np.stack([found, numbers(field)], axis=1))
    elif _is_list(kind):
        lengths, elements = _elements(array)
        found = _of_bytes(lengths, numbers(elements))
    elif pa.types.is_map(kind):
        lengths, (keys, values) = _entries(array)
        pairs = np.stack([numbers(keys), numbers(values)], axis=1)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        found = _of_bytes(lengths, _dense(pairs)[np.lexsort((pairs[:, 0], owner))])
    elif is_coded(kind):
        found = _dense(codes(array)[:, None])
    else:
        found = codes(array.dictionary_encode().indices)
    return np.where(_nulls(array), -1, found)


def _dense(columns: Any) -> Ints:
    """Rows of numbers as one number each."""
    if len(columns) == 0:
        return np.zeros(0, np.int64)
    _, inverse = np.unique(columns, axis=0, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64)


def _of_bytes(lengths: Ints, numbers: Ints) -> Ints:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) * 8
    data = pa.py_buffer(np.ascontiguousarray(numbers).tobytes())
    lists = pa.Array.from_buffers(pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets.tobytes()), data])
    return codes(lists.dictionary_encode().indices)


def _is_list(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def _elements(array: Any) -> tuple[Ints, Any]:
    """The length of each list, and all elements one after the other."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return codes(lengths), flat(pc.list_flatten(array))


def _entries(array: Any) -> tuple[Ints, tuple[Any, Any]]:
    """The number of entries of each map, and all keys and values one after the other."""
    inner = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
    lengths, entries = _elements(array.cast(pa.list_(inner)))
    keys, values = entries.flatten()
    return lengths, (keys, values)


def _within(lengths: Ints) -> Ints:
    """The place of each element in its list."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)


def is_plain(kind: Any) -> bool:
    """Whether Arrow compares values of the type itself."""
    bytes_like = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return is_coded(kind) or pa.types.is_decimal(kind) or any(test(kind) for test in bytes_like)


def ranks(array: Any) -> Ints:
    """Numbers in the order of the values, comparable among these; NULLs anywhere. Of what has no order, by a hash."""
    kind = array.type
    if is_coded(kind):
        return codes(array)
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)  # Of a stream of which no row has come.
    if not is_plain(kind):
        return _hashes(flat(array)).view(np.int64)
    ranked = pc.rank(array, sort_keys="ascending", tiebreaker="dense")
    found: Ints = ranked.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def null_safe_equal(left: Any, right: Any) -> Bools:
    """Whether values at the same place are equal as Spark groups them, NULLs among them."""
    if not is_plain(left.type):
        return same_values(left, right)
    equal = pc.fill_null(pc.equal(left, right), False)
    both_null = pc.and_(left.is_null(), right.is_null())
    if pa.types.is_floating(left.type):
        both_nan = pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False)
        equal = pc.or_(equal, both_nan)
    return pc.or_(equal, both_null).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _nulls(array: Any) -> Bools:
    found: Bools = array.is_null().to_numpy(zero_copy_only=False)
    return found
