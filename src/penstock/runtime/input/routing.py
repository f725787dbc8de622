"""Which cells a piece of a stream goes to: its rows, the keys of rows that are not there, its punctuations, its header.

A row goes to every cell that agrees with it on the axes that its stream has. A key promise goes along the line of
cells that may hold a partner, whatever the other axes, but not where the row itself goes; a punctuation goes along the
lines that it fixes; header and places go to every cell (DESIGN section 2). Rows are dropped by a filter only here,
after they were counted and their keys and clocks were taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.plan import Plan, SourcePlan
from penstock.runtime.budget.shares import bucket_counts, is_shared_by_key
from penstock.runtime.columns.codes import Bools, Ints, codes
from penstock.runtime.input.batch import HOME, INDEX, Chunk, numbered
from penstock.runtime.input.grid import CellLine, Grid
from penstock.runtime.input.headers import Header, header_of
from penstock.runtime.input.split_keys import Split
from penstock.runtime.input.wire_columns import belongs, clustered_columns, keys_of, promise_columns, shipped_columns

Shares = list[tuple[int, Any]]
"""Rows by the cell that they go to; no cell twice."""


@dataclass(frozen=True)
class Routed:
    """A piece, parted by cell; header and places go to all of them."""

    header: Header
    rows: Mapping[str, Shares]
    keys: Mapping[str, Shares]
    punctuations: Mapping[int, Shares]
    order: Ints | None

    def chunk(self, cell: int) -> Chunk:
        """What one cell is given."""
        rows, keys = ({name: dict(shares) for name, shares in part.items()} for part in (self.rows, self.keys))
        made = {number: dict(shares) for number, shares in self.punctuations.items()}
        return Chunk(
            self.header,
            {alias: tables[cell] for alias, tables in rows.items() if cell in tables},
            {alias: tables[cell] for alias, tables in keys.items() if cell in tables},
            self.order,
            {number: tables[cell] for number, tables in made.items() if cell in tables},
        )


def route(
    plan: Plan, grid: Grid, stream: str, data: Any, *, passes: Mapping[str, Any], punctuations: Mapping[int, Any]
) -> Routed:
    """Route the data rows of a piece and its punctuations, by promise.

    `passes` holds a boolean column for each alias with filters; the place of the piece is for the caller to tell.
    """
    indexed, order = numbered(plan, stream, data)
    routing = Routing(plan, grid)
    rows: dict[str, Shares] = {}
    keys: dict[str, Shares] = {}
    for source in plan.sources:
        if source.stream != stream:
            continue
        chosen = pc.fill_null(passes[source.alias], False) if source.alias in passes else None
        rows[source.alias] = routing.rows(source, indexed if chosen is None else indexed.filter(chosen))
        if wanted := promise_columns(plan, source.alias):
            keys[source.alias] = routing.keys(source, [*wanted, INDEX], indexed, chosen)
    header = header_of(plan, stream, 0, indexed)
    if plan.evict is not None:
        header = replace(header, by_cell=routing.by_cell(rows), by_key=routing.by_key(rows))
    made = {number: routing.punctuations(number, table) for number, table in punctuations.items()}
    return Routed(header, rows, keys, made, order)


@dataclass(frozen=True)
class Routing:
    """Which cells are given what of a piece."""

    plan: Plan
    grid: Grid

    def rows(self, source: SourcePlan, rows: Any) -> Shares:
        """Each row goes to every cell that it may be part of a result in."""
        shipped = rows.select([*shipped_columns(self.plan, source.alias), INDEX])
        lines = self.grid.lines(self.plan, source.alias, None, rows)
        # In every chunk or in none, for a cell puts those of a batch together.
        return _shares(shipped, lines, has_homes=self.grid.copies(self.plan, source.alias))

    def keys(self, source: SourcePlan, names: list[str], indexed: Any, chosen: Any) -> Shares:
        """Each key goes along its line of cells, which may hold a partner, but not where the row itself goes.

        A cell on the line of one key counts no cluster of another: its end would be held there for ever.
        """
        told = [
            key
            for key in keys_of(self.plan, source.alias)
            if chosen is not None or not self.grid.go_with_rows(self.plan, source.alias, frozenset(key))
        ]
        if not told:
            return []
        passed = np.ones(indexed.num_rows, np.bool_)
        if chosen is not None:
            passed = np.asarray(chosen.to_numpy(zero_copy_only=False), np.bool_)
        found: dict[int, list[Any]] = {}
        for rows, split, part in self.grid.parts(self.plan, source.alias, indexed):
            of = (part, split, passed if rows is None else passed[rows])
            self._keys_of_part(source, told, names, of, found)
        return [(cell, pa.concat_tables(tables)) for cell, tables in found.items()]

    def _keys_of_part(
        self,
        source: SourcePlan,
        told: list[tuple[str, ...]],
        names: list[str],
        of: tuple[Any, Split | None, Bools],
        found: dict[int, list[Any]],
    ) -> None:
        part, split, passed = of
        lines = [self.grid.line(self.plan, source.alias, None, part, split)]
        keys = part.select(names)
        for key in told:
            own = self.grid.line(self.plan, source.alias, frozenset(key), part, split)
            for offset in own.offsets:
                cells = own.base + offset
                goes = np.ones(part.num_rows, np.bool_)
                for number, line in enumerate(lines):
                    there = np.logical_or.reduce([cells == line.base + other for other in line.offsets])
                    goes &= ~(there & passed) if number == 0 else ~there
                if goes.any():
                    sent = keys.filter(pa.array(goes))
                    for column in clustered_columns(self.plan, source.alias):
                        here = self.grid.agree(self.plan, source.alias, column, sent, cells[goes])
                        sent = sent.append_column(belongs(column), pa.array(here))
                    for cell, rows in split_by_cell(sent, cells[goes]):
                        found.setdefault(cell, []).append(rows)
            lines.append(own)

    def punctuations(self, number: int, made: Any) -> Shares:
        """Each goes along its line of cells, which may hold a row that it closes."""
        promise = self.plan.promises[number]
        return _shares(made, self.grid.lines(self.plan, promise.alias, frozenset(promise.columns), made))

    def by_key(self, routed: Mapping[str, Shares]) -> dict[str, tuple[int, ...]]:
        """How many rows fall into each bucket of keys, where cells share a budget by that."""
        if self.grid.cells == 1 or not is_shared_by_key(self.plan):
            return {}
        tables = {alias: pa.concat_tables([rows for _, rows in shares]) for alias, shares in routed.items() if shares}
        return {alias: bucket_counts(self.plan, alias, table, self.grid.cells) for alias, table in tables.items()}

    def by_cell(self, routed: Mapping[str, Shares]) -> tuple[int, ...]:
        """How many rows each cell is given: what it needs room for."""
        counts = [0] * self.grid.cells
        for shares in routed.values():
            for cell, rows in shares:
                counts[cell] += rows.num_rows
        return tuple(counts)


def _shares(table: Any, lines: list[CellLine], *, has_homes: bool = False) -> Shares:
    """The rows of each cell, in their order; where there are copies, with what says which of them is at home."""
    found: dict[int, list[Any]] = {}
    for line in lines:
        part = table if line.rows is None else table.take(pa.array(line.rows))
        for offset in line.offsets:
            home = pa.array(np.full(part.num_rows, offset == 0))
            marked = part.append_column(HOME, home) if has_homes else part
            for cell, share in split_by_cell(marked, line.base + offset):
                found.setdefault(cell, []).append(share)
    return [(cell, shares[0] if len(shares) == 1 else _in_order(shares)) for cell, shares in found.items()]


def _in_order(shares: list[Any]) -> Any:
    """What a cell is given of several lines, in the order of its rows."""
    whole = pa.concat_tables(shares)
    return whole.take(pa.array(np.argsort(codes(whole.column(INDEX)), kind="stable")))


def split_by_cell(table: Any, cells: Any) -> Iterator[tuple[int, Any]]:
    """The rows of each cell, in their order."""
    if not table.num_rows:
        return
    counts = np.bincount(cells)
    there = np.flatnonzero(counts)
    if len(there) == 1:
        yield int(there[0]), table
        return
    # numpy sorts numbers of 8 and 16 bits by radix, an order of magnitude faster than wider ones.
    few = np.uint8 if len(counts) <= 1 << 8 else np.uint16 if len(counts) <= 1 << 16 else np.int64
    taken = table.take(pa.array(np.argsort(cells.astype(few), kind="stable")))
    ends = np.cumsum(counts)
    for cell in there.tolist():
        yield cell, taken.slice(ends[cell] - counts[cell], counts[cell])
