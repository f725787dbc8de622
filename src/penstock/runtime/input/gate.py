"""The gate: chunks wait here until the order of ARRIVES BY says that their rows may be taken in.

What is behind the gate has been read and is in the checkpoint, but the rest of the cell knows nothing of it: no count,
no clock, no key. The rows of a chunk pass when their turn has come, some today and some later; what its header tells
of the whole chunk (its rows, how far its columns climbed) and its punctuations pass with its last row, which can only
delay a promise.
Nothing waits where no stream has `[ROWS n]`: then no answer depends on the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints, codes, flat
from penstock.runtime.input.arrival_order import NOTHING, ArrivalOrder
from penstock.runtime.input.batch import HOME, Chunk
from penstock.runtime.input.headers import read_header, spell
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.state.component import Component
from penstock.runtime.state.store import EntryReader, EntryWriter, from_ipc, from_json, to_ipc, to_json

_PUNCTUATIONS, _HEADER = "punctuations", "header"


@dataclass(eq=False)
class Waiting:
    """A chunk that was read, and how far it has passed."""

    chunk: Chunk
    top: int
    """The code of its last row."""
    passed: int
    """Rows up to this code have passed."""
    name: str | None = None
    """Its name in the store, once it was saved."""

    def tables(self) -> Iterator[tuple[str, str, Any]]:
        """Its tables: part, alias or number of the promise, rows."""
        for part, tables in (("rows", self.chunk.rows), ("keys", self.chunk.keys)):
            for alias, table in tables.items():
                yield part, alias, table
        for number, table in self.chunk.punctuations.items():
            yield _PUNCTUATIONS, str(number), table

    def entries(self) -> list[str]:
        """Its keys in the store."""
        return [f"{self.name}/{_HEADER}", *(f"{self.name}/{part}/{alias}" for part, alias, _ in self.tables())]

    @property
    def rows(self) -> int:
        """Its rows that wait, copies counted once."""
        tables = self.chunk.rows.values()
        return sum(int(np.count_nonzero((_order(table) > self.passed) & _home(table))) for table in tables)

    @property
    def nbytes(self) -> int:
        """The bytes of its tables."""
        return sum(int(table.nbytes) for _, _, table in self.tables())


class WaitingRoom:
    """The chunks that wait, of one stream, in the order of arrival. Each is written once, as it came.

    Rows pass in order: of what waits only the first chunk may have passed in part, and behind it nothing has.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.chunks: deque[Waiting] = deque()
        self.rows = self.nbytes = 0
        """Of all chunks but the first, which may have passed in part."""
        self._left = 0
        """How many have passed: the number of the first that waits."""
        self._new: list[Waiting] = []
        """Those that are not in the store yet."""
        self._gone: list[str] = []

    def add(self, one: Waiting) -> None:
        """Let a chunk wait."""
        if self.chunks:
            self.rows, self.nbytes = self.rows + one.rows, self.nbytes + one.nbytes
        self.chunks.append(one)
        if one.name is None:
            self._new.append(one)

    def hold(self, chunks: Iterable[Waiting]) -> None:
        """Let these wait, and no others."""
        self._gone += [entry for one in self.chunks if one.name is not None for entry in one.entries()]
        self.chunks, self._new, self.rows, self.nbytes = deque(), [], 0, 0
        for one in chunks:
            self.add(one)

    def leave(self) -> None:
        """The first chunk has passed."""
        one = self.chunks.popleft()
        self._left += 1
        if one.name is not None:
            self._gone += one.entries()
        else:
            self._new.remove(one)
        if self.chunks:
            self.rows, self.nbytes = self.rows - self.chunks[0].rows, self.nbytes - self.chunks[0].nbytes

    def write(self, name: str, to: EntryWriter) -> list[Any]:
        """See Table; gives the number of the first chunk, how many there are, and how far the first has passed."""
        to.delete += self._gone
        first_new = self._left + len(self.chunks) - len(self._new)
        for number, one in enumerate(self._new, first_new):
            one.name = _name(name, number)
            header = one.chunk.header
            tables = [[part, alias] for part, alias, _ in one.tables()]
            told = {"header": spell(header), "place": header.place, "start": header.start, "top": one.top}
            to.put[f"{one.name}/{_HEADER}"] = to_json({**told, "tables": tables})
            for part, alias, table in one.tables():
                to.put[f"{one.name}/{part}/{alias}"] = to_ipc(table)
        self._new, self._gone = [], []
        return [self._left, len(self.chunks), self.chunks[0].passed if self.chunks else NOTHING]

    def read(self, name: str, told: Any, source: EntryReader) -> None:
        """See Table."""
        self._left, count, passed = told
        for number in range(self._left, self._left + count):
            one = _read(self.stream, _name(name, number), source)
            one.passed = NOTHING if self.chunks else passed
            self.add(one)


