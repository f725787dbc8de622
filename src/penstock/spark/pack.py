"""The packed exchange: rows of a stream in, a few large rows for the shuffle out.

One packed row is one cell's share of one chunk: the chunk's header and the rows as Arrow bytes. Every cell gets the
header of every chunk, with rows or without, so that counts and clocks are the same everywhere. Rows are dropped by a
filter only here, after they were counted and their keys and clocks were taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.plan.plan import Plan, SourcePlan
from penstock.runtime import (
    HOME,
    INDEX,
    ORDER,
    Chunk,
    belongs,
    clustered_columns,
    header_of,
    keys_of,
    numbered,
    read_header,
    spell,
)
from penstock.runtime.codes import codes, flat
from penstock.runtime.evict.key_needs import bucket_counts, is_shared_by_key
from penstock.runtime.needs import hidden_columns, promise_columns
from penstock.runtime.store import from_ipc, to_ipc
from penstock.spark.grid import Grid
from penstock.spark.punctuations import routes, take_out
from penstock.spark.worker import settle

PACKED = (
    "cell INT, stream STRING, time BIGINT, path STRING, block BIGINT, task INT, piece INT, header STRING, "
    "alias STRING, part STRING, payload BINARY"
)
"""The columns of a packed row; (time, path, block, task, piece) is the chunk's place in the order of arrival.

Task and piece set apart what came from one block in several tasks, as after a repartition of a bound DataFrame.
"""

PLACE = "__place"
"""The place of a row in the order of arrival, as `time/block/path`; a row without one has that of the row before it."""
ROWS, KEYS, PLACES, PUNCTUATIONS, NOTHING = "rows", "keys", "places", "punctuations", ""
"""The parts of a chunk: rows, keys of rows that are not there, the place of every row in the order across streams,
punctuations, these under the number of their promise in place of an alias."""
_PARTS = (ROWS, KEYS, PLACES, PUNCTUATIONS)

Place = tuple[int, str, int, int, int]


def passes(alias: str) -> str:
    """The boolean column that says which rows an alias's filters let through."""
    return f"__pass_{alias}"


