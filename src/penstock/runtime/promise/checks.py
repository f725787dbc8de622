"""CHECK (condition): a row that makes a condition false breaks it.

A merged source has a bucket only for what its CHECKs leave (MEMORY, section 9), so a row outside of them is seen before
it is merged: FAIL and QUARANTINE answer it as they always do. Under the others it meets what is stored and is then
left out; a later partner does not find it. A row of any other source stays as long as what was concluded of the CHECK
lets it. Only conditions that are decided as Spark decides them are watched (plan/watched_checks.py); a NULL makes none
of them false but those that ask for it.
"""

from __future__ import annotations

import numpy as np

from penstock.model.predicates import Op
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.plan.watched_checks import CheckedRow, conditions_in
from penstock.runtime.columns.beside_numbers import OPS, beside_number, is_number
from penstock.runtime.columns.codes import Bools, compared
from penstock.runtime.match.matching import COMPARE
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch, WatchStep
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH


class CheckWatch(Watch):
    """The conditions of one CHECK of one alias."""

    sees_all_rows = True

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        merge = plan.by_alias[promise.alias].merge
        checks = () if merge is None else merge.checks
        of_bucket = tuple(CheckedRow(c.column, c.op, c.values) for c in checks if c.constraint == promise.constraint)
        self._conditions = of_bucket if promise.when is None else conditions_in(promise.when)

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


def _is_false(condition: CheckedRow, segment: Segment) -> Bools:
    column = segment.column(condition.column)
    null: Bools = column.is_null().to_numpy(zero_copy_only=False)
    if condition.op is None:
        return null if condition.is_negated else ~null
    op = Op(condition.op)
    if condition.other is None:
        holds: Bools = np.zeros(len(null), np.bool_)
        for value in condition.values:
            beside = beside_number(op, column, value) if is_number(column.type) else compared(OPS[op], column, value)
            holds |= beside
        return ~null & (holds if condition.is_negated else ~holds)
    null = null | segment.column(condition.other).is_null().to_numpy(zero_copy_only=False)
    return ~null & ~COMPARE[op](segment.codes(condition.column), segment.codes(condition.other))
