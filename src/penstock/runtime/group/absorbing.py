"""Merging rows that carry measures (MEMORY, section 8.2): one row of each bucket, with a count, sums and extremes.

As join/merge.py, which says when rows may be merged; here a fresh row takes over what the stored row of its bucket
stands for, and that one goes. So segments are written once, and the cost of a batch follows the batch. What promises
have said of the stored row's values they have said of the fresh row's, which are the same where promises look.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT
from penstock.plan.merge_plan import MergePlan
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Ints
from penstock.runtime.group.derived import columns_of_measure
from penstock.runtime.group.measures import Measured, from_columns
from penstock.runtime.group.numbering import Groups
from penstock.runtime.group.totals import Totals
from penstock.runtime.join.merge import Merge
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis


class Absorbing(Merge):
    """Merges the rows of one cell that carry measures, source by source."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis]) -> None:
        super().__init__(plan, synopses)
        self.plan = plan
        self.counted = tuple(self.plans)

    @staticmethod
    def _is_for(plan: Plan, merge: MergePlan) -> bool:
        return plan.aggregate is not None and not merge.extremes

    def _gathered(self, alias: str, merge: MergePlan, fresh: Ints, rows: Mapping[str, Any], buckets: Groups) -> Ints:  # noqa: ARG002 - there are no extremes
        whole = {name: measure.summed(buckets) for name, measure in self._measures(alias, fresh).items()}
        self._write(alias, fresh[buckets.first], whole)
        return buckets.first

    def _folded(self, alias: str, merge: MergePlan, coming: Ints, stored: Ints) -> Ints:  # noqa: ARG002 - as above
        """Let the fresh rows take over from the stored ones."""
        added, places = self._measures(alias, stored), np.arange(len(coming))
        own = self._measures(alias, coming)
        self._write(alias, coming, {name: _plus(own[name], places, more) for name, more in added.items()})
        self._take_marks(self.synopses[alias], coming, stored)
        return stored

    def _measures(self, alias: str, ids: Ints) -> dict[str, Measured]:
        """What rows stand for; the count is a measure too."""
        assert self.plan.aggregate is not None
        synopsis = self.synopses[alias]
        found: dict[str, Measured] = {COUNT: Totals(None, None, synopsis.counts(ids))}
        for measure in self.plan.aggregate.measures_of(alias):
            columns = {name: synopsis.arrow(name, ids) for name in columns_of_measure(self.plan, measure)}
            found[measure.name] = from_columns(measure.fold, columns, measure.name)
        return found

    def _write(self, alias: str, ids: Ints, measures: Mapping[str, Measured]) -> None:
        """Let fresh rows stand for so much."""
        segment, base = self.synopses[alias].segments[-1], self.synopses[alias].first_fresh
        for name, measure in measures.items():
            if name == COUNT:
                assert isinstance(measure, Totals)
                assert segment.counts is not None
                segment.counts[ids - base] = measure.held
                continue
            for column, values in measure.columns(name).items():
                _put(segment, column, ids - base, values)

    @staticmethod
    def _take_marks(synopsis: Synopsis, coming: Ints, stored: Ints) -> None:
        segment, base = synopsis.segments[-1], synopsis.first_fresh
        for name in segment.marks:
            segment.marks[name][coming - base] |= synopsis.marked(name, stored)


def _plus(own: Measured, places: Ints, more: Measured) -> Measured:
    return own.plus(places, more)  # type: ignore[arg-type] # two of one measure are of one kind


def _put(segment: Segment, name: str, rows: Ints, values: Any) -> None:
    column = segment.column(name)
    chosen = np.arange(len(column))
    chosen[rows] = len(column) + np.arange(len(rows))
    segment.replace(name, pa.concat_arrays([column, values]).take(pa.array(chosen)))
