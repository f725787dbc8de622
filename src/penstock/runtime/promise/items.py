"""Punctuations that close what the second stage remembers: does some cell still store their values?

**In a cell** (`ItemWatch`). A punctuation is told to the second stage in every batch from the one in which it came: as
**blocked** while a row of the stream with its values is stored here, and once as free when none is. Every cell that may
store such a row is given the punctuation in the same batch, so the stage may forget the item when some cell says free
and none says blocked.

**In the stage** (`ClosedItems`). What was told in a batch in which not every cell has spoken waits for the next one. A
value that no cell blocks any more is closed: no result brings it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.parts import ItemCloser
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Ints, union
from penstock.runtime.input.batch import Chunk
from penstock.runtime.match.key_matching import Keyed, meets, reached
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness

BLOCKED = "__ps_blocked"
"""Whether a cell still stores a row with the values of a punctuation."""


class ItemWatch(Watch):
    """The punctuations of one scheme that wait for rows of their stream to leave."""

    parts = ("values",)

    def __init__(self, plan: Plan, closer: ItemCloser) -> None:
        super().__init__(plan, plan.promises[closer.promise])
        self.closer = closer
        self.values = ValueTable(closer.columns)
        self.told: Any | None = None
        """What the second stage must know of this batch; None if nothing."""
        self._arrived: list[Any] = []

    @property
    def waiting(self) -> Synopsis:
        """The punctuations."""
        return self.values.rows

    def read(self, chunk: Chunk, count: int) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        if self.closer.promise in chunk.punctuations:
            self._arrived.append(chunk.punctuations[self.closer.promise].select(list(self.closer.columns)))

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:  # noqa: ARG002 - a hook
        """See Watch."""
        self._take(step.clock.batch)
        ids = self.waiting.ids(ALL)
        self.told = None
        if not len(ids):
            return
        stored = Keyed(step.synopses[self.closer.alias], self.closer.columns)
        blocked = meets(self.values.own, ids, stored, ALL)
        values = {column: self.waiting.arrow(column, ids) for column in self.closer.columns}
        self.told = pa.table({**values, BLOCKED: pa.array(blocked)})
        self.waiting.kill(ids[~blocked])

    def _take(self, batch: int) -> None:
        """Let the punctuations of the batch wait, each value once; a NULL promises nothing."""
        arrived, self._arrived = self._arrived, []
        if not arrived:
            return
        table = pa.concat_tables(arrived)
        self.values.arrive(table, np.arange(table.num_rows), batch)

    def forget(self, count: int) -> int:
        """See Watch: the items are then kept for ever, within the room that they have."""
        return self.values.forget(count)


@dataclass(frozen=True)
class Reports:
    """What the cells said of punctuations in one batch: tables by the number of the closer, and whether all spoke."""

    tables: Mapping[int, list[Any]] = field(default_factory=dict)
    complete: bool = True


NO_REPORTS = Reports()


class ClosedItems(Component):
    """The punctuations of one bucket of the second stage; `names` says what the columns of items are called there."""

    arrays = ("free",)

    def __init__(self, plan: Plan, names: Mapping[str, str] | None = None) -> None:
        self.closers = plan.item_closers
        self.names = names
        self.free: dict[int, Any] = dict.fromkeys(range(len(self.closers)))
        """By closer, values that some cell has called free, where the others had not spoken; None if there are none."""

    def found(self, reports: Reports, items: Synopsis) -> Ints:
        """The items that nothing can bring again, after what a batch reports."""
        closed = []
        for number, closer in enumerate(self.closers):
            values = self._closed(number, closer, reports)
            names = closer.names if self.names is None else tuple(self.names[name] for name in closer.names)
            if values is not None and items.live:
                told = _synopsis(values)
                closed.append(reached(Keyed(told, closer.columns), told.ids(ALL), Keyed(items, names), ALL))
        return union(closed) if closed else np.zeros(0, np.int64)

    def _closed(self, number: int, closer: ItemCloser, reports: Reports) -> Any | None:
        tables = list(reports.tables.get(number, ()))
        if (waiting := self.free[number]) is not None:
            tables.append(waiting)
            self.free[number] = None
        if not tables:
            return None
        told = pa.concat_tables(tables)
        free = told.filter(pc.invert(told.column(BLOCKED)))
        if not free.num_rows:
            return None
        if not reports.complete:
            self.free[number] = free
            return None
        blocked = _synopsis(told.filter(told.column(BLOCKED)))
        asked = _synopsis(free)
        open_ = meets(Keyed(asked, closer.columns), asked.ids(ALL), Keyed(blocked, closer.columns), ALL)
        return free.filter(pa.array(~open_))


def _synopsis(values: Any) -> Synopsis:
    columns = [name for name in values.column_names if name != BLOCKED]
    found = Synopsis(tuple(columns))
    size = values.num_rows
    table = values.select(columns).combine_chunks()
    found.segments.append(Segment(table, np.arange(size), np.zeros(size, np.int64), np.ones(size, np.bool_), {}))
    found.rebase()
    return found
