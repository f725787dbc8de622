"""DISTINCT: the second stage. Gives each output row once, whichever cell and batch it came from.

Rows are compared as Spark's DISTINCT does (`row_values.py`). Where SELECT has expressions, Spark has evaluated them,
and the rows are those of SELECT; otherwise they are the columns that the core hands out. A remembered row is forgotten
once an output column is the event time of a stream whose frontier has passed it, or a punctuation has closed it: no
result can bring that row again. Where neither is known, nothing is forgotten; whether that is bounded is the verdict's
business. Under a budget at most `room` rows, or bytes of them, are remembered: a row for which there is no room is not
given, since it could come again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.runtime import row_bytes
from penstock.runtime.aggregate.numbering import grouped
from penstock.runtime.closed_items import NO_REPORTS, ClosedItems, Reports
from penstock.runtime.codes import Bools, Ints, flat
from penstock.runtime.hashing import mix
from penstock.runtime.row_values import null_safe_equal, row_hashes
from penstock.runtime.segment import Segment
from penstock.runtime.state.component import Component, State
from penstock.runtime.store import Changes, Entries
from penstock.runtime.synopsis import ALL, Synopsis

_KEY = "__row"


class Distinct(Component):
    """The rows given so far, as far as they may come again."""

    tables = ("seen",)
    numbers = ("_batch", "dropped")
    parts = ("items",)

    def __init__(self, plan: Plan, room: int | None = None) -> None:
        self.room = room
        self.in_bytes = plan.evict is not None and plan.evict.rows is None
        self.dropped = 0
        """Results, since the beginning, for which there was no room."""
        self.dropped_now = 0
        given = {o.name: o.name for o in plan.outputs}
        if plan.distinct_over_expressions:
            given = {c.output: c.name for c in plan.selected if c.output is not None}
            self.names = tuple(c.name for c in plan.selected)
        else:
            self.names = tuple(given)
        self.clocks = {
            o.alias: given[o.name]
            for o in plan.outputs
            if plan.by_alias[o.alias].event_time == o.column and o.name in given
        }
        self.items = ClosedItems(plan, given)
        self.seen = Synopsis((*self.names, _KEY))
        self._batch = -1
        self._state = State(self)

    def step(
        self,
        batch: int,
        rows: Any,
        frontier: Mapping[str, int],
        reports: Reports = NO_REPORTS,
        *,
        is_last: bool = False,
    ) -> Any:
        """The rows that were not given before; `frontier` is the least over all cells of the first stage.

        After the last batch none can come again.
        """
        self._batch = max(batch, self._batch + 1)
        self.dropped_now = 0
        rows = new = rows.select(list(self.names))
        if new.num_rows:
            new = self._unseen(new)
            table = new.append_column(_KEY, pa.array(row_hashes(new).view(np.int64)))
            count = table.num_rows
            places = np.arange(count, dtype=np.int64)
            self.seen.segments.append(Segment(table, places, np.full(count, self._batch), np.ones(count, np.bool_), {}))
            self.seen.rebase()
        self._forget(frontier)
        closed = self.items.found(reports, self.seen)
        if is_last:
            closed = self.seen.ids(ALL)
        if len(closed):
            self.seen.kill(closed)
        if self.room is not None and new.num_rows:
            remembered = np.flatnonzero(self.seen.segments[-1].alive)
            if len(remembered) and (over := self._over(self.room, len(remembered))) > 0:
                new = self._without(rows, new, remembered[-over:])
        self._state.finish()
        if self.in_bytes and self.room is not None and self.nbytes > self.room:
            self.seen.compact()
        return new

    def _over(self, room: int, new: int) -> int:
        """For how many of the last rows, so many of which are new, there is no room."""
        if not self.in_bytes:
            return self.seen.live - room
        if row_bytes.table_most(self.seen.segments) <= room:
            return 0
        self.seen.compact()
        *old, fresh = self.seen.segments
        left = room - row_bytes.table_most(old) - row_bytes.overhead(len(self.seen.columns))
        fits = np.searchsorted(np.cumsum(row_bytes.most(fresh.table.columns)), left, "right")
        return new - int(fits)

    def _without(self, rows: Any, new: Any, places: Ints) -> Any:
        """The new rows but for those at some places, which stand last among what is remembered."""
        self.seen.kill(self.seen.ids(ALL)[-len(places) :])
        given: Bools = np.ones(new.num_rows, np.bool_)
        given[places] = False
        gone = row_hashes(new.filter(pa.array(~given)))
        self.dropped_now = int(np.isin(row_hashes(rows), gone).sum())
        self.dropped += self.dropped_now
        return new.filter(pa.array(given))

    def _unseen(self, rows: Any) -> Any:
        keys = row_hashes(rows)
        places, met = self.seen.probe(ALL, (_KEY,), mix(keys))
        known: Bools = np.zeros(rows.num_rows, np.bool_)
        if len(places):
            equal = self._same(rows, places, met)
            known[places[equal]] = True
        rows = rows.filter(pa.array(~known))
        return rows.take(pa.array(grouped([flat(rows.column(name)) for name in self.names], rows.num_rows).first))

    def _same(self, rows: Any, places: Ints, met: Ints) -> Bools:
        equal: Bools = np.ones(len(places), np.bool_)
        for name in self.names:
            equal &= null_safe_equal(flat(rows.column(name)).take(places), self.seen.arrow(name, met))
        return equal

    def _forget(self, frontier: Mapping[str, int]) -> None:
        for alias, name in self.clocks.items():
            low = frontier.get(alias)
            if low is None:
                continue
            for base, segment in list(self.seen.part(ALL)):
                values, order = segment.sorted_by("ticks", name)
                rows = order[: int(np.searchsorted(values, low, "left"))]
                rows = rows[segment.alive[rows]]
                rows = rows[_present(segment, name, rows)]
                if len(rows):
                    self.seen.kill(rows + base)

    @property
    def live(self) -> int:
        """The rows remembered."""
        return self.seen.live

    @property
    def nbytes(self) -> int:
        """Their bytes."""
        return self.seen.nbytes

    def save(self) -> Changes:
        """What changed since the last save."""
        return self._state.save()

    @classmethod
    def restore(cls, plan: Plan, entries: Entries, room: int | None = None) -> Distinct:
        """The stage whose state a store holds."""
        stage = cls(plan, room)
        stage._state.load(entries)
        return stage


def _present(segment: Segment, name: str, rows: Ints) -> Bools:
    column = segment.column(name)
    if not column.null_count:
        return np.ones(len(rows), np.bool_)
    return column.is_valid().to_numpy(zero_copy_only=False)[rows]  # type: ignore[no-any-return]
