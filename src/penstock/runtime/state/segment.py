"""A segment: rows of one source that arrived together, as immutable columns, with masks that say which still matter.

Rows stand in the order of arrival. What can be derived (codes, hashes, key order, time order) is made when first
asked for and kept. A key index covers the rows alive when it was built: rows only ever die.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Bools, Ints, codes, empty_ids, flat, is_plain, stable_order, ticks
from penstock.runtime.columns.hashing import Hashes, combine, hashes
from penstock.runtime.state.encoding import encoded, held_bytes, one_run, plain, plain_table
from penstock.runtime.state.key_index import KeyIndex, ValueIndex, is_dense

_LOOKED_AT = 1024
"""Rows that are looked at together for one that lives."""

_POINTING = ("arrow", "codes", "ticks")
"""What is derived that may point into the columns themselves; it is made anew in no time."""

MERGE_BELOW = 1 << 16
"""Rows from which on a segment is merged with no neighbour."""


class Segment:
    """Rows of one source."""

    def __init__(self, table: Any, arrival: Ints, batch: Ints, home: Bools, marks: dict[str, Bools]) -> None:
        self.stored = table.combine_chunks()
        """Its columns as they are held: of one that was saved, some may be dictionaries (`encoding.py`)."""
        self.arrival = arrival
        """The place of each row among all data rows of its stream, from 0."""
        self.batch = batch
        self.home = home
        self.marks = marks
        """By closer, the rows that a key promise has closed."""
        self.alive = np.ones(len(arrival), np.bool_)
        self.live = len(arrival)
        self.live_at_home = int(np.count_nonzero(home))
        self.name: str | None = None
        """Its key in the store, once it was saved."""
        self.touched = True
        """Whether a mask or a count changed since the last save."""
        self.counts: Ints | None = None
        """How many rows each stands for, where rows are merged and it matters."""
        self._derived: dict[tuple[str, ...], Any] = {}

    def __len__(self) -> int:
        return len(self.arrival)

    def living(self) -> Ints:
        """The rows that still matter."""
        return np.arange(len(self)) if self.live == len(self) else np.flatnonzero(self.alive)

    @property
    def table(self) -> Any:
        """Its columns, none of them encoded."""
        return plain_table(self.stored)

    @table.setter
    def table(self, table: Any) -> None:
        self.stored = table

    def column(self, name: str) -> Any:
        """The values of a column, as one Arrow array."""
        return self._once(("arrow", name), lambda: plain(self.stored.column(name)))

    def pick(self, name: str, rows: Ints) -> Any:
        """The values of some rows; a column that is encoded stays so."""
        return plain(flat(self.stored.column(name)).take(pa.array(rows)))

    def codes(self, name: str) -> Ints:
        """The codes of a column of a coded type."""
        found: Ints = self._once(("codes", name), lambda: codes(self.column(name)))
        return found

    def ticks(self, name: str) -> Ints:
        """The ticks of a column of a clock type."""
        found: Ints = self._once(("ticks", name), lambda: ticks(self.column(name)))
        return found

    def hashes(self, name: str) -> Hashes:
        """The hashes of a column."""
        found: Hashes = self._once(("hashes", name), lambda: hashes(self.column(name)))
        return found

    def key(self, names: tuple[str, ...]) -> Hashes:
        """The hashes of several columns together."""
        if len(names) == 1:
            return self.hashes(names[0])
        found: Hashes = self._once(("key", *names), lambda: combine([self.hashes(n) for n in names]))
        return found

    def index(self, names: tuple[str, ...]) -> KeyIndex:
        """The rows by key."""
        found: KeyIndex = self._once(("index", *names), lambda: KeyIndex.over(self.key(names), self.living()))
        return found

    def index_by_value(self, name: str) -> ValueIndex | None:
        """The rows by the code of a column; None where its codes lie too far apart."""
        found: ValueIndex | None = self._once(("by value", name), lambda: self._index_by_value(name))
        return found

    def _index_by_value(self, name: str) -> ValueIndex | None:
        low, high = self.span(name)
        if ("index", name) in self._derived or not is_dense(low, high, self.live):
            return None
        # Rows only die: those that live now had their say in the span.
        return ValueIndex.over(self.codes(name), self.living(), low, high)

    def span(self, name: str) -> tuple[int, int]:
        """The least and the largest code of a column, of the rows alive when it was first asked for."""
        found: tuple[int, int] = self._once(("span", name), lambda: self._span(name))
        return found

    def _span(self, name: str) -> tuple[int, int]:
        values = self.codes(name) if self.live == len(self) else self.codes(name)[self.alive]
        return int(values.min()), int(values.max())

    def least_count(self) -> int:
        """No row stands for fewer: the least count when it was first asked for. Counts only grow."""
        found: int = self._once(("least count",), lambda: 0 if self.counts is None else int(self.counts.min()))
        return found

    def rises(self, how: str, name: str) -> bool:
        """Whether the codes or ticks of a column never fall in the order of the rows."""
        found: bool = self._once(("rises", how, name), lambda: _rises(self._numbers(how, name)))
        return found

    def _numbers(self, how: str, name: str) -> Ints:
        return self.ticks(name) if how == "ticks" else self.codes(name)

    def sorted_by(self, how: str, name: str) -> tuple[Ints, Ints]:
        """The codes or ticks of a column in ascending order, and the rows they belong to."""
        found: tuple[Ints, Ints] = self._once(("sorted", how, name), lambda: self._sort(how, name))
        return found

    def in_range(self, how: str, name: str, above: int, upto: int) -> Ints:
        """The living rows with above < value <= upto.

        Where the value rises in order of arrival it is searched. Other small segments are soon merged, so sorting them
        would be in vain: there every row is looked at.
        """
        is_sorted = self.rises(how, name)
        if not is_sorted and len(self) < MERGE_BELOW:
            read = self._numbers(how, name)
            return np.flatnonzero((read > above) & (read <= upto) & self.alive)
        values, order = (self._numbers(how, name), None) if is_sorted else self.sorted_by(how, name)
        if not len(values) or values[-1] <= above or values[0] > upto:
            return empty_ids()
        first = 0 if above < values[0] else np.searchsorted(values, above, "right")
        end = np.searchsorted(values, upto, "right")
        rows: Ints = np.arange(first, end) if order is None else order[first:end]
        return rows[self.alive[rows]]

    def least_living(self, how: str, name: str) -> int:
        """The least code or tick of the living rows, of which there must be one; it costs what has died since."""
        values, order = self.sorted_by(how, name)
        place: list[int] = self._once(("least living", how, name), lambda: [0])
        # Rows only die: none before the place lives.
        while not self.alive[order[place[0]]]:
            some = self.alive[order[place[0] : place[0] + _LOOKED_AT]]
            place[0] += int(np.argmax(some)) if some.any() else len(some)
        return int(values[place[0]])

    def _sort(self, how: str, name: str) -> tuple[Ints, Ints]:
        values = self._numbers(how, name)
        rows = np.flatnonzero(self.alive)
        order = rows[stable_order(values[rows])]
        return values[order], order

    def _once(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def derive_as(self, other: Segment) -> None:
        """Take over what another has derived of the same values; nothing where it may lack a row that lives here.

        An index and the order of a column are of the rows that lived when they were made, and rows only die: so those
        that live here must live there. Counts are another matter, since they only grow. Columns of which nothing was
        derived are not looked at: they may lie on a disk.
        """
        derived = {key: made for key, made in other._derived.items() if key[0] not in ("least count", *_POINTING)}
        names = {name for key in derived for name in key[1:]} & set(self.stored.column_names)
        if len(self) != len(other) or (self.alive & ~other.alive).any():
            return
        if all(plain(self.stored.column(name)).equals(plain(other.stored.column(name))) for name in names):
            self._derived = derived

    def rest_on(self, table: Any, arrival: Ints, batch: Ints) -> None:
        """Hold the same values where these are: in a mapped file, of which only what is asked for is read."""
        self.stored, self.arrival, self.batch = table, arrival, batch
        self._derived = {key: made for key, made in self._derived.items() if key[0] not in _POINTING}

    def encode(self) -> None:
        """Hold what repeats as it is stored."""
        self.batch = one_run(self.batch)
        for place, name in enumerate(self.stored.column_names):
            column = self.stored.column(place)
            if (found := encoded(column)) is not column:
                self.stored = self.stored.set_column(place, name, found)
                self._derived.pop(("arrow", name), None)

    def mask(self, name: str) -> Bools:
        """The rows that have a mark; none where rows of this kind cannot have it."""
        found = self.marks.get(name)
        return np.zeros(len(self), np.bool_) if found is None else found

    def kill(self, rows: Ints) -> None:
        """Mark rows as purged; each must be alive."""
        self.alive[rows] = False
        self.live -= len(rows)
        self.live_at_home -= int(np.count_nonzero(self.home[rows]))
        self.touched = True

    def replace(self, name: str, values: Any) -> None:
        """Give a column other values; only before the segment is first saved."""
        assert self.name is None
        self.stored = self.stored.set_column(self.stored.column_names.index(name), name, values)
        self._derived = {key: made for key, made in self._derived.items() if name not in key[1:]}

    def narrow(self, columns: tuple[str, ...]) -> None:
        """Let go of columns that only the running batch had a use for."""
        self.stored = self.stored.select(list(columns))

    def nbytes(self) -> int:
        """The bytes of its columns and masks, what is derived left out."""
        counts = 0 if self.counts is None else self.counts.nbytes
        own = int(self.stored.nbytes) + self.arrival.nbytes + held_bytes(self.batch) + counts
        return own + len(self) * (2 + len(self.marks))

    def under(self, marks: dict[str, Bools]) -> Segment:
        """The same rows, and the same masks of who is alive, under other marks."""
        twin = copy(self)
        twin.marks = marks
        return twin

    def taken(self, rows: Ints) -> Segment:
        """Some of the rows as a segment of their own."""
        marks = {name: mask[rows] for name, mask in self.marks.items()}
        table = plain_table(self.stored.take(pa.array(rows)))
        chosen = Segment(table, self.arrival[rows], self.batch[rows], self.home[rows], marks)
        chosen.counts = None if self.counts is None else self.counts[rows]
        return chosen

    @classmethod
    def merged(cls, segments: list[Segment]) -> Segment:
        """The living rows of neighbouring segments, in order of arrival, as one segment."""
        pairs = [(s, s.living() if s.live < len(s) else slice(None)) for s in segments]
        together = cls(
            _stacked([(s.stored, rows) for s, rows in pairs]),
            np.concatenate([s.arrival[k] for s, k in pairs]),
            np.concatenate([s.batch[k] for s, k in pairs]),
            np.concatenate([s.home[k] for s, k in pairs]),
            {name: np.concatenate([s.marks[name][k] for s, k in pairs]) for name in segments[0].marks},
        )
        if segments[0].counts is not None:
            together.counts = np.concatenate([s.counts[k] for s, k in pairs if s.counts is not None])
        return together


def _stacked(pieces: list[tuple[Any, Any]]) -> Any:
    """Some rows of tables with the same columns, one table after the other. Plain numbers are faster without Arrow."""
    columns = {}
    for name in pieces[0][0].column_names:
        parts = [(flat(table.column(name)), rows) for table, rows in pieces]
        if all(is_plain(part.type) and not part.null_count for part, _ in parts):
            columns[name] = pa.array(np.concatenate([part.to_numpy()[rows] for part, rows in parts]))
        else:
            taken = [part if isinstance(rows, slice) else part.take(pa.array(rows)) for part, rows in parts]
            columns[name] = pa.concat_arrays([plain(part) for part in taken])
    return pa.table(columns)


def _rises(values: Ints) -> bool:
    return bool((values[1:] >= values[:-1]).all())
