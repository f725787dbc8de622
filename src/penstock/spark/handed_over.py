"""Large tables on their way from one worker to another of the same machine: by a file, of which Spark moves the name.

What is packed goes from a Python worker to the JVM, through its shuffle, its sort and its rows back to another worker:
each byte is copied some eight times. Where both workers are on one machine the bytes are written once, into a file that
the other one maps; Spark moves where they stand (`run`, name, place, size), which is all that it shuffles and sorts.

A file has the name of its batch. It is not removed by who reads it, since a task may be done again, but by who packs
for a later batch: when that begins, all tasks of the ones before have ended. What is left goes with the run's caches.
Where no file can be written, the bytes go the other way.

Only for `penstock run` on `local[…]`. There the files live as long as Spark's own shuffle files, for as long as the
process, and a run that goes on after a crash reads its batch anew. Of a DataFrame somebody else may start several
queries, of which one ends first, or keep a batch and ask for it later.
"""

from __future__ import annotations

import mmap
import os
import struct
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.runtime.state.store import ipc_size, to_ipc, to_ipc_column, write_ipc
from penstock.spark.private_folder import mapped_file, opened, remove_file

BATCH, _QUERY = "streaming.sql.batchId", "sql.streaming.queryId"
"""The properties by which Spark tells a task its batch, and which query that is of."""
_FOLDER = "handed"
_LEAST = 1 << 18
"""Bytes below which a table goes with the row: a file costs as much as moving so many."""
_SIGN = b"PSF1"
"""How the place of a table begins, where an Arrow stream has four bytes of ones."""
_PLACE = struct.Struct("<qq")
CAN_BE = hasattr(os, "posix_fallocate")
"""Whether room for a file can be had before it is mapped: not on macOS."""


@dataclass(frozen=True)
class HandedOver:
    """The files of one running query on this machine."""

    root: str
    """The folder of all caches, as the driver knows it: to a worker that starts later the temporary folder, where the
    disk is full, may be another one."""
    run: str

    def column(self, values: Sequence[Any]) -> Any:
        """What `to_ipc_column` gives, with the places of large tables instead of their bytes."""
        large = [number for number, value in enumerate(values) if isinstance(value, pa.Table) and value.nbytes > _LEAST]
        if not large:
            self._remove_what_ended()
            return to_ipc_column(values)
        try:
            places = self._written([values[number] for number in large])
        except OSError:
            return to_ipc_column(values)
        shown = list(values)
        for number, place in zip(large, places, strict=True):
            shown[number] = place
        return to_ipc_column(shown)

    def payload(self, table: Any) -> bytes:
        """What `to_ipc` gives, or the place of a large table."""
        if table.nbytes > _LEAST:
            with suppress(OSError):
                return self._written([table])[0]
        return to_ipc(table)

    def _written(self, tables: Sequence[Any]) -> list[bytes]:
        """The place of each table, all in one new file."""
        query, batch = _asked_by()
        name = f"{batch:012d}-{uuid.uuid4().hex}"
        ends = np.cumsum([ipc_size(table) for table in tables]).tolist()
        with opened(Path(self.root), self.run, _FOLDER, query, create=True) as folder:
            _remove_before(folder, batch)
            how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(name, how, 0o600, dir_fd=folder)
            try:
                # Of a file with holes a full disk would be found by a signal.
                os.posix_fallocate(file, 0, ends[-1])
                with mmap.mmap(file, ends[-1]) as room:
                    _fill(room, tables)
            except OSError:
                remove_file(folder, name)
                raise
            finally:
                os.close(file)
        where = "\0".join((self.root, self.run, query, name)).encode()
        return [_SIGN + _PLACE.pack(start, end) + where for start, end in zip([0, *ends], ends, strict=False)]

    def _remove_what_ended(self) -> None:
        query, batch = _asked_by()
        with suppress(OSError), opened(Path(self.root), self.run, _FOLDER, query) as folder:
            _remove_before(folder, batch)


def _fill(room: mmap.mmap, tables: Sequence[Any]) -> None:
    """Write the tables one after the other; nothing points into the room once this returns."""
    sink = pa.FixedSizeBufferWriter(pa.py_buffer(room))
    for table in tables:
        write_ipc(table, sink)
    sink.close()


def handed(payload: Any) -> Any:
    """The bytes of a payload: its own, or those of the place that it names."""
    if bytes(payload[: len(_SIGN)]) != _SIGN:
        return payload
    told = bytes(payload)
    start, end = _PLACE.unpack_from(told, len(_SIGN))
    root, run, query, name = told[len(_SIGN) + _PLACE.size :].decode().split("\0")
    with opened(Path(root), run, _FOLDER, query) as folder:
        return mapped_file(folder, name)[0][start:end]


def _asked_by() -> tuple[str, int]:
    """The query and its batch, by whose names the files are known."""
    context = TaskContext.get()
    if context is None:
        return "alone", 0
    return context.getLocalProperty(_QUERY) or "alone", int(context.getLocalProperty(BATCH) or 0)


def _remove_before(folder: int, batch: int) -> None:
    """Remove the files of batches that have ended."""
    for name in os.listdir(folder):
        if name.partition("-")[0].isdigit() and int(name.partition("-")[0]) < batch:
            with suppress(OSError):
                remove_file(folder, name)
