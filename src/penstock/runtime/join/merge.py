"""Merging (MEMORY, sections 7.1 and 7.2): rows that the query cannot tell apart become one, with a count or an extreme.

Theorem: the rows that a synopsis keeps give the answer of all rows, at any time. So the fresh rows of a batch may be
merged among themselves before they are joined, which keeps a join of many rows small; and what is left of them with
the stored rows of the same buckets once they were joined. Stored is then at most one row of each bucket, and only of
buckets that occur. A row that stands for n counts n times in a result.

Which rows share a bucket is decided on the values, never by a hash alone; the hash only finds the stored row. A column
that is told apart by value is compared as it is, so rows are never merged that differ where results are made.

Preconditions: the plan merges (merge_plan.py), so its sources have no window, and no promise looks at single rows by
their arrival or event time. Of a bucket without extremes the first row stays, with its arrival. Where another source
has [ROWS n], which of its rows are the last depends on when each row arrives: then rows of a batch are merged only once
they were joined, for all that comes later arrives after all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.merge_plan import ExtremeColumn, MergePlan, PartColumn
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import (
    INT64,
    Bools,
    Ints,
    codes,
    compared,
    empty_ids,
    flat,
    is_coded,
    is_none_of,
    ordinal,
)
from penstock.runtime.columns.hashing import combine, hashes, mix, twins
from penstock.runtime.group.numbering import Groups, grouped
from penstock.runtime.join.purged import Purged
from penstock.runtime.state.synopsis import FRESH, OLD, Synopsis

BUCKET = "__ps_bucket"
"""The hash of a row's bucket, a column of merged sources."""


