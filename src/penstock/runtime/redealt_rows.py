"""Rows of the cells of one grid, each once, dealt to those of another: where each goes, and which are copies of one.

A row of a stream goes where the hash of its keys says, to every cell along an axis that it lacks. What is remembered of
some of its columns goes along their line, as it was told to the cells (`input/routing.py`). A row that waits, and one
that was emitted, is named by its tuples: it lies where they say together, in every cell along an axis that none has.

Copies are told by their place in the order of arrival, values by themselves. **Lemma**: what several copies know may
differ, since each cell looks at its own rows alone, and each is right: a promise that closed a value for one has closed
it for all (what one excepts, `ValueTable.except_anew` takes back), and rows that the query cannot tell apart are merged
alike in every cell, for they go by no promise. So a copy that has left one cell, and is dealt to it anew, can add
nothing there that is not out: all its results with rows of that cell were given or are ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.plan.dealing import dealt_columns
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.row_values import numbers
from penstock.runtime.input.grid import CellLine, Grid
from penstock.runtime.join.rows import ABSENT
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.segment import Segment


@dataclass(frozen=True)
class RowsWay:
    """Where the rows of one table go."""

    where: Callable[[Segment], list[CellLine]]
    names: Callable[[Segment], list[Ints]] | None = None
    """Numbers by which copies are told to be one row; None where there are none."""
    has_homes: bool = False
    """Whether one of its copies counts for all."""


@dataclass(frozen=True)
class Ways:
    """From one grid of a query to another."""

    plan: Plan
    before: Grid
    after: Grid

    def of_rows(self, alias: str) -> RowsWay:
        """Stored rows of a stream."""
        return self._along(alias, None, _by_place)

    def of_values(self, alias: str, columns: Iterable[str]) -> RowsWay:
        """What is remembered of values of some columns."""
        return self._along(alias, frozenset(columns), _by_value)

    def of_left_rows(self, alias: str, columns: Iterable[str]) -> RowsWay:
        """What is remembered of rows that left, by some of their columns."""
        return self._along(alias, frozenset(columns), _by_place)

    def _along(self, alias: str, columns: frozenset[str] | None, names: Callable[[Segment], list[Ints]]) -> RowsWay:
        is_copied = self.before.copies(self.plan, alias, columns)

        def where(segment: Segment) -> list[CellLine]:
            if segment.table.num_columns:
                return self.after.lines(self.plan, alias, columns, segment.table)
            # A table without columns does not know how many rows it has, and is of a stream without a key.
            return [CellLine(None, np.zeros(len(segment), np.int64), self.after.offsets(self.after.cut_axes))]

        return RowsWay(where, names if is_copied else None, has_homes=columns is None)

    def of_tuples(self, aliases: Sequence[str], stored: Mapping[str, Segment | None]) -> RowsWay:
        """Rows named by the places of their tuples, of which these are all that there are."""
        assert not self.after.splits, "rows that wait over several streams are of joins whose keys are not split"
        known = {alias: self._coordinates(alias, rows) for alias, rows in stored.items() if rows is not None}

        def where(segment: Segment) -> list[CellLine]:
            return self._by_tuples([(alias, segment.codes(alias)) for alias in aliases], known)

        return RowsWay(where, lambda segment: [segment.codes(alias) for alias in aliases])

    def _coordinates(self, alias: str, rows: Segment) -> tuple[Ints, dict[int, Ints]]:
        order = np.argsort(rows.arrival, kind="stable")
        along = self.after.along(self.plan, alias, None, rows.table)
        return rows.arrival[order], {axis: added[order] for axis, added in along.items()}

    def _by_tuples(
        self, named: list[tuple[str, Ints]], known: Mapping[str, tuple[Ints, dict[int, Ints]]]
    ) -> list[CellLine]:
        found = np.zeros(len(named[0][1]), np.int64)
        free = np.zeros((len(found), len(self.after.cut_axes)), np.bool_)
        for number, axis in enumerate(self.after.cut_axes):
            is_open: Bools = np.ones(len(found), np.bool_)
            for alias, places in named:
                there = np.flatnonzero(is_open & (places != ABSENT))
                if len(there) and dealt_columns(self.plan, axis, alias):
                    arrivals, along = known[alias]
                    found[there] += along[axis][np.searchsorted(arrivals, places[there])]
                    is_open[there] = False
            free[:, number] = is_open
        lines = []
        for pattern in np.unique(free, axis=0):
            rows = np.flatnonzero((free == pattern).all(axis=1))
            open_axes = [axis for axis, is_free in zip(self.after.cut_axes, pattern, strict=True) if is_free]
            lines.append(CellLine(rows, found[rows], self.after.offsets(open_axes)))
        return lines


def _by_place(segment: Segment) -> list[Ints]:
    return [segment.arrival]


def _by_value(segment: Segment) -> list[Ints]:
    return [numbers(segment.column(name)) for name in segment.table.column_names]


def together(pieces: Sequence[Segment], way: RowsWay | None = None) -> Segment | None:
    """The living rows of all pieces, each once, in the order of batches and of arrival; None if there are none."""
    living = [piece.taken(piece.living()) for piece in pieces if piece.live]
    if not living:
        return None
    names = dict.fromkeys(name for piece in living for name in piece.marks)
    whole = Segment(
        pa.concat_tables([piece.table for piece in living], promote_options="default"),
        np.concatenate([piece.arrival for piece in living]),
        np.concatenate([piece.batch for piece in living]),
        np.concatenate([piece.home for piece in living]),
        {name: np.concatenate([piece.mask(name) for piece in living]) for name in names},
    )
    counts = [piece.counts for piece in living if piece.counts is not None]
    whole.counts = np.concatenate(counts) if counts else None
    if way is not None and way.names is not None:
        whole = _once(whole, np.stack(way.names(whole), axis=1))
    return whole.taken(np.lexsort((whole.arrival, whole.batch)))


def _once(whole: Segment, named: Ints) -> Segment:
    """Of copies one, with what any of them knows: a row is done on one side of a join only where all are."""
    _, first, of = np.unique(named, axis=0, return_index=True, return_inverse=True)
    of = of.reshape(-1)
    if len(first) == len(whole):
        return whole
    found = whole.taken(first)
    copies = np.bincount(of)
    for name, mask in whole.marks.items():
        having = np.bincount(of, mask)
        found.marks[name] = having == copies if name == LEFT else having > 0
    np.maximum.at(found.batch, of, whole.batch)
    if found.counts is not None and whole.counts is not None:
        np.maximum.at(found.counts, of, whole.counts)
    return found


def dealt(whole: Segment | None, way: RowsWay, cells: int) -> list[Segment | None]:
    """The rows of each cell."""
    if whole is None:
        return [None] * cells
    lines = way.where(whole)
    found: list[Segment | None] = []
    for number in range(cells):
        mine, home = _share(lines, number)
        share = whole.taken(mine) if len(mine) else None
        if share is not None and way.has_homes:
            share.home = home
            share.live_at_home = int(np.count_nonzero(share.home))
        found.append(share)
    return found


def _share(lines: Sequence[CellLine], cell: int) -> tuple[Ints, Bools]:
    """The rows that go to a cell, in their order, and which of them are at home there."""
    rows, homes = [], []
    for line in lines:
        mine = np.flatnonzero(np.isin(cell - line.base, line.offsets))
        rows.append(mine if line.rows is None else line.rows[mine])
        homes.append(line.base[mine] == cell)
    every, home = np.concatenate(rows), np.concatenate(homes)
    order = np.argsort(every, kind="stable")
    return every[order], home[order]
