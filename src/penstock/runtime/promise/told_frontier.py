"""An order that follows from below: how far a column has come is told by the block that gives the stream.

After each batch a block says from which value on a column of its answer may still be emitted: its frontier. What came
with that batch may lie below it, what comes later does not. So it is in force from the end of the batch on, and the
highest that was ever told is, since each was true when it was told. A row that comes below it all the same was made of
one that broke an order below, or of one that came back: it is counted here, and joined like any other. NULL lies below
nothing.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import DAY_TICKS, Bools, Ordinal
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.synopsis import FRESH


class FrontierWatch(Watch):
    """How far one column of a block's answer has come."""

    sees_all_rows = True
    numbers: ClassVar[tuple[str, ...]] = ("floor_ticks",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        source = plan.by_alias[promise.alias]
        self.stream = source.stream
        self.column = promise.columns[0]
        types = {column.name: column.type for column in source.read}
        self._per_day = DAY_TICKS if types.get(self.column) == "DATE" else 1
        self.floor_ticks: int | None = None
        """Values below it are closed; None while nothing is."""

    @property
    def floor(self) -> Ordinal | None:
        """The same in steps of the column's type."""
        return None if self.floor_ticks is None else -(-self.floor_ticks // self._per_day)

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        synopsis = step.synopses[self.promise.alias]
        if self.floor_ticks is None or synopsis.size(FRESH) == 0:
            return []
        ids = synopsis.ids(FRESH)
        late: Bools = synopsis.ticks(self.column, ids) < self.floor_ticks
        column = synopsis.segments[-1].column(self.column)
        if column.null_count:
            late &= column.is_valid().to_numpy(zero_copy_only=False)[ids - synopsis.first_fresh]
        if not late.any():
            return []
        return [Breach(self.promise, self.promise.alias, ids[late], np.zeros(int(late.sum()), np.int64))]

    def make(self, step: WatchStep) -> None:
        """See Watch."""
        told = step.frontiers.get(self.stream, {}).get(self.column)
        if told is not None:
            self.floor_ticks = told if self.floor_ticks is None else max(self.floor_ticks, told)
