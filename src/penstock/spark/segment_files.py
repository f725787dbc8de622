"""Large segments of state as files of the checkpoint; Spark's store knows their names.

A segment is written once and never changed. On its way into Spark's store it is copied some eight times, through a
socket, RocksDB and its changelog, at 70 MB a second: half of what an ordinary join's cells did. So where a checkpoint
lies on a disk that every host sees, a cell writes its large segments there itself, and its commit (`cell_commit.py`),
an entry of Spark's store, names the files that the state is made of.

**Nothing lost, nothing twice.** A file is whole before the commit that names it, and has a name that no other attempt
at the batch gives; so what Spark commits with the batch is whole, and what it forgets names nothing. A file that a
batch needs no more is kept for as many batches as Spark keeps versions of its own state, for Spark may go back to any
of them; then the cell removes it, and so it does, when it next starts, with files of attempts that came to nothing. A
file that is missing or damaged is told (size and checksum are in the commit), never passed over.

A file is compressed: half as many bytes of random identities as text, far fewer of what repeats, at over a gigabyte a
second. A worker maps a copy that is not (`segment_copies.py`), so the warm cache (`cache.py`) holds none of them. Not
here: entries that change, or are small; state of queries whose checkpoint Penstock does not know (`penstock.stream`,
`adopt`), or lies on another file system: that is Spark's store's, as a whole. A checkpoint that was moved there is read
all the same.
"""

from __future__ import annotations

import re
import uuid
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import DataError, UsageError
from penstock.runtime.state.store import SEGMENT, compressed, expanded
from penstock.spark.segment_copies import SegmentCopies
from penstock.spark.worker_files import MAKE_ROOM, WorkerFolder

SETTING = "penstock.segments"
"""The bytes from which on a segment becomes a file, where somebody wants other than LEAST_BYTES."""
LEAST_BYTES = 1 << 16
"""From which on a file costs less than an entry."""
LEAST_KEPT = 2
"""Batches for which a file stays that is not needed any more, at least: Spark may do the last one again."""
_ENDING = ".arrow"
_OF_CELL = re.compile(r"(?:cell|second)-(-?\d+)-\d+-[0-9a-f]+\.arrow$")
"""The key of the cell that wrote a file, in its name."""


@dataclass(frozen=True)
class SegmentFile:
    """A file of state, as a commit names it."""

    name: str
    size: int
    checksum: int
    expanded: int | None = None
    """The bytes that it holds; None of a file of before files were compressed."""


@dataclass(frozen=True)
class SegmentFiles:
    """The files of a query's segments."""

    folder: WorkerFolder
    kept: int
    """For how many batches a file stays that is not needed any more."""
    least: int = LEAST_BYTES
    """Bytes from which on a segment becomes a file, as this run was told."""
    copies: SegmentCopies | None = None
    """What workers of a running query map."""

    def takes(self, entry: str, data: Any, least: int) -> bool:
        """Whether an entry becomes a file, where one of so many bytes does."""
        return self.folder.settings is None and entry.startswith(SEGMENT) and len(data) >= least

    def write(self, owner: str, batch: int, data: bytes) -> SegmentFile:
        """Write a segment that a cell has made in that batch."""
        name = f"{_beginning(owner)}{batch:09d}-{uuid.uuid4().hex}{_ENDING}"
        path, packed = Path(self.folder.root) / name, compressed(data)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(packed)
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise DataError(
                f"cannot write the checkpoint's file {path}",
                detail=error.strerror or str(error),
                hint=MAKE_ROOM,
            ) from error
        if self.copies is not None:
            self.copies.add(name, data)
        return SegmentFile(name, len(packed), zlib.crc32(packed), len(data))

    def read(self, file: SegmentFile) -> Any:
        """What a file holds: a copy of it, which is made where this host has none and wants one."""
        if (copy := self.copy(file)) is not None:
            return copy
        data = self._checked(file)
        if file.expanded is None:
            return data
        data = expanded(data)
        if self.copies is not None:
            self.copies.add(file.name, data)
        copy = self.copy(file)
        return data if copy is None else copy

    def copy(self, file: SegmentFile) -> Any | None:
        """The copy of a file that this host has, or None."""
        if self.copies is None or file.expanded is None:
            return None
        return self.copies.mapped(file.name, file.expanded)

    def _checked(self, file: SegmentFile) -> Any:
        """The bytes of a file, which must be those that were written."""
        try:
            if self.folder.settings is None:
                with pa.memory_map(str(Path(self.folder.root) / file.name)) as mapped:
                    data = mapped.read_buffer()
            else:
                data = pa.py_buffer(self.folder.read(file.name))
        except OSError as error:
            raise damaged(f"{self.folder.root}/{file.name}: {error.strerror or error}") from error
        if data.size != file.size or zlib.crc32(data) != file.checksum:
            raise damaged(f"{self.folder.root}/{file.name} does not hold what was written")
        return data

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that nothing names any more."""
        if self.folder.settings is None:
            for name in names:
                with suppress(OSError):
                    (Path(self.folder.root) / name).unlink()

    def sweep(self, owner: str, batch: int, named: Iterable[str]) -> None:
        """Remove what attempts of a cell that came to nothing have left, once Spark cannot go back to their batch."""
        if self.folder.settings is not None:
            return
        known, beginning = set(named), _beginning(owner)
        for path in Path(self.folder.root).glob(f"{beginning}*{_ENDING}"):
            then = path.name.removeprefix(beginning).partition("-")[0]
            if path.name not in known and then.isdigit() and int(then) < batch - self.kept:
                with suppress(OSError):
                    path.unlink()

    def sweep_copies(self, owner: str, named: Iterable[str]) -> None:
        """Remove this host's copies of files that a cell needs no more: another host has had it since."""
        if self.copies is not None:
            self.copies.sweep(_beginning(owner), named)


def of_cells_gone(names: Iterable[str], keys: Iterable[int]) -> list[str]:
    """Of the files of a query's segments those of cells that it has no more."""
    known = set(keys)
    cells = {name: found.group(1) for name in names if (found := _OF_CELL.search(name)) is not None}
    return [name for name, key in cells.items() if int(key) not in known]


def least_bytes(text: str | None) -> int:
    """The bytes from which on a segment becomes a file, as a setting gives them."""
    if text is None:
        return LEAST_BYTES
    if not text.isdigit():
        raise UsageError(f"{SETTING} is a number of bytes from which on a segment becomes a file, not {text}")
    return int(text)


def _beginning(owner: str) -> str:
    return f"{owner}-"


def damaged(detail: str) -> DataError:
    """What is said where a checkpoint lacks something."""
    return DataError(
        "the checkpoint lacks a part of its state", detail=detail, hint="put it back, or use another checkpoint"
    )