@dataclass(frozen=True)
class Packer:
    """Packs the pieces of one stream; `ordered` says that places come with the rows."""

    plan: Plan
    stream: str
    grid: Grid
    ordered: bool

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: the rows of one task."""
        settle("pack")
        read = [batch for batch in batches if batch.num_rows]
        if not read:
            return
        yield from self.packed(self._pieces(pa.Table.from_batches(read)))

    def packed(self, pieces: Iterable[tuple[Place, Any]]) -> Iterator[Any]:
        """The packed rows of all pieces, as one batch."""
        packed: dict[str, list[Any]] = {name: [] for name in _NAMES}
        for place, piece in pieces:
            self._pack(place, piece, packed)
        if not packed["cell"]:
            return
        yield pa.record_batch([pa.array(packed[n], kind) for n, kind in zip(_NAMES, _KINDS, strict=True)], names=_NAMES)

    def _pieces(self, table: Any) -> Iterator[tuple[Place, Any]]:
        """The table cut where the place changes; Spark hands the rows of one piece over in order."""
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        if not self.ordered:
            yield (0, "", 0, task, 0), table
            return
        places = flat(table.column(PLACE))
        data = table.drop_columns([PLACE])
        starts = [*heads_of(places).tolist(), table.num_rows]
        for number, (start, stop) in enumerate(pairwise(starts)):
            yield (*_read_place(places[start].as_py()), task, number), data.slice(start, stop - start)

    def _pack(self, place: Place, piece: Any, packed: dict[str, list[Any]]) -> None:
        data, punctuations = take_out(self.plan, self.stream, piece)
        indexed, order = numbered(self.plan, self.stream, data)
        parts = [
            (source.alias, part, shares)
            for source in self.plan.sources
            if source.stream == self.stream
            for part, shares in self._parts(source, indexed)
        ]
        told_to_all = header_of(self.plan, self.stream, 0, data)
        if self.plan.evict is not None:
            routed = [(alias, shares) for alias, part, shares in parts if part == ROWS]
            told_to_all = replace(told_to_all, by_cell=self._by_cell(routed), by_key=self._by_key(routed))
        header = spell(told_to_all)
        told: set[int] = set()
        for number, made in punctuations.items():
            for table, cells in routes(self.plan, self.grid, number, made):
                for cell, rows in split_by_cell(table, cells):
                    told.add(cell)
                    self._add(packed, cell, (*place, header, str(number), PUNCTUATIONS, to_ipc(rows)))
        for alias, part, shares in parts:
            for cell, rows in shares:
                told.add(cell)
                self._add(packed, cell, (*place, header, alias, part, to_ipc(rows)))
        if order is not None:
            places = to_ipc(pa.table({ORDER: order}))
            for cell in range(self.grid.cells):
                self._add(packed, cell, (*place, header, "", PLACES, places))
            return
        for cell in range(self.grid.cells):
            if cell not in told:
                self._add(packed, cell, (*place, header, "", NOTHING, None))

    def _by_key(self, routed: list[tuple[str, list[tuple[int, Any]]]]) -> dict[str, tuple[int, ...]]:
        """How many rows fall into each bucket of keys, where cells share a budget by that."""
        if self.grid.cells == 1 or not is_shared_by_key(self.plan):
            return {}
        tables = {alias: pa.concat_tables([rows for _, rows in shares]) for alias, shares in routed if shares}
        return {alias: bucket_counts(self.plan, alias, table, self.grid.cells) for alias, table in tables.items()}

    def _by_cell(self, routed: list[tuple[str, list[tuple[int, Any]]]]) -> tuple[int, ...]:
        """How many rows each cell is given: what it needs room for."""
        counts = [0] * self.grid.cells
        for _, shares in routed:
            for cell, rows in shares:
                counts[cell] += rows.num_rows
        return tuple(counts)

    def _add(self, packed: dict[str, list[Any]], cell: int, rest: tuple[Any, ...]) -> None:
        row = (self.grid.keys[cell], self.stream, *rest)
        for name, value in zip(_NAMES, row, strict=True):
            packed[name].append(value)

    def _parts(self, source: SourcePlan, indexed: Any) -> Iterator[tuple[str, list[tuple[int, Any]]]]:
        chosen = None
        if source.filters:
            chosen = pc.fill_null(indexed.column(passes(source.alias)), False)
        passed = indexed if chosen is None else indexed.filter(chosen)
        yield ROWS, self._route_rows(source, passed)
        wanted = promise_columns(self.plan, source.alias)
        if wanted:
            yield KEYS, self._route_keys(source, [*wanted, INDEX], indexed, chosen)

    def _route_rows(self, source: SourcePlan, rows: Any) -> list[tuple[int, Any]]:
        base, offsets = self.grid.base(self.plan, source.alias, None, rows)
        shipped = rows.select([*source.shipped, *hidden_columns(self.plan, source.alias), INDEX])
        if len(offsets) == 1:
            return list(split_by_cell(shipped, base))
        home = np.ones(rows.num_rows, np.bool_)
        found: list[tuple[int, Any]] = []
        for offset in offsets:
            marked = shipped.append_column(HOME, pa.array(home if offset == 0 else ~home))
            found += split_by_cell(marked, base + offset)
        return found

    def _route_keys(self, source: SourcePlan, names: list[str], indexed: Any, chosen: Any) -> list[tuple[int, Any]]:
        """Each key goes along its line of cells, which may hold a partner, but not where the row itself goes.

        A cell on the line of one key counts no cluster of another: its end would be held there for ever.
        """
        passed = np.ones(indexed.num_rows, np.bool_)
        if chosen is not None:
            passed = np.asarray(chosen.to_numpy(), np.bool_)
        lines = [self.grid.base(self.plan, source.alias, None, indexed)]
        keys = indexed.select(names)
        pieces: dict[int, list[Any]] = {}
        for key in keys_of(self.plan, source.alias):
            base, offsets = self.grid.base(self.plan, source.alias, frozenset(key), indexed)
            for offset in offsets:
                cells = base + offset
                goes = np.ones(indexed.num_rows, np.bool_)
                for number, (line, along) in enumerate(lines):
                    there = np.logical_or.reduce([cells == line + other for other in along])
                    goes &= ~(there & passed) if number == 0 else ~there
                if goes.any():
                    sent = keys.filter(pa.array(goes))
                    for column in clustered_columns(self.plan, source.alias):
                        here = self.grid.agree(self.plan, source.alias, column, sent, cells[goes])
                        sent = sent.append_column(belongs(column), pa.array(here))
                    for cell, rows in split_by_cell(sent, cells[goes]):
                        pieces.setdefault(cell, []).append(rows)
            lines.append((base, offsets))
        return [(cell, pa.concat_tables(tables)) for cell, tables in pieces.items()]


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
    pa.binary(),
]


def split_by_cell(table: Any, cells: Any) -> Iterator[tuple[int, Any]]:
    """The rows of each cell, in their order."""
    if not table.num_rows:
        return
    first = int(cells[0])
    if (cells == first).all():
        yield first, table
        return
    # numpy sorts 16-bit numbers by radix, an order of magnitude faster than wider ones.
    order = np.argsort(cells.astype(np.uint16) if cells.max() < 1 << 16 else cells, kind="stable")
    sorted_cells = cells[order]
    taken = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(sorted_cells, prepend=sorted_cells[0] - 1))
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        yield int(sorted_cells[start]), taken.slice(start, stop - start)


def unpack_chunks(rows: Iterable[Any]) -> list[Chunk]:
    """The chunks that one cell was given, each stream's in the order of arrival; places are counted from 0."""
    found: dict[tuple[str, Place], dict[str, Any]] = {}
    for row in rows:
        place = (row["time"], row["path"], row["block"], row["task"], row["piece"])
        chunk = found.setdefault((row["stream"], place), {"header": row["header"], **{p: {} for p in _PARTS}})
        if row["part"] != NOTHING:
            chunk[row["part"]][row["alias"]] = from_ipc(row["payload"])
    chunks = []
    for number, (stream, place) in enumerate(sorted(found)):
        chunk = found[stream, place]
        order = codes(chunk[PLACES][""].column(ORDER)) if chunk[PLACES] else None
        header = read_header(stream, number, chunk["header"])
        punctuations = {int(promise): table for promise, table in chunk[PUNCTUATIONS].items()}
        chunks.append(Chunk(header, chunk[ROWS], chunk[KEYS], order, punctuations))
    return chunks