class Merge:
    """Merges the rows of one cell, source by source."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis]) -> None:
        self.synopses = synopses
        self.plans = {s.alias: s.merge for s in plan.sources if s.merge is not None and self._is_for(plan, s.merge)}
        self.counted = tuple(alias for alias, merge in self.plans.items() if merge.counted)

    @staticmethod
    def _is_for(plan: Plan, merge: MergePlan) -> bool:
        """Whether a source is merged here: rows with measures are by group/absorbing.py."""
        return bool(merge.extremes) or plan.aggregate is None

    def prepare(self) -> None:
        """Note the bucket of each fresh row, and that it stands for itself."""
        for alias, merge in self.plans.items():
            synopsis = self.synopses[alias]
            if not synopsis.has_fresh:
                continue
            segment = synopsis.segments[-1]
            segment.table = segment.table.append_column(
                BUCKET, pa.array(bucket_hashes(merge, segment.table, len(segment)))
            )
            if alias in self.counted:
                segment.counts = np.ones(len(segment), np.int64)

    def gather(self) -> dict[str, Ints]:
        """Merge the fresh rows among themselves; gives the rows that are merged away."""
        gone: dict[str, Ints] = {}
        for alias, merge in self.plans.items():
            synopsis = self.synopses[alias]
            if not synopsis.has_fresh:
                continue
            fresh = synopsis.ids(FRESH)
            # A row whose bucket has a hash of its own stands for itself.
            fresh = fresh[twins(synopsis.hashes(BUCKET, fresh))]
            if not len(fresh):
                continue
            rows = rows_of(merge, synopsis, fresh)
            groups = grouped([*parts(merge, rows), outside(merge, rows).astype(np.int64)], len(fresh))
            gone[alias] = np.delete(fresh, self._gathered(alias, merge, fresh, rows, groups))
            synopsis.kill(gone[alias])
        return gone

    def _gathered(self, alias: str, merge: MergePlan, fresh: Ints, rows: Mapping[str, Any], buckets: Groups) -> Ints:
        """Let one row of each bucket stand for all of it; gives their places."""
        kept = buckets.first if not merge.extremes else _furthest(merge.extremes, rows, buckets)
        if merge.counted:
            self.synopses[alias].add(fresh[kept], np.bincount(buckets.of) - 1)
        return kept

    def fold(self, purged: Purged) -> None:
        """Merge what is left of the fresh rows with the stored ones, once they were joined."""
        for alias, merge in self.plans.items():
            synopsis = self.synopses[alias]
            fresh = synopsis.ids(FRESH)
            if not synopsis.has_fresh or not len(fresh):
                continue
            if any(part.is_limited for part in merge.parts):
                lost = fresh[outside(merge, rows_of(merge, synopsis, fresh))]
                synopsis.kill(lost)
                purged.add(alias, "in no result", lost)
            coming, stored = self._twins(merge, synopsis)
            if len(coming):
                gone = self._folded(alias, merge, coming, stored)
                synopsis.kill(gone)
                purged.add(alias, "merged", gone)

    @staticmethod
    def _twins(merge: MergePlan, synopsis: Synopsis) -> tuple[Ints, Ints]:
        """The fresh rows whose bucket is stored, and the stored ones."""
        fresh = synopsis.ids(FRESH)
        places, stored = synopsis.probe(OLD, (BUCKET,), synopsis.hashes(BUCKET, fresh))
        if not len(places):
            return empty_ids(), empty_ids()
        half = len(places)
        equal: Bools = np.ones(half, np.bool_)
        for part in parts(merge, rows_of(merge, synopsis, np.concatenate([fresh[places], stored]))):
            equal &= part[:half] == part[half:]
        return fresh[places[equal]], stored[equal]

    def _folded(self, alias: str, merge: MergePlan, coming: Ints, stored: Ints) -> Ints:
        """Let one of each two stand for both; gives the others."""
        synopsis = self.synopses[alias]
        if merge.counted:
            synopsis.add(stored, synopsis.counts(coming))
        if not merge.extremes:
            return coming
        both = rows_of(merge, synopsis, np.concatenate([coming, stored]))
        reach, strictly = (found.reshape(2, len(coming)) for found in _reach(merge.extremes, both))
        better = (reach[0] > reach[1]) | ((reach[0] == reach[1]) & (strictly[0] > strictly[1]))
        return np.where(better, stored, coming)


def stands_for(synopsis: Synopsis, ids: Ints) -> Ints:
    """The weight of rows, how many each stands for; 1 where rows are not merged, or it does not matter."""
    return synopsis.counts(ids) if len(ids) and _has_weights(synopsis) else np.ones(len(ids), np.int64)


def stand_together(synopses: Mapping[str, Synopsis], partial: Mapping[str, Ints]) -> Ints | None:
    """The weight of combinations of rows: the product of theirs; None where each stands for itself."""
    found: Ints | None = None
    for alias, ids in partial.items():
        if len(ids) and _has_weights(synopses[alias]):
            weight = synopses[alias].counts(ids)
            found = weight if found is None else found * weight
    return found


def _has_weights(synopsis: Synopsis) -> bool:
    return bool(synopsis.segments) and synopsis.segments[-1].counts is not None


def rows_of(merge: MergePlan, synopsis: Synopsis, ids: Ints) -> dict[str, Any]:
    """The columns of rows by which they are merged."""
    columns = [*(part.column for part in merge.parts), *(extreme.column for extreme in merge.extremes)]
    return {name: synopsis.arrow(name, ids) for name in dict.fromkeys(columns)} | {BUCKET: synopsis.arrow(BUCKET, ids)}


def bucket_hashes(merge: MergePlan, table: Any, size: int) -> Ints:
    """The hash of each row's bucket."""
    found = [np.zeros(size, np.uint64)]
    for part in merge.parts:
        values = flat(table.column(part.column))
        if part.by_value:
            found.append(hashes(values))
            continue
        found.append(mix(_range(part, values).view(np.uint64)))
        if _tells_apart(part, values):
            found.append(np.where(_is_inside(part, values), hashes(values), np.uint64(0)))
    return combine(found).view(np.int64)


def parts(merge: MergePlan, rows: Mapping[str, Any]) -> list[Ints]:
    """Numbers that are equal for two of the rows iff they share a bucket; they mean nothing beyond these rows."""
    found = [np.zeros(len(rows[BUCKET]), np.int64)]
    for part in merge.parts:
        values = rows[part.column]
        if values.null_count:
            found.append(values.is_null().to_numpy(zero_copy_only=False).astype(np.int64))
        if not part.by_value:
            found.append(_range(part, values))
            if _tells_apart(part, values):
                found.append(np.where(_is_inside(part, values), _numbers(values), 0))
        elif is_coded(values.type):
            found.append(codes(values))
        else:
            found.append(_numbers(values))
    return found


