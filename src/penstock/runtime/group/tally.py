"""A tally: one row for each key, with measures that are added to. What the second stage of a grouped query remembers.

A row that is added to is written anew, and the old one goes: segments are written once. Keys are compared as Spark
groups them, NULLs among them; a hash finds the row, the values decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import Fold
from penstock.runtime.columns import row_bytes
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.columns.row_values import null_safe_equal, row_hashes
from penstock.runtime.group.measures import Measured, Numbers, column_names, from_columns
from penstock.runtime.group.numbering import grouped
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

_KEY, _GROUP = "__ps_key", "__ps_group"

Columns = Mapping[str, Any]
"""Arrow arrays of one length."""


@dataclass(frozen=True)
class Kept:
    """One measure of a tally."""

    name: str
    fold: Fold
    numbers: Numbers = Numbers.EXACT


class Tally(Component):
    """Rows by key; the first `prefix` columns of the key are the group, whose rows can be found together."""

    tables = ("seen",)

    def __init__(self, keys: tuple[str, ...], measures: tuple[Kept, ...], prefix: int = 0) -> None:
        self.keys = keys
        self.measures = measures
        self.group = keys[:prefix]
        self._names = {m.name: column_names(m.fold, m.name, m.numbers) for m in measures}
        kept = [name for names in self._names.values() for name in names]
        self._hashed = (_KEY, _GROUP) if prefix else (_KEY,)
        self.seen = Synopsis((*keys, *kept, *self._hashed))

    @property
    def live(self) -> int:
        """The rows remembered."""
        return self.seen.live

    @property
    def nbytes(self) -> int:
        """Their bytes."""
        return self.seen.nbytes

    def most_bytes(self, keys: Columns) -> Ints:
        """The most that a row for each of some keys takes."""
        return row_bytes.most([keys[name] for name in self.keys], len(self.seen.columns) - len(self.keys))

    def most_taken(self) -> int:
        """The most that the rows can take once they are merged and rewritten, and more are added."""
        return row_bytes.table_most(self.seen.segments) + row_bytes.overhead(len(self.seen.columns))

    def least_bytes(self, ids: Ints) -> int:
        """What rows take at least."""
        return int(row_bytes.least([self.seen.arrow(name, ids) for name in self.seen.columns]).sum()) if len(ids) else 0

    def find(self, keys: Columns) -> tuple[Ints, Ints]:
        """The places of keys that are remembered, and the rows."""
        return self._find(keys, self.keys, _KEY)

    def find_group(self, keys: Columns) -> tuple[Ints, Ints]:
        """All pairs (place in keys, row of that group)."""
        return self._find(keys, self.group, _GROUP if self.group else None)

    def _find(self, keys: Columns, names: tuple[str, ...], by: str | None) -> tuple[Ints, Ints]:
        if by is None:
            ids = self.seen.ids(ALL)
            return np.zeros(len(ids), np.int64), ids
        places, ids = self.seen.probe(ALL, (by,), mix(_hashes(keys, names)))
        equal: Bools = np.ones(len(ids), np.bool_)
        for name in names if len(ids) else ():
            equal &= null_safe_equal(keys[name].take(pa.array(places)), self.seen.arrow(name, ids))
        return places[equal], ids[equal]

    def add(self, batch: int, keys: Columns, measures: Mapping[str, Measured]) -> Ints:
        """Add to rows, each key named once; gives the places of those that are new.

        Without measures there is nothing to add to a row that is known: it stays as it is.
        """
        places, ids = self.find(keys)
        size = len(next(iter(keys.values()))) if keys else len(next(iter(measures.values())))
        new: Bools = np.ones(size, np.bool_)
        new[places] = False
        if not measures:
            keys, size = {name: column.filter(pa.array(new)) for name, column in keys.items()}, int(new.sum())
            places, ids = places[:0], ids[:0]
        if not size:
            return np.flatnonzero(new)
        before = self.measured(ids)
        columns = dict(keys)
        for name, measure in measures.items():
            whole = measure.plus(places, before[name]) if len(places) else measure  # type: ignore[arg-type] # of one kind
            columns |= whole.columns(name)
        columns[_KEY] = pa.array(_hashes(keys, self.keys).view(np.int64))
        if self.group:
            columns[_GROUP] = pa.array(_hashes(keys, self.group).view(np.int64))
        self.seen.kill(ids)
        table = pa.table({name: columns[name] for name in self.seen.columns})
        self.seen.segments.append(
            Segment(table, np.arange(size, dtype=np.int64), np.full(size, batch), np.ones(size, np.bool_), {})
        )
        self.seen.rebase()
        return np.flatnonzero(new)

    def move(self, batch: int, ids: Ints, name: str, values: Any) -> None:
        """Give rows another value of one column of their key; what then has the same key is added up."""
        if not len(ids):
            return
        columns = {own: self.seen.arrow(own, ids) for own in self.keys} | {name: values}
        before = self.measured(ids)
        self.seen.kill(ids)
        rows = grouped(list(columns.values()), len(ids))
        keys = {own: column.take(pa.array(rows.first)) for own, column in columns.items()}
        self.add(batch, keys, {own: measure.summed(rows) for own, measure in before.items()})

    def columns_of(self, measure: str) -> tuple[str, ...]:
        """The columns in which a measure is kept."""
        return self._names[measure]

    def measured(self, ids: Ints) -> dict[str, Measured]:
        """The measures of rows."""
        found = {}
        for measure in self.measures:
            columns = {name: self.seen.arrow(name, ids) for name in self._names[measure.name]}
            found[measure.name] = from_columns(measure.fold, columns, measure.name)
        return found

    def values(self, name: str, ids: Ints) -> Any:
        """A column of the key."""
        return self.seen.arrow(name, ids)

    def upto(self, how: str, name: str, limit: int) -> Ints:
        """The rows whose column, which is not NULL, is at most the limit."""
        found = []
        for base, segment in list(self.seen.part(ALL)):
            values, order = segment.sorted_by(how, name)
            rows = order[: int(np.searchsorted(values, limit, "right"))]
            present = segment.alive[rows]
            if segment.column(name).null_count:
                present = present & segment.column(name).is_valid().to_numpy(zero_copy_only=False)[rows]
            found.append(rows[present] + base)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def least(self, how: str, name: str) -> int | None:
        """The least of a column that is never NULL; None if there is no row."""
        found = [segment.least_living(how, name) for _, segment in self.seen.part(ALL) if segment.live]
        return min(found, default=None)

    def forget(self, ids: Ints) -> None:
        """Let rows go."""
        if len(ids):
            self.seen.kill(ids)


def _hashes(keys: Columns, names: tuple[str, ...]) -> Hashes:
    if not names:
        return np.zeros(1, np.uint64)
    return row_hashes(pa.table({name: keys[name] for name in names}))
