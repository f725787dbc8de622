"""State as entries, key to bytes: Arrow IPC for columns and masks, JSON for counters. Never pickle.

A segment is written once, under `segment/<owner>/<number>`; its masks and counts, which change, under
`mask/<owner>/<number>`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.codes import flat
from penstock.runtime.segment import Segment
from penstock.runtime.synopsis import Synopsis

STATE_FORMAT = 2
"""What the entries are and mean, hashes in them included. Version 0.1.0 wrote format 1, which is not read any more."""

Entries = Mapping[str, Any]
"""What a store holds: any buffer of bytes by key."""

_ARRIVAL, _BATCH, _HOME, _ALIVE, _COUNT = "__arrival", "__batch", "__home", "__alive", "__count"


@dataclass(frozen=True)
class Changes:
    """What to write and what to remove, so that the store holds the state of a cell."""

    put: Mapping[str, bytes]
    delete: tuple[str, ...]


def to_ipc(table: Any) -> bytes:
    """A table as one Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def from_ipc(data: Any) -> Any:
    """The table of an Arrow IPC stream; columns point into the buffer."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


def to_json(value: Any) -> bytes:
    """Counters as JSON, the same on every run."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def from_json(data: Any) -> Any:
    """What `to_json` wrote."""
    return json.loads(bytes(data))


def save_synopsis(owner: str, synopsis: Synopsis, serial: int, put: dict[str, bytes]) -> int:
    """Write new segments and changed masks; gives the next free number."""
    for segment in synopsis.segments:
        if segment.name is None:
            segment.name = f"{owner}/{serial:012d}"
            serial += 1
            # Made anew, not appended to: a table that keeps no column has lost its number of rows.
            columns = {name: segment.table.column(name) for name in segment.table.column_names}
            for name, values in ((_ARRIVAL, segment.arrival), (_BATCH, segment.batch), (_HOME, segment.home)):
                columns[name] = pa.array(values)
            put[f"segment/{segment.name}"] = to_ipc(pa.table(columns))
            segment.touched = True
        if segment.touched:
            masks: dict[str, Any] = {_ALIVE: segment.alive, **segment.marks}
            if segment.counts is not None:
                masks[_COUNT] = segment.counts
            put[f"mask/{segment.name}"] = to_ipc(pa.table({name: pa.array(mask) for name, mask in masks.items()}))
            segment.touched = False
    return serial


def load_synopsis(owner: str, synopsis: Synopsis, entries: Entries) -> None:
    """Take back the segments of an owner, in order of arrival."""
    prefix = f"segment/{owner}/"
    loaded = []
    for key in sorted(k for k in entries if k.startswith(prefix)):
        table = from_ipc(entries[key])
        masks = from_ipc(entries["mask/" + key.removeprefix("segment/")])
        hidden = [_ARRIVAL, _BATCH, _HOME]
        arrival, batch, home = (flat(table.column(c)).to_numpy(zero_copy_only=False) for c in hidden)
        bits = {name: np.array(flat(masks.column(name)).to_numpy(zero_copy_only=False)) for name in masks.column_names}
        alive, counts = bits.pop(_ALIVE), bits.pop(_COUNT, None)
        segment = Segment(table.drop_columns(hidden), arrival, batch, home, bits)
        segment.counts = counts
        segment.kill(np.flatnonzero(~alive))
        segment.name = key.removeprefix("segment/")
        segment.touched = False
        loaded.append(segment)
    synopsis.segments = sorted(loaded, key=lambda s: (int(s.batch[0]), int(s.arrival[0])))
    synopsis.rebase()


def deletions(names: list[str]) -> tuple[str, ...]:
    """The keys of segments that left."""
    return tuple(key for name in names for key in (f"segment/{name}", f"mask/{name}"))
