"""Stored rows for tests of single modules: a synopsis made of plain lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis

Columns = Mapping[str, Sequence[Any]]


def stored(old: Columns, fresh: Columns | None = None, marks: Sequence[str] = ()) -> Synopsis:
    """Old rows, and those of a running batch; the ids are their places, the old ones first. Text is a string column."""
    synopsis = Synopsis(tuple(old))
    first = len(next(iter(old.values())))
    if first:
        synopsis.begin(_segment(old, 0, marks))
        synopsis.finish()
    if fresh is not None and len(next(iter(fresh.values()))):
        synopsis.begin(_segment(fresh, first, marks))
    return synopsis


def _segment(columns: Columns, first: int, marks: Sequence[str]) -> Segment:
    size = len(next(iter(columns.values())))
    table = pa.table({name: _array(values) for name, values in columns.items()})
    unmarked = {name: np.zeros(size, np.bool_) for name in marks}
    return Segment(
        table, np.arange(first, first + size), np.full(size, int(first > 0)), np.ones(size, np.bool_), unmarked
    )


def _array(values: Sequence[Any]) -> Any:
    return pa.array(values, pa.string() if any(isinstance(v, str) for v in values) else pa.int64())