class Gate(Component):
    """Lets the rows of a cell in, in the order of ARRIVES BY."""

    tables = ("waiting",)
    numbers = ("_read",)
    parts = ("order",)

    def __init__(self, plan: Plan, order: ArrivalOrder) -> None:
        self.order = order
        self.arrives_by = {source.stream: source.arrives_by for source in plan.sources}
        self.waiting = {stream: WaitingRoom(stream) for stream in plan.streams}
        self._read = dict.fromkeys(plan.streams, 0)

    def admit(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Read chunks, each stream's in the order of arrival; gives what passes now, of these and of earlier ones."""
        for chunk in chunks:
            self._take(chunk)
        found: list[Chunk] = []
        for stream, room in self.waiting.items():
            limit = self.order.admitted(stream)
            while room.chunks:
                one = room.chunks[0]
                piece = self._piece(one, limit)
                if piece is not None:
                    found.append(piece)
                one.passed = max(one.passed, limit)
                if one.top > limit:
                    break
                room.leave()
        return found

    def _take(self, chunk: Chunk) -> None:
        header = chunk.header
        stream = header.stream
        if not header.rows:
            if chunk.punctuations:
                # They come after whatever of their stream was read before them.
                after = self.order.top[stream]
                only = replace(chunk, header=replace(header, start=self._read[stream]))
                self.waiting[stream].add(Waiting(only, NOTHING + 1 if after is None else after, NOTHING))
            return
        column = self.arrives_by[stream]
        top = header.maxima.get(column) if column is not None else None
        assert top is None or isinstance(top, int)
        floor = self.order.read(stream, top, chunk.order)
        rows = {alias: _lifted(table, floor) for alias, table in chunk.rows.items()}
        keys = {alias: _lifted(table, floor) for alias, table in chunk.keys.items()}
        placed = replace(header, start=self._read[stream])
        self._read[stream] += header.rows
        taken = Chunk(placed, rows, keys, punctuations=chunk.punctuations)
        self.waiting[stream].add(Waiting(taken, floor if top is None else max(top, floor), NOTHING))

    @staticmethod
    def _piece(one: Waiting, limit: int) -> Chunk | None:
        if limit <= one.passed:
            return None
        if one.passed == NOTHING and one.top <= limit:
            return one.chunk
        rows = {alias: table.filter(_between(table, one.passed, limit)) for alias, table in one.chunk.rows.items()}
        keys = {alias: table.filter(_between(table, one.passed, limit)) for alias, table in one.chunk.keys.items()}
        if one.top <= limit:
            return Chunk(one.chunk.header, rows, keys, punctuations=one.chunk.punctuations)
        if not any(table.num_rows for table in (*rows.values(), *keys.values())):
            return None
        return Chunk(replace(one.chunk.header, rows=0, maxima={}, climbs={}, stairs={}, swings={}), rows, keys)

    @property
    def rows(self) -> int:
        """The rows that wait, copies counted once."""
        return sum(room.rows + (room.chunks[0].rows if room.chunks else 0) for room in self.waiting.values())

    @property
    def nbytes(self) -> int:
        """Their bytes."""
        return sum(room.nbytes + (room.chunks[0].nbytes if room.chunks else 0) for room in self.waiting.values())


def _name(room: str, number: int) -> str:
    return f"{room}/{number:012d}"


def _read(stream: str, name: str, source: EntryReader) -> Waiting:
    """A chunk as it was written."""
    told = from_json(source.take(f"{name}/{_HEADER}"))
    header = replace(read_header(stream, told["place"], told["header"]), start=told["start"])
    tables: dict[str, dict[str, Any]] = {"rows": {}, "keys": {}}
    punctuations: dict[int, Any] = {}
    for part, alias in told["tables"]:
        table = from_ipc(source.take(f"{name}/{part}/{alias}"))
        if part == _PUNCTUATIONS:
            punctuations[int(alias)] = table
        else:
            tables[part][alias] = table
    chunk = Chunk(header, tables["rows"], tables["keys"], punctuations=punctuations)
    return Waiting(chunk, told["top"], NOTHING, name)


def _order(table: Any) -> Ints:
    return codes(table.column(ORDER))


def _home(table: Any) -> Bools | bool:
    if HOME not in table.column_names:
        return True
    found: Bools = flat(table.column(HOME)).to_numpy(zero_copy_only=False)
    return found


def _between(table: Any, above: int, upto: int) -> Any:
    order = _order(table)
    return pa.array((order > above) & (order <= upto))


def _lifted(table: Any, floor: int) -> Any:
    """The table with no row's place below the floor: a row that falls keeps its turn."""
    order = _order(table)
    if not len(order) or int(order.min()) >= floor:
        return table
    place = table.column_names.index(ORDER)
    return table.set_column(place, ORDER, pa.array(np.maximum(order, floor)))
