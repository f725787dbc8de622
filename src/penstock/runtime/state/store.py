"""State as entries, key to bytes: Arrow IPC for columns and masks, JSON for a few numbers. Never pickle.

A segment is written once, under `segment/<owner>/<number>`; its masks and counts, which change, under
`mask/<owner>/<number>`. Who owns what is said by the components (`state/component.py`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import DataError
from penstock.runtime.columns.codes import flat
from penstock.runtime.state.encoding import as_column, from_column
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis, in_order

STATE_FORMAT = 2
"""What the entries are and mean, hashes in them included. Version 0.1.0 wrote format 1, which is not read any more."""

Entries = Mapping[str, Any]
"""What a store holds: any buffer of bytes by key."""

COLD = "cold/"
"""How the keys of entries begin that a cell does not hold in memory."""

SEGMENT, _MASK = "segment/", "mask/"
_ARRIVAL, _BATCH, _HOME, _ALIVE, _COUNT = "__ps_arrival", "__ps_batch", "__ps_home", "__ps_alive", "__ps_count"


@dataclass(frozen=True)
class Changes:
    """What to write and what to remove, so that the store holds the state of a cell."""

    put: Mapping[str, bytes]
    delete: tuple[str, ...]


def to_ipc(table: Any) -> bytes:
    """A table as one Arrow IPC stream."""
    # Its size first, which copies nothing: a buffer that grows is copied each time that it does.
    buffer = pa.allocate_buffer(ipc_size(table))
    write_ipc(table, pa.FixedSizeBufferWriter(buffer))
    written: bytes = buffer.to_pybytes()
    return written


def to_ipc_column(values: Sequence[Any]) -> Any:
    """A column of bytes, of which tables are given as they are: each is written to its place, and not copied again.

    Tables come first, so that each begins at an address of eight bytes, as Arrow's streams end.
    """
    size = pa.MockOutputStream()
    _write_all(values, size)
    buffer = pa.allocate_buffer(size.size())
    ends = _write_all(values, pa.FixedSizeBufferWriter(buffer))
    known = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(
        pa.binary(), len(values), [known.buffers()[1], pa.py_buffer(np.array([0, *ends], np.int32)), buffer]
    )


def _write_all(values: Sequence[Any], sink: Any) -> list[int]:
    """Where each value ends."""
    ends = []
    for value in values:
        if isinstance(value, pa.Table):
            write_ipc(value, sink)
        elif value is not None:
            sink.write(value)
        ends.append(sink.tell())
    return ends


def ipc_size(table: Any) -> int:
    """The bytes of the Arrow IPC stream that a table is written as."""
    size = pa.MockOutputStream()
    write_ipc(table, size)
    return int(size.size())


def write_ipc(table: Any, sink: Any) -> None:
    """Write a table to a sink of Arrow's as an IPC stream."""
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def from_ipc(data: Any) -> Any:
    """The table of an Arrow IPC stream, compressed or not; columns point into the buffer."""
    with pa.ipc.open_stream(pa.py_buffer(expanded(data))) as reader:
        return reader.read_all()


_COMPRESSED = b"PSZ1"
"""How a compressed entry begins, where an Arrow stream has four bytes of ones; then its size, then the bytes."""
_SIZE = struct.Struct("<q")
_CODEC = pa.Codec("zstd", compression_level=1)


def compressed(table: bytes) -> bytes:
    """An Arrow IPC stream in fewer bytes: half as many of random identities as text, far fewer of what repeats.

    What is compressed already stays as it is.
    """
    if table.startswith(_COMPRESSED):
        return table
    return b"".join((_COMPRESSED, _SIZE.pack(len(table)), _CODEC.compress(table, asbytes=True)))


def expanded(entry: Any) -> Any:
    """The bytes that were compressed; of others themselves."""
    head = len(_COMPRESSED) + _SIZE.size
    if bytes(entry[: len(_COMPRESSED)]) != _COMPRESSED:
        return entry
    buffer = pa.py_buffer(entry)
    (size,) = _SIZE.unpack(buffer[len(_COMPRESSED) : head].to_pybytes())
    return _CODEC.decompress(buffer[head:], size)


