"""Load smoothing (SHED's archive): what must be kept on disk so that the results lost to a budget can be had later.

A combination of rows was emitted iff each was still stored when the last of them came: no row left, by eviction, in a
batch before the one in which the last row arrived. So from the first eviction on, the archive of a cell holds the rows
that were stored then, every row that arrived since, and of each evicted row the batch after which it left. Joining the
archive and dropping the combinations that were emitted gives exactly what is missing: the two together are the exact
answer, each result once.

Rows that were purged before the first eviction are in no later result, so they need not be there. For `[ROWS n]` each
step also says how many rows of each stream had come before it and with it. Preconditions: no merged rows, and no
windows counted in the order of ARRIVES BY, whose answers are not given with the batch that brings their last row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, flat
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.rows import result_rows
from penstock.runtime.match.delta_join import delta_join
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

ARRIVAL, BATCH, LEFT = "__ps_arrival", "__ps_batch", "__ps_left"


@dataclass(frozen=True)
class Archived:
    """What one step adds to the archive of a cell, by alias."""

    rows: Mapping[str, Any] = field(default_factory=dict)
    """The columns that are stored, ARRIVAL and BATCH."""
    left: Mapping[str, Any] = field(default_factory=dict)
    """ARRIVAL of evicted rows, and LEFT, the last batch that met them."""
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By stream, the rows that came before the step, and up to its end."""
    batch: int = -1


class Archiver(Component):
    """Notes what of each step goes into the archive."""

    numbers = ("began",)

    def __init__(self, synopses: Mapping[str, Synopsis], clock: Clock) -> None:
        self.synopses = synopses
        self.clock = clock
        self.began = False
        """Whether anything was ever evicted."""
        self._rows: dict[str, Any] = {}
        self._left: dict[str, list[Any]] = {}

    def arrived(self, fresh: Mapping[str, Ints]) -> None:
        """Note the rows of a batch, before any of them leaves."""
        self._rows, self._left = {}, {}
        if self.began:
            self._note(fresh)

    def evicting(self) -> None:
        """Before anything is evicted: the first time, all that is stored is noted."""
        if not self.began:
            self.began = True
            self._note({alias: synopsis.ids(ALL) for alias, synopsis in self.synopses.items()})

    def _note(self, ids: Mapping[str, Ints]) -> None:
        for alias, rows in ids.items():
            if len(rows):
                synopsis = self.synopses[alias]
                columns = {name: synopsis.arrow(name, rows) for name in synopsis.columns}
                columns[ARRIVAL] = pa.array(synopsis.gather(rows, lambda s: s.arrival))
                columns[BATCH] = pa.array(synopsis.gather(rows, lambda s: s.batch))
                self._rows[alias] = pa.table(columns)

    def left(self, alias: str, ids: Ints, batch: int) -> None:
        """Note rows that are evicted after a batch."""
        arrival = self.synopses[alias].gather(ids, lambda s: s.arrival)
        self._left.setdefault(alias, []).append(pa.table({ARRIVAL: arrival, LEFT: np.full(len(ids), batch)}))

    def taken(self) -> Archived:
        """What the step adds."""
        left = {alias: pa.concat_tables(found) for alias, found in self._left.items()}
        counts = {stream: (before, self.clock.count[stream]) for stream, before in self.clock.before.items()}
        return Archived(dict(self._rows), left, counts, self.clock.batch)


def missing_results(plan: Plan, archived: list[Archived], after: int) -> Iterator[tuple[int, Any]]:
    """The results of each later batch that eviction lost, by the archive of one cell: (batch, rows)."""
    rows = {alias: _together([a.rows[alias] for a in archived if alias in a.rows]) for alias in plan.aliases}
    if any(table is None for table in rows.values()):
        return
    left = {alias: _left(table, [a.left[alias] for a in archived if alias in a.left]) for alias, table in rows.items()}
    batches = {alias: codes(table.column(BATCH)) for alias, table in rows.items()}
    synopses = {s.alias: Synopsis((*rows[s.alias].column_names, LEFT)) for s in plan.sources}
    matcher, clock = Matcher(plan, synopses), Clock(plan)
    counts = {a.batch: a.counts for a in archived}
    for batch in np.unique(np.concatenate(list(batches.values()))).tolist():
        for alias, table in rows.items():
            here = np.flatnonzero(batches[alias] == batch)
            if len(here):
                synopses[alias].begin(_segment(table.append_column(LEFT, pa.array(left[alias])), here))
        # Before the first eviction, of which there are no counts, nothing was lost.
        if batch > after and batch in counts:
            clock.before = {stream: before for stream, (before, _) in counts[batch].items()}
            clock.count = {stream: count for stream, (_, count) in counts[batch].items()}
            found = [_lost(synopses, partial, batch) for partial in delta_join(plan, matcher, clock, None, ())]
            yield batch, pa.concat_tables([_results(plan, synopses, partial) for partial in found]) if found else None
        for synopsis in synopses.values():
            synopsis.finish()


def _together(tables: list[Any]) -> Any:
    return pa.concat_tables(tables).combine_chunks() if tables else None


def _left(rows: Any, tables: list[Any]) -> Ints:
    """For each row the last batch that met it; the end of time if it was never evicted."""
    found = np.full(rows.num_rows, INT64.max)
    if tables:
        gone = pa.concat_tables(tables)
        arrival = codes(rows.column(ARRIVAL))
        order = np.argsort(arrival, kind="stable")
        places = order[np.searchsorted(arrival[order], codes(gone.column(ARRIVAL)))]
        found[places] = codes(gone.column(LEFT))
    return found


def _segment(table: Any, rows: Ints) -> Segment:
    taken = table.take(pa.array(rows))
    arrival, batch = (np.array(flat(taken.column(name)).to_numpy()) for name in (ARRIVAL, BATCH))
    return Segment(taken, arrival, batch, np.ones(len(rows), np.bool_), {})


def _lost(synopses: Mapping[str, Synopsis], partial: Partial, batch: int) -> Partial:
    """The combinations in which some row had left before the batch."""
    lost: Bools = np.zeros(len(next(iter(partial.values()))), np.bool_)
    for alias, ids in partial.items():
        lost |= synopses[alias].codes(LEFT, ids) < batch
    return {alias: ids[lost] for alias, ids in partial.items()}


def _results(plan: Plan, synopses: Mapping[str, Synopsis], partial: Partial) -> Any:
    return result_rows(plan, synopses, partial)
