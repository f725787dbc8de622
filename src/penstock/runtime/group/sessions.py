"""Sessions: which rows follow each other within a gap, and so are one group of `session_window(ts, gap)`.

A row is a session by itself, from its time to its time + gap; sessions of one group that touch are one (as in Spark, a
row exactly a gap after the last still belongs to it). The rows of a batch and the sessions that are open, sorted by
group and time, fall apart wherever one begins after the latest end before it. A session is called by its start, so one
that an earlier row is put before, or that is joined with an earlier one, moves (`Tally.move`).

Theorem: a session that ends before the frontier of its time is complete. A row to come lies at the frontier or after
it, so it touches no such session; nor does what it may join touch it, else it would be one with that already.

Not decided: rows that break the promise of their order. Those that touch an open session join it; of others the
sessions that were over before they came are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import Fold, GroupKey
from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, empty_ids
from penstock.runtime.group.measures import Extremes
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.tally import Columns, Kept, Tally

_LAST = "_last"


def session_end(key: str) -> str:
    """The column in which the stage gives the end of a session."""
    return f"{key}_end"


@dataclass(frozen=True)
class Assigned:
    """To which sessions the rows of a batch and the open sessions that they meet belong now."""

    starts: Ints
    """Of each row of the batch."""
    ends: Ints
    """Of each row of the batch, where its session now ends."""
    moved: Ints
    """Sessions, by their row in the tally, that begin elsewhere now."""
    moved_to: Ints


class Sessions:
    """The sessions of the groups of a bucket, which their tally holds: by their start, with their last time."""

    def __init__(self, key: GroupKey) -> None:
        assert key.gap is not None
        self.key = key
        self.gap = key.gap
        self.last = Kept(key.name + _LAST, Fold.MAX)

    def last_times(self, columns: Columns) -> Extremes:
        """What is kept of the times of rows."""
        return Extremes(columns[self.last.name], greatest=True)

    def ends(self, last: Ints) -> Ints:
        """Where sessions end whose last times these are."""
        return np.minimum(last, INT64.max - self.gap) + self.gap

    def assign(self, columns: Columns, others: tuple[str, ...], groups: Tally) -> Assigned:
        """Sort the rows of a batch, which have their own time in place of a start, into sessions."""
        times = codes(columns[self.key.name])
        own = grouped([columns[name] for name in others], len(times))
        first = pa.array(own.first)
        place, ids = groups.find_group({name: columns[name].take(first) for name in others})
        if not others and len(ids):
            place = np.zeros(len(ids), np.int64)
        starts = codes(groups.values(self.key.name, ids))
        of = np.concatenate([own.of, place])
        begin = np.concatenate([times, starts])
        end = self.ends(np.concatenate([times, self._last(groups, ids)]))
        of, begin, end, at = _sorted(of, begin, end)
        session = np.cumsum(_apart(of, begin, end)) - 1
        begins = begin[np.searchsorted(session, np.arange(session[-1] + 1))] if len(session) else begin
        ends = np.full(len(begins), INT64.min)
        np.maximum.at(ends, session, end)
        start_of, end_of = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        start_of[at], end_of[at] = begins[session], ends[session]
        size = len(times)
        moves = start_of[size:] != starts
        return Assigned(start_of[:size], end_of[:size], ids[moves], start_of[size:][moves])

    def _last(self, groups: Tally, ids: Ints) -> Ints:
        measure = groups.measured(ids)[self.last.name]
        assert isinstance(measure, Extremes)
        return codes(measure.values)

    def shown_ends(self, groups: Tally, ids: Ints) -> Any:
        """The ends of sessions."""
        return pa.array(self.ends(self._last(groups, ids)))

    def closed(self, groups: Tally, passed: int) -> Ints:
        """The sessions that end before what their clock has passed."""
        (column,) = groups.columns_of(self.last.name)
        latest = passed - self.gap - 1
        return empty_ids() if latest < INT64.min else groups.upto("codes", column, latest)

    def least_start(self, groups: Tally) -> int | None:
        """Where the earliest open session begins."""
        return groups.least("codes", self.key.name)


def _sorted(of: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    order = np.lexsort((begin, of))
    return of[order], begin[order], end[order], order


def _apart(of: Ints, begin: Ints, end: Ints) -> Bools:
    """Which of some stretches, sorted by group and begin, begin after all before them in their group have ended."""
    apart: Bools = np.ones(len(of), np.bool_)
    if len(of) < 2:
        return apart
    # The latest end so far in each group, by ranks, so that a group's are above those of the groups before it.
    values, rank = np.unique(end, return_inverse=True)
    latest = np.maximum.accumulate(of * len(values) + rank)[:-1]
    is_new = of[1:] != of[:-1]
    apart[1:] = is_new | (begin[1:] > values[latest - of[:-1] * len(values)])
    return apart