def to_tensor(array: Any) -> bytes:
    """A numpy array of numbers as an Arrow tensor."""
    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(pa.Tensor.from_numpy(np.ascontiguousarray(array)), sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def from_tensor(data: Any) -> Any:
    """The array that `to_tensor` wrote, to be written to."""
    return np.array(pa.ipc.read_tensor(pa.BufferReader(pa.py_buffer(data))).to_numpy())


def to_json(value: Any) -> bytes:
    """Numbers as JSON, the same on every run; bytes and decimals are told by what they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain).encode()


def from_json(data: Any) -> Any:
    """What `to_json` wrote."""
    return json.loads(bytes(data), object_hook=_unplain)


_BYTES, _DECIMAL = "(bytes)", "(decimal)"


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return {_BYTES: value.hex()}
        case Decimal():
            return {_DECIMAL: str(value)}
        case np.integer() | np.floating() | np.bool_():
            return value.item()
    raise TypeError(f"{value!r} is no number that state may hold")


def _unplain(value: dict[str, Any]) -> Any:
    match value:
        case {"(bytes)": text}:
            return bytes.fromhex(text)
        case {"(decimal)": text}:
            return Decimal(text)
    return value


class EntryWriter:
    """What a save writes and removes, and the next free number for an entry."""

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.put: dict[str, bytes] = {}
        self.delete: list[str] = []

    def number(self) -> int:
        """A number that no entry has."""
        self.serial += 1
        return self.serial - 1


class EntryReader:
    """The entries of a store, each of which something must take. Those of the cold tier are read when asked for."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self._left = {key for key in entries if not key.startswith(COLD)}
        self._segments: dict[str, list[str]] = {}
        for key in sorted(key for key in entries if key.startswith(SEGMENT)):
            self._segments.setdefault(key.removeprefix(SEGMENT).rpartition("/")[0], []).append(key)

    def take(self, key: str) -> Any:
        """An entry."""
        if key not in self.entries:
            raise _damaged(f"it has no entry {key}")
        self._left.discard(key)
        return self.entries[key]

    def segments(self, owner: str) -> list[str]:
        """The keys of an owner's segments, in the order in which they were first written."""
        return self._segments.get(owner, [])

    def require_all_taken(self) -> None:
        """Raise DataError if something is there that nobody asked for."""
        if self._left:
            raise _damaged(f"nothing knows its entries {', '.join(sorted(self._left))}")


def _damaged(detail: str) -> DataError:
    return DataError("the state in the checkpoint is damaged", detail=detail, hint="use another checkpoint")


def write_synopsis(owner: str, synopsis: Synopsis, to: EntryWriter) -> int:
    """Write new segments and changed masks, and remove those that are gone; gives how many there are."""
    gone, synopsis.gone = synopsis.gone, []
    to.delete += [key for name in gone for key in (SEGMENT + name, _MASK + name)]
    for segment in synopsis.segments:
        if segment.name is None:
            segment.name = f"{owner}/{to.number():012d}"
            if synopsis.encodes:
                segment.encode()
            # Made anew, not appended to: a table that keeps no column has lost its number of rows.
            columns = {name: segment.stored.column(name) for name in segment.stored.column_names}
            for name, values in ((_ARRIVAL, segment.arrival), (_BATCH, segment.batch), (_HOME, segment.home)):
                columns[name] = _column(values)
            to.put[SEGMENT + segment.name] = to_ipc(pa.table(columns))
            segment.touched = True
        if segment.touched:
            masks: dict[str, Any] = {_ALIVE: segment.alive, **segment.marks}
            if segment.counts is not None:
                masks[_COUNT] = segment.counts
            to.put[_MASK + segment.name] = to_ipc(pa.table({name: _column(mask) for name, mask in masks.items()}))
            segment.touched = False
    return len(synopsis.segments)


def _column(values: Any) -> Any:
    """A numpy array as an Arrow array; numpy packs bits forty times as fast."""
    if values.dtype != np.bool_:
        return as_column(values)
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def read_synopsis(owner: str, count: int, synopsis: Synopsis, source: EntryReader) -> None:
    """Take back the segments of an owner, in order of arrival."""
    keys = source.segments(owner)
    if len(keys) != count:
        raise _damaged(f"of {count} segments of {owner} it has {len(keys)}")
    loaded = []
    for key in keys:
        name = key.removeprefix(SEGMENT)
        table, arrival, batch, home = _stored_columns(source.take(key))
        masks = from_ipc(source.take(_MASK + name))
        bits = {name: np.array(flat(masks.column(name)).to_numpy(zero_copy_only=False)) for name in masks.column_names}
        alive, counts = bits.pop(_ALIVE), bits.pop(_COUNT, None)
        segment = Segment(table, arrival, batch, home, bits)
        segment.counts = counts
        segment.kill(np.flatnonzero(~alive))
        segment.name = name
        segment.touched = False
        loaded.append(segment)
    synopsis.segments = sorted(loaded, key=in_order)
    synopsis.rebase()


def _stored_columns(entry: Any) -> tuple[Any, Any, Any, Any]:
    """The columns of a segment; the place, the batch and the home of each row."""
    table, hidden = from_ipc(entry), [_ARRIVAL, _BATCH, _HOME]
    arrival, batch, home = (from_column(table.column(c)) for c in hidden)
    return table.drop_columns(hidden), arrival, batch, home


def rest_on(synopsis: Synopsis, entries: Entries) -> None:
    """Let segments that were saved hold their values where these entries are."""
    for segment in synopsis.segments:
        if segment.name is not None and (entry := entries.get(SEGMENT + segment.name)) is not None:
            table, arrival, batch, _ = _stored_columns(entry)
            segment.rest_on(table, arrival, batch)
