"""A queue of rows: they come at the end, leave at the front, and are never changed in between.

Columns are numpy arrays with room to grow: to append costs what is appended, to drop costs nothing, and a row is moved
about once in its life. What `column` gave stays as it was: rows are written behind it or elsewhere, never into it.

In the store a queue is a few pieces, each written once under the number of its first row. A save writes what came since
the last one and removes what has left; neighbours of like size are taken together (`tiers.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import flat
from penstock.runtime.state.store import EntryReader, EntryWriter, from_ipc, to_ipc
from penstock.runtime.state.tiers import to_merge

_LEAST_ROOM = 64
_MERGE_BELOW = 1 << 16
"""Rows from which on a piece is taken together with no neighbour."""


class Queue:
    """Rows by number, from `first` on. Columns hold whole numbers, or values of one other type."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.first = 0
        """The number of the first row: so many have left."""
        self._data: dict[str, Any] = {name: np.zeros(0, np.int64) for name in names}
        self._start = self._end = 0
        self._pieces: list[tuple[int, int]] = []
        """What is in the store: from which row on, up to which."""

    def __len__(self) -> int:
        return self._end - self._start

    def column(self, name: str) -> Any:
        """The values of a column, not to be written to."""
        return self._data[name][self._start : self._end]

    def append(self, **columns: Any) -> None:
        """Let rows come."""
        size = len(columns[self.names[0]])
        if not size:
            return
        end = self._end + size
        for name in self.names:
            if end > len(self._data[name]) or self._data[name].dtype != columns[name].dtype:
                self._move(size, columns)
                end = self._end + size
                break
        for name in self.names:
            self._data[name][self._end : end] = columns[name]
        self._end = end

    def _move(self, size: int, columns: dict[str, Any]) -> None:
        """Make room for more rows: twice what there will be."""
        live = len(self)
        for name in self.names:
            kind = columns[name].dtype if not live else self._data[name].dtype
            moved = np.empty(max(_LEAST_ROOM, 2 * (live + size)), kind)
            moved[:live] = self.column(name)
            self._data[name] = moved
        self._start, self._end = 0, live

    def drop(self, count: int) -> None:
        """Let the first rows leave."""
        self._start += count
        self.first += count

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that are there."""
        return sum(int(self.column(name).nbytes) for name in self.names)

    def write(self, name: str, to: EntryWriter) -> list[Any]:
        """See Table; gives the number of the first row, and the pieces."""
        end = self.first + len(self)
        kept = [piece for piece in self._pieces if piece[1] > self.first]
        to.delete += [_entry(name, piece) for piece in self._pieces if piece[1] <= self.first]
        done = kept[-1][1] if kept else self.first
        if end > done:
            kept.append((done, end))
            while count := to_merge([piece[1] - piece[0] for piece in kept], _MERGE_BELOW):
                to.delete += [_entry(name, piece) for piece in kept[-count:-1]]
                kept[-count:] = [(max(kept[-count][0], self.first), end)]
            new = kept[-1]
            # A piece that begins where one did takes its place.
            to.delete = [key for key in to.delete if key != _entry(name, new)]
            rows = slice(self._start + new[0] - self.first, self._end)
            to.put[_entry(name, new)] = to_ipc(pa.table({n: as_arrow(self._data[n][rows]) for n in self.names}))
        self._pieces = kept
        return [self.first, kept]

    def read(self, name: str, told: Any, source: EntryReader) -> None:
        """See Table."""
        self.first, pieces = told
        self._pieces = [(begin, end) for begin, end in pieces]
        tables = [from_ipc(source.take(_entry(name, piece))) for piece in self._pieces]
        begins = self._pieces[0][0] if self._pieces else self.first
        for column in self.names:
            parts = [as_numpy(flat(table.column(column))) for table in tables]
            self._data[column] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
            self._end = len(self._data[column])
        self._start = self.first - begins


def _entry(name: str, piece: tuple[int, int]) -> str:
    return f"{name}/{piece[0]:018d}"


def as_arrow(values: Any) -> Any:
    """Numbers, or values of one other type, as Arrow holds them."""
    return pa.array(values) if values.dtype == np.int64 else pa.array(values.tolist())


def as_numpy(column: Any) -> Any:
    """What `as_arrow` made a column of."""
    if pa.types.is_int64(column.type):
        return column.to_numpy()
    found = np.empty(len(column), object)
    found[:] = column.to_pylist()
    return found
