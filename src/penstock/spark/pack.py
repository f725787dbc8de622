"""The packed exchange: rows of a stream in, a few large rows for the shuffle out.

One packed row is one cell's share of one chunk: the chunk's header and the rows as Arrow bytes. Every cell gets the
header of every chunk, with rows or without, so that counts and clocks are the same everywhere. Rows are dropped by a
filter only here, after they were counted and their keys and clocks were taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.errors import DataError
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import ORDERS
from penstock.runtime import (
    ORDER,
    Chunk,
    read_header,
    spell,
)
from penstock.runtime.columns.codes import codes, flat
from penstock.runtime.group.between_stages import together
from penstock.runtime.input.routing import route
from penstock.runtime.state.store import from_ipc, to_ipc_column
from penstock.spark.batch_times import PackTimer
from penstock.spark.cells import KeyedGrid
from penstock.spark.file_heads import FileQuestion, LookedAt
from penstock.spark.handed_over import HandedOver, handed
from penstock.spark.malformed import KEPT
from penstock.spark.punctuations import take_out
from penstock.spark.worker import settle

PACKED = (
    "cell INT, stream STRING, time BIGINT, path STRING, block BIGINT, task INT, piece INT, header STRING, "
    "alias STRING, part STRING, payload BINARY"
)
"""The columns of a packed row; (time, path, block, task, piece) is the chunk's place in the order of arrival.

Task and piece set apart what came from one block in several tasks, as after a repartition of a bound DataFrame.
"""

PLACE = "__ps_place"
"""The place of a row in the order of arrival, as `time/block/path`; a row without one has that of the row before it."""
ROWS, KEYS, PLACES, PUNCTUATIONS, NOTHING = "rows", "keys", "places", "punctuations", ""
"""The parts of a chunk: rows, keys of rows that are not there, the place of every row in the order across streams,
punctuations, these under the number of their promise in place of an alias."""
MALFORMED = "malformed"
"""What a chunk brings beside its rows: the malformed ones, for the first cell to write."""
END = "end"
"""What is no part of a chunk, but says that every stream has ended."""
FRONTIERS = "frontiers"
"""Nor is this: how far the answer of a block has come that is a stream here, as one of its cells says."""
TIMES = "times"
"""Nor is this: how long a task took to read and to pack, for the first cell to tell (`batch_times.py`)."""
PASSED = "passed"
"""Nor is this: packed rows for another block, whose name stands in the place of an alias (`shared_blocks.py`)."""
_PARTS = (ROWS, KEYS, PLACES, PUNCTUATIONS)

Place = tuple[int, str, int, int, int]

PORTION = 64 << 20
"""Bytes of rows that are packed at a time."""


def passes(alias: str) -> str:
    """The boolean column that says which rows an alias's filters let through."""
    return f"__ps_pass_{alias}"


