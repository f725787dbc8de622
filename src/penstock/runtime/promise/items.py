"""Punctuations that close what the second stage remembers, in one cell: does the cell still store their values?

A punctuation is told to the second stage in every batch from the one in which it came: as **blocked** while a row of
the stream with its values is stored here, and once as free when none is. Every cell that may store such a row is given
the punctuation in the same batch, so the stage may forget the item when some cell says free and none says blocked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.plan.items import ItemCloser
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.input.batch import Chunk
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.synopsis import ALL, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness

BLOCKED = "__blocked"
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
        blocked: Bools = np.zeros(len(ids), np.bool_)
        blocked[match_keys(self.values.own, ids, stored, ALL)[0]] = True
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