def _numbers(values: Any) -> Ints:
    """A number for each of the values, whatever their type; it means nothing beyond them."""
    indices = pc.fill_null(values.dictionary_encode().indices, 0)
    return indices.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def _tells_apart(part: PartColumn, values: Any) -> bool:
    """Whether there are values between low and high that have no codes: wide decimals."""
    return part.low is not None and not is_coded(values.type)


def _is_inside(part: PartColumn, values: Any) -> Bools:
    assert part.low is not None
    assert part.high is not None
    return compared(pc.greater_equal, values, part.low) & compared(pc.less_equal, values, part.high)


def _range(part: PartColumn, values: Any) -> Ints:
    """The number of the range in which each value lies; the same for NULL as for some value."""
    kind = values.type
    if part.points:
        passed = [np.zeros(len(values), np.int64)]
        for point in part.points:
            passed.append(compared(pc.greater, values, point).astype(np.int64))
            passed.append(compared(pc.greater_equal, values, point).astype(np.int64))
        number: Ints = np.sum(passed, axis=0)
        return number
    if part.low is None or part.high is None:
        return np.zeros(len(values), np.int64)
    if not is_coded(kind):
        above: Ints = compared(pc.greater, values, part.high).astype(np.int64)
        return above - compared(pc.less, values, part.low)
    low, high = ordinal(part.low, kind), ordinal(part.high, kind)
    return np.clip(codes(values), max(low - 1, INT64.min), min(high + 1, INT64.max))


def outside(merge: MergePlan, rows: Mapping[str, Any]) -> Bools:
    """The rows with a value that the conditions leave no match."""
    found: Bools = np.zeros(len(rows[BUCKET]), np.bool_)
    for part in merge.parts:
        values = rows[part.column]
        if part.least is not None:
            found |= compared(pc.less if part.least_is_in else pc.less_equal, values, part.least)
        if part.greatest is not None:
            found |= compared(pc.greater if part.greatest_is_in else pc.greater_equal, values, part.greatest)
        if part.members is not None:
            found |= is_none_of(values, part.members)
    return found


def _furthest(extremes: tuple[ExtremeColumn, ...], rows: Mapping[str, Any], buckets: Groups) -> Ints:
    """The place of the row that reaches furthest, then the first, bucket by bucket."""
    reach, strictly = _reach(extremes, rows)
    order = np.lexsort((np.arange(len(buckets.of)), ~strictly, ~reach, buckets.of))
    return order[np.searchsorted(buckets.of[order], np.arange(buckets.count))]


def _reach(extremes: tuple[ExtremeColumn, ...], rows: Mapping[str, Any]) -> tuple[Ints, Ints]:
    """How far out each row is, by the least advanced of the columns that apply to it; then by those compared strictly.

    Comparable only among these rows, and only within one bucket.
    """
    numbers = _in_order([rows[extreme.column] for extreme in extremes])
    reach, strictly = (np.full(len(numbers[0]), INT64.max) for _ in range(2))
    for extreme, own in zip(extremes, numbers, strict=True):
        values = rows[extreme.column]
        applies: Bools = np.ones(len(own), np.bool_)
        if extreme.above is not None:
            applies &= compared(pc.greater, values, extreme.above)
        if extreme.below is not None:
            applies &= compared(pc.less, values, extreme.below)
        # All bits flipped is the order turned round, without the one value whose negative does not exist.
        advance = np.where(applies, own if extreme.greatest else ~own, INT64.max)
        reach = np.minimum(reach, advance)
        if extreme.strict:
            strictly = np.minimum(strictly, advance)
    return reach, strictly


def _in_order(columns: list[Any]) -> list[Ints]:
    """The columns as numbers in one order."""
    if all(is_coded(column.type) for column in columns):
        return [codes(column) for column in columns]
    ranks = pc.rank(pa.concat_arrays(columns), sort_keys="ascending", tiebreaker="dense")
    return np.split(ranks.to_numpy(zero_copy_only=False).astype(np.int64), len(columns))