@dataclass(frozen=True)
class Packer:
    """Packs the pieces of one stream; `ordered` says that places come with the rows."""

    plan: Plan
    stream: str
    grid: KeyedGrid
    ordered: bool
    question: FileQuestion | None = None
    """What is asked of a file, where files are looked at as their rows go by."""
    files: HandedOver | None = None
    """Where large tables go; with the packed rows if None."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: the rows of one task."""
        settle("pack")
        files = LookedAt(self.question)
        yield from self.packed(self._asked(files, self.pieces(files.rows_of(portions(batches)))))

    def _asked(self, files: LookedAt, pieces: Iterable[tuple[Place, Any]]) -> Iterator[tuple[Place, Any]]:
        """The pieces; where their places tell a file, it is asked by whoever has its beginning."""
        for place, piece in pieces:
            _, path, block, *_ = place
            if self.ordered and block == 0:
                files.ask(path)
            yield place, piece

    def packed(self, pieces: Iterable[tuple[Place, Any]]) -> Iterator[Any]:
        """The packed rows of all pieces: as one batch, or as several of which none is much larger than a portion."""
        packed: dict[str, list[Any]] = {name: [] for name in _NAMES}
        size = 0
        timer, is_any = PackTimer(), False
        for place, piece in timer.waiting_for(pieces):
            self._pack(place, piece, packed)
            is_any = True
            size += piece.nbytes
            if size >= PORTION:
                yield self._as_batch(packed)
                packed, size = {name: [] for name in _NAMES}, 0
        if is_any:
            self._add(packed, 0, (*_read_place(None), 0, 0, "", "", TIMES, timer.note()))
            yield self._as_batch(packed)

    def to_every_cell(self, part: str, payloads: Iterable[bytes]) -> Any:
        """Packed rows that are no part of a chunk, for all cells."""
        packed: dict[str, list[Any]] = {name: [] for name in _NAMES}
        for payload in payloads:
            for cell in range(self.grid.cells):
                self._add(packed, cell, (*_read_place(None), 0, 0, "", "", part, payload))
        return self._as_batch(packed)

    def handed_on(self, number: int, block: str, packed: bytes) -> Any:
        """Packed rows for another block, which one of the cells hands on; they take turns."""
        rows: dict[str, list[Any]] = {name: [] for name in _NAMES}
        self._add(rows, number % self.grid.cells, (*_read_place(None), 0, 0, "", block, PASSED, packed))
        return self._as_batch(rows)

    def numbered(self, origin: str, number: int, table: Any) -> Iterator[tuple[Place, Any]]:
        """A table of rows without an order as the piece of that number; `origin` sets other stages apart."""
        context = TaskContext.get()
        yield (0, origin, 0, context.partitionId() if context is not None else 0, number), table

    def pieces(self, tables: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        """The tables cut where the place changes; Spark hands the rows of one piece over in order."""
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        number, place = 0, _read_place(None)
        for table in tables:
            if not table.num_rows:
                continue
            if not self.ordered:
                yield (*place, task, number), table
                number += 1
                continue
            places = flat(table.column(PLACE))
            data = table.drop_columns([PLACE])
            starts = [*heads_of(places).tolist(), table.num_rows]
            for start, stop in pairwise(starts):
                if places[start].is_valid:
                    place = _read_place(places[start].as_py())
                # Else the first row goes on where the portion before it ended.
                yield (*place, task, number), data.slice(start, stop - start)
                number += 1

    def _pack(self, place: Place, piece: Any, packed: dict[str, list[Any]]) -> None:
        piece, malformed = _without_malformed(piece)
        data, punctuations = take_out(self.plan, self.stream, piece)
        chosen = {
            source.alias: data.column(passes(source.alias))
            for source in self.plan.sources
            if source.stream == self.stream and source.filters
        }
        self._require_text(data)
        routed = route(self.plan, self.grid, self.stream, data, passes=chosen, punctuations=punctuations)
        header = spell(routed.header)
        told: set[int] = set()
        for part, named in ((PUNCTUATIONS, routed.punctuations), (ROWS, routed.rows), (KEYS, routed.keys)):
            for name, shares in named.items():
                for cell, rows in shares:
                    told.add(cell)
                    self._add(packed, cell, (*place, header, str(name), part, rows))
        if malformed is not None:
            self._add(packed, 0, (*place, header, "", MALFORMED, malformed))
        if routed.order is not None:
            places = pa.table({ORDER: routed.order})
            for cell in range(self.grid.cells):
                self._add(packed, cell, (*place, header, "", PLACES, places))
            return
        for cell in range(self.grid.cells):
            if cell not in told:
                self._add(packed, cell, (*place, header, "", NOTHING, None))

    def _as_batch(self, packed: dict[str, list[Any]]) -> Any:
        told = [pa.array(packed[name], kind) for name, kind in zip(_NAMES[:-1], _KINDS, strict=True)]
        payloads = packed[_NAMES[-1]]
        column = to_ipc_column(payloads) if self.files is None else self.files.column(payloads)
        return pa.record_batch([*told, column], names=_NAMES)

    def _require_text(self, data: Any) -> None:
        """Raise on bytes that are no text in a column that is ordered: how far it has come is told as text."""
        for promise in self.plan.promises:
            column = promise.columns[0] if promise.kind in ORDERS else None
            is_here = column is not None and self.plan.by_alias[promise.alias].stream == self.stream
            if not is_here or not pa.types.is_string(data.schema.field(column).type):
                continue
            try:
                data.column(column).validate(full=True)
            except pa.ArrowInvalid:
                raise DataError(
                    f"{promise.constraint}: the column holds bytes that are no text in UTF-8",
                    hint=f"declare {column} BINARY, and order by a column derived of it: STRING AS (hex({column}))",
                ) from None

    def _add(self, packed: dict[str, list[Any]], cell: int, rest: tuple[Any, ...]) -> None:
        row = (self.grid.keys[cell], self.stream, *rest)
        for name, value in zip(_NAMES, row, strict=True):
            packed[name].append(value)


def portions(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches as tables of about PORTION bytes, or fewer: what a task reads is not held whole."""
    read: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            read.append(batch)
            size += batch.nbytes
        if size >= PORTION:
            yield pa.Table.from_batches(read)
            read, size = [], 0
    if read:
        yield pa.Table.from_batches(read)


def _without_malformed(piece: Any) -> tuple[Any, Any | None]:
    """The rows to be joined, and file and text of those that are not."""
    if KEPT[1] not in piece.column_names:
        return piece, None
    is_bad = pc.is_valid(piece.column(KEPT[1]))
    bad = piece.select(KEPT).filter(is_bad)
    piece = piece.drop_columns(list(KEPT))
    if not bad.num_rows:
        return piece, None
    return piece.filter(pc.invert(is_bad)), bad.rename_columns(["source_file", "record"])


def heads_of(places: Any) -> Any:
    """Where a piece begins: at the first row, and at a row whose place is told and is not that of the row before it."""
    told = places.is_valid().to_numpy(zero_copy_only=False).copy()
    told[0] = True
    rows = np.flatnonzero(told)
    named = places.take(pa.array(rows))
    begins = np.diff(rows, prepend=-2) > 1
    begins[1:] |= pc.fill_null(pc.not_equal(named[1:], named[:-1]), True).to_numpy(zero_copy_only=False)
    return rows[begins]


def _read_place(text: str | None) -> tuple[int, str, int]:
    time, block, path = text.split("/", 2) if text is not None else ("0", "0", "")
    return int(time), path, int(block)


_NAMES = ["cell", "stream", "time", "path", "block", "task", "piece", "header", "alias", "part", "payload"]
_KINDS = [
    pa.int32(),
    pa.string(),
    pa.int64(),
    pa.string(),
    pa.int64(),
    pa.int32(),
    pa.int32(),
    pa.string(),
    pa.string(),
    pa.string(),
]
"""The types of all but the payload."""


@dataclass(frozen=True)
class Unpacked:
    """What one cell is given in a batch."""

    chunks: list[Chunk]
    """Each stream's in the order of arrival; places are counted from 0."""
    malformed: Mapping[str, Any]
    """By stream, the malformed rows that it is to write."""
    is_last: bool
    """Whether the streams have ended."""
    frontiers: Mapping[str, Mapping[str, int]]
    """By stream that a block gives, and by column, how far it has come; nothing unless all its cells have spoken."""
    times: tuple[bytes, ...] = ()
    """What the tasks that packed note of their time."""
    passed: tuple[tuple[str, bytes], ...] = ()
    """What other blocks are to be given, each with the block's name."""


def unpack_chunks(rows: Iterable[Any]) -> Unpacked:
    """What packed rows of one cell hold."""
    found: dict[tuple[str, Place], dict[str, Any]] = {}
    malformed: dict[str, dict[Place, Any]] = {}
    is_last = False
    spoken: dict[str, list[dict[str, Any]]] = {}
    times: list[bytes] = []
    passed: list[tuple[str, bytes]] = []
    for row in rows:
        if row["part"] == PASSED:
            passed.append((row["alias"], row["payload"]))
            continue
        if row["part"] == TIMES:
            times.append(row["payload"])
            continue
        if row["part"] == END:
            is_last = True
            continue
        if row["part"] == FRONTIERS:
            spoken.setdefault(row["stream"], []).append(json.loads(row["payload"]))
            continue
        place = (row["time"], row["path"], row["block"], row["task"], row["piece"])
        chunk = found.setdefault((row["stream"], place), {"header": row["header"], **{p: {} for p in _PARTS}})
        if row["part"] == MALFORMED:
            malformed.setdefault(row["stream"], {})[place] = from_ipc(handed(row["payload"]))
        elif row["part"] != NOTHING:
            chunk[row["part"]][row["alias"]] = from_ipc(handed(row["payload"]))
    chunks = []
    for number, (stream, place) in enumerate(sorted(found)):
        chunk = found[stream, place]
        order = codes(chunk[PLACES][""].column(ORDER)) if chunk[PLACES] else None
        header = read_header(stream, number, chunk["header"])
        punctuations = {int(promise): table for promise, table in chunk[PUNCTUATIONS].items()}
        chunks.append(Chunk(header, chunk[ROWS], chunk[KEYS], order, punctuations))
    written = {stream: pa.concat_tables([its[place] for place in sorted(its)]) for stream, its in malformed.items()}
    frontiers = {
        stream: together([one["frontier"] for one in said], {}, said[0]["of"])[0] for stream, said in spoken.items()
    }
    return Unpacked(chunks, written, is_last, frontiers, tuple(times), tuple(passed))
