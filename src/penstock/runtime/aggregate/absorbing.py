"""Merging rows that carry measures (MEMORY, section 8.2): one row of each bucket, with a count, sums and extremes.

As runtime/merge.py, which says when rows may be merged; here a fresh row takes over what the stored row of its bucket
stands for, and that one goes. So segments are written once, and the cost of a batch follows the batch. What promises
have said of the stored row's values they have said of the fresh row's, which are the same where promises look.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT
from penstock.plan.merge import MergePlan
from penstock.plan.plan import Plan
from penstock.runtime.aggregate.derived import columns_of_measure
from penstock.runtime.aggregate.measures import Measured, Totals, from_columns
from penstock.runtime.aggregate.numbering import grouped
from penstock.runtime.codes import Bools, Ints, empty_ids
from penstock.runtime.merge import BUCKET, bucket_hashes, outside, parts, rows_of
from penstock.runtime.purge import Purged
from penstock.runtime.segment import Segment
from penstock.runtime.synopsis import FRESH, OLD, Synopsis


class Absorbing:
    """Merges the rows of one cell that carry measures, source by source."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis]) -> None:
        self.plan = plan
        self.synopses = synopses
        merging = {s.alias: s.merge for s in plan.sources if s.merge is not None and plan.aggregate is not None}
        self.plans = {alias: merge for alias, merge in merging.items() if not merge.extremes}

    def gather(self) -> dict[str, Ints]:
        """Merge the fresh rows among themselves, before they are joined; gives the rows that are merged away."""
        gone: dict[str, Ints] = {}
        for alias, merge in self.plans.items():
            synopsis = self.synopses[alias]
            if not synopsis.has_fresh:
                continue
            segment = synopsis.segments[-1]
            segment.table = segment.table.append_column(BUCKET, pa.array(bucket_hashes(merge, segment.table)))
            fresh = synopsis.ids(FRESH)
            if not len(fresh):
                continue
            rows = rows_of(merge, synopsis, fresh)
            groups = grouped([*parts(merge, rows), outside(merge, rows).astype(np.int64)], len(fresh))
            whole = {name: measure.summed(groups) for name, measure in self._measures(alias, fresh).items()}
            self._write(alias, fresh[groups.first], whole)
            gone[alias] = np.delete(fresh, groups.first)
            synopsis.kill(gone[alias])
        return gone

    def fold(self, purged: Purged) -> None:
        """Let what is left of the fresh rows take over from the stored ones, once they were joined."""
        for alias, merge in self.plans.items():
            synopsis = self.synopses[alias]
            fresh = synopsis.ids(FRESH)
            if not synopsis.has_fresh or not len(fresh):
                continue
            lost = fresh[outside(merge, rows_of(merge, synopsis, fresh))]
            synopsis.kill(lost)
            purged.add(alias, "in no result", lost)
            coming, stored = self._twins(merge, synopsis, synopsis.ids(FRESH))
            if not len(coming):
                continue
            added, places = self._measures(alias, stored), np.arange(len(coming))
            own = self._measures(alias, coming)
            self._write(alias, coming, {name: _plus(own[name], places, more) for name, more in added.items()})
            self._take_marks(synopsis, coming, stored)
            synopsis.kill(stored)
            purged.add(alias, "merged", stored)

    @staticmethod
    def _twins(merge: MergePlan, synopsis: Synopsis, fresh: Ints) -> tuple[Ints, Ints]:
        """The fresh rows whose bucket is stored, and the stored ones."""
        places, stored = synopsis.probe(OLD, (BUCKET,), synopsis.hashes(BUCKET, fresh))
        if not len(places):
            return empty_ids(), empty_ids()
        both = rows_of(merge, synopsis, np.concatenate([fresh[places], stored]))
        half = len(places)
        equal: Bools = np.ones(half, np.bool_)
        for part in parts(merge, both):
            equal &= part[:half] == part[half:]
        return fresh[places[equal]], stored[equal]

    def _measures(self, alias: str, ids: Ints) -> dict[str, Measured]:
        """What rows stand for; the count is a measure too."""
        assert self.plan.aggregate is not None
        synopsis = self.synopses[alias]
        count = synopsis.arrow(COUNT, ids).to_numpy(zero_copy_only=False)
        found: dict[str, Measured] = {COUNT: Totals(None, None, count)}
        for measure in self.plan.aggregate.measures_of(alias):
            columns = {name: synopsis.arrow(name, ids) for name in columns_of_measure(self.plan, measure)}
            found[measure.name] = from_columns(measure.fold, columns, measure.name)
        return found

    def _write(self, alias: str, ids: Ints, measures: Mapping[str, Measured]) -> None:
        """Let fresh rows stand for so much."""
        segment, base = self.synopses[alias].segments[-1], self.synopses[alias].first_fresh
        columns: dict[str, Any] = {}
        for name, measure in measures.items():
            if name == COUNT:
                assert isinstance(measure, Totals)
                columns[COUNT] = pa.array(measure.held)
            else:
                columns |= measure.columns(name)
        for name, values in columns.items():
            _put(segment, name, ids - base, values)

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
