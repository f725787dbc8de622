"""Rows by what they have in common: numbers that are equal iff the values are, from 0 without a gap.

Values are compared as Spark groups them: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0. By hashing, not sorting.
Where most rows have nothing in common with another, as rows with a key of their own, hashes alone say so: only rows
that share a hash are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Ints, codes, is_coded
from penstock.runtime.columns.hashing import Hashes, twins
from penstock.runtime.columns.row_values import is_plain, numbers


@dataclass(frozen=True)
class Groups:
    """For each row its group, and for each group its first row."""

    of: Ints
    first: Ints

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.first)


def grouped(columns: Sequence[Any], size: int) -> Groups:
    """The groups of `size` rows that agree on all columns, numbered as they first come."""
    found: Ints = np.zeros(size, np.int64)
    for column in columns if size else ():
        own = _dense(column) if isinstance(column, np.ndarray) else _numbered(column)
        found = _dense(found * (int(own.max()) + 1) + own) if found.any() else own
    count = int(found.max()) + 1 if size else 0
    first = np.empty(count, np.int64)
    first[found[::-1]] = np.arange(size - 1, -1, -1)
    return Groups(found, first)


def grouped_by_hashes(keys: Hashes, columns: Callable[[Ints], Sequence[Any]]) -> Groups:
    """The same of rows of which equal ones have equal hashes; `columns` gives those of the places that share one."""
    size = len(keys)
    places = twins(keys)
    everyone: Ints = np.arange(size)
    if not len(places):
        return Groups(everyone, everyone)
    if len(places) == size:
        return grouped(columns(everyone), size)
    some = grouped(columns(places), len(places))
    first = everyone.copy()
    first[places] = places[some.first[some.of]]
    begins = first == everyone
    return Groups((np.cumsum(begins) - 1)[first], np.flatnonzero(begins))


def _numbered(column: Any) -> Ints:
    kind = column.type
    if is_coded(kind):
        own = _dense(codes(column))
    elif is_plain(kind):
        own = _indices(column)
    else:
        own = _dense(numbers(column))
    if column.null_count:
        own = _dense(np.where(column.is_null().to_numpy(zero_copy_only=False), -1, own))
    return own


def _dense(values: Ints) -> Ints:
    """Numbers from 0 as the values first come."""
    return _indices(pa.array(values))


def _indices(column: Any) -> Ints:
    found: Ints = codes(column.dictionary_encode().indices)
    return found
