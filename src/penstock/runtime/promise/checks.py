"""CHECK (condition) on a merged source: a row that makes a condition false breaks it.

A merged source has a bucket only for what its CHECKs leave (MEMORY, section 9), so a row outside of them is seen before
it is merged: FAIL and QUARANTINE answer it as they always do. Under the others it meets what is stored and is then
left out; a later partner does not find it. Only conditions that codes decide exactly are watched (plan/merge_rows.py);
a NULL makes none of them false.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from penstock.model.predicates import Op
from penstock.plan.merge_plan import CheckedColumn
from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.columns.codes import Bools, compared
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH

_OPS = {Op.EQ: pc.equal, Op.LT: pc.less, Op.LE: pc.less_equal, Op.GT: pc.greater, Op.GE: pc.greater_equal}


class CheckWatch(Watch):
    """The conditions of one CHECK of one alias."""

    sees_all_rows = True

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        merge = plan.by_alias[promise.alias].merge
        self._conditions = [] if merge is None else [c for c in merge.checks if c.constraint == promise.constraint]

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        synopsis = step.synopses[self.promise.alias]
        if synopsis.size(FRESH) == 0:
            return []
        segment = synopsis.segments[-1]
        broken: Bools = np.zeros(len(segment), np.bool_)
        for condition in self._conditions:
            broken |= _is_false(condition, segment)
        ids = synopsis.alive(np.flatnonzero(broken) + synopsis.first_fresh)
        return [Breach(self.promise, self.promise.alias, ids, np.zeros(len(ids), np.int64))] if len(ids) else []


def _is_false(condition: CheckedColumn, segment: Segment) -> Bools:
    column = segment.column(condition.column)
    holds: Bools = column.is_null().to_numpy(zero_copy_only=False).copy()
    for value in condition.values:
        holds |= compared(_OPS[condition.op], column, value)
    return ~holds
