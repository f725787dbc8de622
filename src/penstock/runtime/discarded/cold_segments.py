"""Rows of one source that were set aside, as piles: immutable tables, each with a filter over its keys in memory.

On disk (the **cold tier** of RECOVER) the rows of a pile are an entry of the store, `cold/<name>`, committed
with the batch that wrote it and read back only when its filter has a key that is asked for; `fetch` reads it. The
filters are entries of their own, which a restored cell reads whole. In memory (the shadows of monitored constraints)
the rows stay with the cell. Neighbours of like size are taken together (`tiers.py`), so that there are few filters to
ask. Rows keep the marks that they are set aside with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Bools, Ints, flat
from penstock.runtime.discarded.bloom import BloomFilter
from penstock.runtime.promise.marks import MATCHED
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import COLD, EntryReader, EntryWriter, from_ipc, to_ipc
from penstock.runtime.state.tiers import to_merge

_MERGE_BELOW = 1 << 17
"""Rows from which on a pile is merged with no neighbour."""
_ARRIVAL, _BATCH, _HOME, _STANDS_FOR = "__ps_arrival", "__ps_batch", "__ps_home", "__ps_stands_for"
_MARK = "__ps_mark_"
_MATCHED = "__ps_matched"


@dataclass(eq=False)
class ColdSegment:
    """Rows set aside together."""

    rows: int
    filters: dict[str, BloomFilter]
    """By column that meets others."""
    last: int
    """The largest arrival number among them."""
    since: dict[str, int] = field(default_factory=dict)
    """Where the monitored constraints stood when the last of them was set aside."""
    name: str | None = None
    """Its name in the store, once it was saved."""
    segment: Segment | None = None
    """The rows, where they are in memory."""


class ColdSegments:
    """The piles of one alias."""

    def __init__(self, alias: str, keys: tuple[str, ...], marks: tuple[str, ...], *, on_disk: bool) -> None:
        self.alias = alias
        self.keys = keys
        self.marks = marks
        self.on_disk = on_disk
        self.piles: list[ColdSegment] = []
        self.fetch: Callable[[str], Any] | None = None
        """Reads an entry of the store; while None, rows on their way to it stay in memory."""
        self._gone: list[str] = []

    @property
    def rows(self) -> int:
        """The rows set aside."""
        return sum(pile.rows for pile in self.piles)

    @property
    def nbytes(self) -> int:
        """The bytes in memory: filters, and rows that are not on disk."""
        filters = sum(found.bits.nbytes for pile in self.piles for found in pile.filters.values())
        held = [pile.segment for pile in self.piles if pile.segment is not None and not self.on_disk]
        return filters + sum(segment.nbytes() for segment in held)

    def add(self, segment: Segment, since: dict[str, int]) -> None:
        """Set rows aside."""
        self.piles.append(self._pile(segment, since))
        while count := to_merge([pile.rows for pile in self.piles], _MERGE_BELOW):
            last = self.piles[-count:]
            together = Segment.merged([self.rows_of(pile) for pile in last])
            for pile in last:
                self.drop(pile)
            self.piles.append(self._pile(together, last[-1].since))

    def hold(self, piles: Iterable[tuple[Segment, dict[str, int]]]) -> None:
        """Let these rows be aside, and no others."""
        for pile in list(self.piles):
            self.drop(pile)
        for segment, since in piles:
            self.piles.append(self._pile(segment, since))

    def _pile(self, segment: Segment, since: dict[str, int]) -> ColdSegment:
        filters = {column: BloomFilter.over(segment.hashes(column)) for column in self.keys}
        return ColdSegment(len(segment), filters, int(segment.arrival.max()), since, segment=segment)

    def sample(self, segment: Segment, rows: Ints) -> ColdSegment:
        """A pile of some of the rows of one, for as long as there is room."""
        return self._pile(segment.taken(rows), {})

    def drop(self, pile: ColdSegment) -> None:
        """Let a pile go for good."""
        self.piles.remove(pile)
        if pile.name is not None:
            self._gone += [self._entry(pile), self._filter_entry(pile)]

    def take_out(self, pile: ColdSegment, segment: Segment, rest: Ints) -> None:
        """Let all rows of a pile go but some."""
        place = self.piles.index(pile)
        self.drop(pile)
        if len(rest):
            self.piles.insert(place, self._pile(segment.taken(rest), pile.since))

    def rows_of(self, pile: ColdSegment) -> Segment:
        """The rows of a pile."""
        if pile.segment is not None:
            return pile.segment
        assert self.fetch is not None
        return self._segment(from_ipc(self.fetch(self._entry(pile))))

    def _segment(self, table: Any) -> Segment:
        hidden = [c for c in (_ARRIVAL, _BATCH, _HOME, _STANDS_FOR) if c in table.column_names]
        arrival, batch, home, *counts = (flat(table.column(c)).to_numpy(zero_copy_only=False) for c in hidden)
        marks: dict[str, Bools] = {name: np.zeros(len(arrival), np.bool_) for name in self.marks}
        for name in self.marks:
            if (column := _mark_column(name)) in table.column_names:
                marks[name] = np.array(flat(table.column(column)).to_numpy(zero_copy_only=False))
                hidden.append(column)
        segment = Segment(table.drop_columns(hidden), arrival, batch, home, marks)
        segment.counts = counts[0] if counts else None
        return segment

    def _entry(self, pile: ColdSegment) -> str:
        return f"{COLD if self.on_disk else 'shadow/'}{pile.name}"

    def _filter_entry(self, pile: ColdSegment) -> str:
        return f"filter/{pile.name}"

    def write(self, name: str, to: EntryWriter) -> list[Any]:
        """See Table."""
        for pile in self.piles:
            if pile.name is None:
                assert pile.segment is not None
                pile.name = f"{name}/{to.number():012d}"
                own = pile.segment
                hidden = {_ARRIVAL: own.arrival, _BATCH: own.batch, _HOME: own.home, _STANDS_FOR: own.counts}
                hidden |= {_mark_column(mark): mask for mark, mask in own.marks.items() if mask.any()}
                # Not added to the table: one without columns would not know how many rows it has.
                columns = {column: own.table.column(column) for column in own.table.column_names}
                columns |= {column: pa.array(values) for column, values in hidden.items() if values is not None}
                to.put[self._entry(pile)] = to_ipc(pa.table(columns))
                bits = {column: pa.array(found.bits) for column, found in pile.filters.items()}
                to.put[self._filter_entry(pile)] = to_ipc(pa.table(bits))
            if self.on_disk and self.fetch is not None:
                pile.segment = None
        to.delete += self._gone
        self._gone = []
        return [[pile.name, pile.rows, pile.last, pile.since] for pile in self.piles]

    def read(self, name: str, told: Any, source: EntryReader) -> None:  # noqa: ARG002 - piles have names of their own
        """See Table."""
        for own, rows, last, since in told:
            pile = ColdSegment(rows, {}, last, dict(since), own)
            bits = from_ipc(source.take(self._filter_entry(pile)))
            pile.filters = {
                c: BloomFilter(flat(bits.column(c)).to_numpy(zero_copy_only=False)) for c in bits.column_names
            }
            if not self.on_disk or (self.fetch is None and self._entry(pile) in source.entries):
                pile.segment = self._segment(from_ipc(source.take(self._entry(pile))))
            self.piles.append(pile)


def _mark_column(mark: str) -> str:
    """The column that holds a mark."""
    return _MATCHED if mark == MATCHED else _MARK + mark
