"""The gate: chunks wait here until the order of ARRIVES BY says that their rows may be taken in.

What is behind the gate has been read and is in the checkpoint, but the rest of the cell knows nothing of it: no count,
no clock, no key. The rows of a chunk pass when their turn has come, some today and some later; what its header tells
of the whole chunk (its rows, how far its columns climbed) and its punctuations pass with its last row, which can only
delay a promise.
Nothing waits where no stream has `[ROWS n]`: then no answer depends on the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.runtime.arrival_order import NOTHING, ArrivalOrder
from penstock.runtime.batch import HOME, Chunk
from penstock.runtime.codes import Bools, Ints, codes, flat
from penstock.runtime.headers import read_header, spell
from penstock.runtime.needs import ORDER
from penstock.runtime.store import Entries, from_ipc, to_ipc

_PUNCTUATIONS = "punctuations"


@dataclass
class Waiting:
    """A chunk that was read, and how far it has passed."""

    chunk: Chunk
    top: int
    """The code of its last row."""
    passed: int
    """Rows up to this code have passed."""
    name: int | None = None
    """Its number in the store, once it was saved."""

    def tables(self) -> Iterator[tuple[str, str, Any]]:
        """Its tables: part, alias or number of the promise, rows."""
        for part, tables in (("rows", self.chunk.rows), ("keys", self.chunk.keys)):
            for alias, table in tables.items():
                yield part, alias, table
        for number, table in self.chunk.punctuations.items():
            yield _PUNCTUATIONS, str(number), table

    def entry(self, part: str, alias: str) -> str:
        """The key of a table in the store."""
        return f"waiting/{self.name:012d}/{part}/{alias}"


class Gate:
    """Lets the rows of a cell in, in the order of ARRIVES BY."""

    def __init__(self, plan: Plan, order: ArrivalOrder) -> None:
        self.order = order
        self.arrives_by = {source.stream: source.arrives_by for source in plan.sources}
        self.waiting: list[Waiting] = []
        self._read = dict.fromkeys(plan.streams, 0)
        self._serial = 0
        self._gone: list[str] = []

    def admit(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Read chunks, each stream's in the order of arrival; gives what passes now, of these and of earlier ones."""
        for chunk in chunks:
            self._take(chunk)
        found: list[Chunk] = []
        left: list[Waiting] = []
        for one in self.waiting:
            limit = self.order.admitted(one.chunk.header.stream)
            piece = self._piece(one, limit)
            if piece is not None:
                found.append(piece)
            one.passed = max(one.passed, limit)
            if one.top > limit:
                left.append(one)
            elif one.name is not None:
                self._gone += [one.entry(part, alias) for part, alias, _ in one.tables()]
        self.waiting = left
        return found

    def _take(self, chunk: Chunk) -> None:
        header = chunk.header
        stream = header.stream
        if not header.rows:
            if chunk.punctuations:
                # They come after whatever of their stream was read before them.
                after = self.order.top[stream]
                only = replace(chunk, header=replace(header, start=self._read[stream]))
                self.waiting.append(Waiting(only, NOTHING + 1 if after is None else after, NOTHING))
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
        self.waiting.append(Waiting(taken, floor if top is None else max(top, floor), NOTHING))

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
        return sum(
            int(np.count_nonzero((_order(table) > one.passed) & _home(table)))
            for one in self.waiting
            for table in one.chunk.rows.values()
        )

    @property
    def nbytes(self) -> int:
        """Their bytes."""
        return sum(int(table.nbytes) for one in self.waiting for _, _, table in one.tables())

    def save(self, put: dict[str, bytes]) -> tuple[dict[str, Any], list[str]]:
        """The counters as JSON holds them, and the entries to remove; new chunks go into the store."""
        for one in self.waiting:
            if one.name is None:
                one.name = self._serial
                self._serial += 1
                for part, alias, table in one.tables():
                    put[one.entry(part, alias)] = to_ipc(table)
        saved = {
            "order": self.order.save(put),
            "read": self._read,
            "serial": self._serial,
            "waiting": [
                {
                    "stream": one.chunk.header.stream,
                    "place": one.chunk.header.place,
                    "header": spell(one.chunk.header),
                    "start": one.chunk.header.start,
                    "top": one.top,
                    "passed": one.passed,
                    "name": one.name,
                    "tables": [[part, alias] for part, alias, _ in one.tables()],
                }
                for one in self.waiting
            ],
        }
        gone, self._gone = self._gone, []
        return saved, gone

    def load(self, saved: dict[str, Any], entries: Entries) -> None:
        """Go on where a saved gate stood."""
        self.order.load(saved["order"], entries)
        self._read = dict(saved["read"])
        self._serial = saved["serial"]
        for told in saved["waiting"]:
            header = replace(read_header(told["stream"], told["place"], told["header"]), start=told["start"])
            tables: dict[str, dict[str, Any]] = {"rows": {}, "keys": {}}
            punctuations: dict[int, Any] = {}
            chunk = Chunk(header, tables["rows"], tables["keys"], punctuations=punctuations)
            one = Waiting(chunk, told["top"], told["passed"], told["name"])
            for part, alias in told["tables"]:
                table = from_ipc(entries[one.entry(part, alias)])
                if part == _PUNCTUATIONS:
                    punctuations[int(alias)] = table
                else:
                    tables[part][alias] = table
            self.waiting.append(one)


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
