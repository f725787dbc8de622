"""Where each entry of a cell lies: in the cell's commit, in a file of the checkpoint, or by itself in Spark's store.

A small entry lies in the commit (`cell_commit.py`), as long as there is room; a large segment in a file
(`segment_files.py`), where there may be such; all others, and those that a cell reads only when it needs them (COLD),
by themselves in Spark's store. An entry lies in one place: who moves it removes it where it was.

A batch that was killed is done again, perhaps by a run with other settings, and the version of Spark's store that the
run before has written stays on disk (seen with the file manager of `run`, `session.SETTINGS`). What later batches
change must fit either of the two. So where the entries of a batch lie follows from the commit before it
alone, and what a run is told (`penstock.segments`) holds from its second batch on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime import Changes
from penstock.runtime.state.store import COLD, SEGMENT
from penstock.spark.cell_commit import Committed
from penstock.spark.segment_files import LEAST_BYTES, SegmentFile, SegmentFiles, damaged

_SMALL = 1 << 13
"""Bytes up to which an entry lies in the commit."""
_ROOM = 1 << 16
"""Bytes of a commit's entries together: it is written anew in each batch."""


@dataclass(frozen=True)
class EntryPlaces:
    """Where the entries of a cell lie after a step."""

    in_store: Changes
    """What Spark's store is told to put and to delete."""
    small: dict[str, Any] = field(default_factory=dict)
    files: dict[str, SegmentFile] = field(default_factory=dict)
    dropped: tuple[tuple[int, str], ...] = ()


def placed(
    changes: Changes, number: int, before: Committed | None, among: SegmentFiles | None, owner: str
) -> EntryPlaces:
    """Where the entries lie once a step has changed some, of a cell of that name in the batch of that number."""
    small = {} if before is None else dict(before.small)
    files = {} if before is None else dict(before.files)
    dropped = [] if before is None else list(before.dropped)
    put: dict[str, bytes] = {}
    delete: list[str] = []
    for name in changes.delete:
        if name in files:
            dropped.append((number, files.pop(name).name))
        elif small.pop(name, None) is None:
            delete.append(name)
    least = LEAST_BYTES if before is None else before.least
    # Whoever wants files for all segments, however small, means the others to lie by themselves, too.
    most = 0 if least is None else _SMALL if among is None else min(_SMALL, least)
    room = _ROOM - sum(map(len, small.values()))
    for name, data in changes.put.items():
        had = small.pop(name, None)
        room += 0 if had is None else len(had)
        if among is not None and least is not None and among.takes(name, data, least):
            files[name] = among.write(owner, number, data)
        elif len(data) <= min(most, room) and not name.startswith(COLD):
            small[name] = data
            room -= len(data)
            # A segment is written once; of what changes, a longer value may have been in Spark's store.
            if had is None and before is not None and before.in_store and not name.startswith(SEGMENT):
                delete.append(name)
        else:
            put[name] = data
    if among is not None:
        if among.copies is not None:
            among.copies.remove(name for since, name in dropped if since == number)
        among.remove(name for since, name in dropped if since <= number - among.kept)
        dropped = [(since, name) for since, name in dropped if since > number - among.kept]
    return EntryPlaces(Changes(put, tuple(delete)), small, files, tuple(dropped))


def whole_store(entries: Mapping[str, Any], committed: Committed, among: SegmentFiles | None) -> dict[str, Any]:
    """All entries of a cell, of which Spark's store has these."""
    if committed.files and among is None:
        raise damaged("its state lies in files, and it is not known where")
    files = {} if among is None else {n: among.read(file) for n, file in committed.files.items()}
    return {**entries, **committed.small, **files}
