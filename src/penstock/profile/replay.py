"""What would be kept? The core itself, run over the first rows of the data with other declarations.

The rows of all streams are cut into batches at common instants: of ARRIVES BY where all declare it, else of event
time, else in proportion. After each batch the stored rows and the promises are counted; what counts is their mean. So a
saving is what this engine would save on these rows, filters, windows and the combination of promises included; it
grows with the data where state does. Policies play no part: broken promises are trusted, so that k stays as declared.
What the engine cannot run is not replayed, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from penstock.analysis.check import check_query
from penstock.model.schemes import OnViolation, Policy
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.plan.tree import TestPlan
from penstock.profile.asking import streams_of
from penstock.profile.declaring import over_streams
from penstock.runtime import Batch, Cell, Chunk, Punctuating, Truth, punctuation_promises
from penstock.spark.profiling.reading import INSTANT, IS_DATA

BATCHES = 40
_TRUSTED = OnViolation(Policy.TRUST)


@dataclass(frozen=True)
class StateKept:
    """Stored rows and promises, after each batch on average, and at most."""

    mean: float
    peak: int


NOTHING = StateKept(0.0, 0)


def plans_of(script: Script) -> dict[str, Plan]:
    """The plans of the queries that can be replayed, every promise trusted."""
    trusted = {s.name: _trusting(s) for s in script.streams}
    queries = [over_streams(query, trusted) for query in script.queries]
    # Without a budget: what is asked is how much would be kept.
    return {
        query.name: replace(make_plan(query, check_query(query)), evict=None)
        for query in queries
        if not obstacles(query)
    }


def _trusting(stream: Stream) -> Stream:
    arrival = None if stream.arrival is None else replace(stream.arrival, on_violation=_TRUSTED)
    schemes = tuple(replace(scheme, on_violation=_TRUSTED) for scheme in stream.schemes)
    return replace(stream, schemes=schemes, arrival=arrival)


def shared_clock(script: Script) -> tuple[str, dict[str, str]] | None:
    """What the streams' instants are of, and the column of each; None if they share no clock."""
    streams = streams_of(script)
    arrivals = {s.name: s.arrival.column for s in streams if s.arrival is not None}
    times = {s.name: s.event_time for s in streams if s.event_time is not None}
    for word, columns in (("ARRIVES BY", arrivals), ("event time", times)):
        kinds = [s.type_of(columns[s.name]) for s in streams if s.name in columns]
        clocks = [kind for kind in kinds if kind is not None and kind.is_clock]
        if len(clocks) == len(streams) and len({kind.is_integer for kind in clocks}) == 1:
            return word, columns
    return None


def reads(plans: Mapping[str, Plan], stream: str) -> dict[str, str]:
    """The columns of a stream that the plans read, with their types."""
    return {c.name: c.type for p in plans.values() for s in p.sources if s.stream == stream for c in s.read}


def conditions_of(plan: Plan, stream: str) -> Iterator[tuple[str | None, str]]:
    """What Spark must say of each row: the filters of each alias, the WHEN of each promise that is made."""
    for source in plan.sources:
        if source.stream == stream and source.filters:
            yield source.alias, " AND ".join(f"({text})" for text in source.filters)
    for _, promise in punctuation_promises(plan, stream):
        assert promise.when is not None
        yield promise.alias, promise.when
    for test in _tests(plan, stream):
        yield test.alias, test.text


def _tests(plan: Plan, stream: str) -> Iterator[TestPlan]:
    """The conditions on a stream of a query with outer joins that are decided on joined rows."""
    for test in plan.tree.tests:
        if plan.by_alias[test.alias].stream == stream:
            yield test


@dataclass
class Replay:
    """The first rows of each stream, cut into batches, and what was kept of them so far with which plan."""

    tables: Mapping[str, Any]
    flags: Mapping[tuple[str | None, str], str]
    cuts: Mapping[str, Any]
    """By stream, where each batch begins, and where the last ends."""
    absent: Callable[[Plan], Truth]
    """What such conditions are worth where their stream is absent."""
    seen: dict[str, StateKept] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Any],
        flags: Mapping[tuple[str | None, str], str],
        clocked: bool,
        absent: Callable[[Plan], Truth],
    ) -> Replay:
        """Cut the rows; where they share no clock, in proportion."""
        instants = {name: _instants(table, clocked) for name, table in tables.items()}
        ends = [at[-1] for at in instants.values() if len(at)]
        last = min(ends, default=0)
        together = np.concatenate([at[at <= last] for at in instants.values()]) if ends else np.zeros(0)
        # Rows without an instant before them come with the first batch.
        together = together[np.isfinite(together)]
        marks = np.unique(np.quantile(together, np.linspace(0, 1, BATCHES + 1)[1:])) if len(together) else np.zeros(0)
        cuts = {name: np.concatenate([[0], np.searchsorted(at, marks, "right")]) for name, at in instants.items()}
        return cls(tables, flags, cuts, absent)

    @property
    def rows(self) -> int:
        """Rows that are replayed."""
        return int(sum(cut[-1] for cut in self.cuts.values()))

    @property
    def batches(self) -> int:
        """Into how many batches they are cut."""
        return max((len(cut) - 1 for cut in self.cuts.values()), default=0)

    def kept(self, plans: Mapping[str, Plan]) -> StateKept:
        """What all queries keep together."""
        found = [self._kept(plan) for plan in plans.values()]
        return StateKept(sum(k.mean for k in found), sum(k.peak for k in found))

    def _kept(self, plan: Plan) -> StateKept:
        # What is watched changes no state where every promise is trusted, but what closes does.
        essence = plan.to_json()
        if essence not in self.seen:
            self.seen[essence] = self._run(plan)
        return self.seen[essence]

    def _run(self, plan: Plan) -> StateKept:
        cell = Cell(plan, absent=self.absent(plan))
        counts = []
        for number in range(self.batches):
            chunks = tuple(self._chunk(plan, stream, number) for stream in plan.streams)
            metrics = cell.step(Batch(number, chunks)).metrics
            counts.append(sum(metrics.state_rows.values()) + metrics.promise_rows)
        return StateKept(float(np.mean(counts)), max(counts)) if counts else NOTHING

    def _chunk(self, plan: Plan, stream: str, number: int) -> Chunk:
        start, stop = self.cuts[stream][number : number + 2]
        piece = self.tables[stream].slice(start, stop - start)
        passes = {
            source.alias: piece.column(self.flags[source.alias, " AND ".join(f"({text})" for text in source.filters)])
            for source in plan.sources
            if source.stream == stream and source.filters
        }
        for test in _tests(plan, stream):
            piece = piece.append_column(test.column, piece.column(self.flags[test.alias, test.text]))
        punctuating = None
        if any(rows.stream == stream for rows in plan.punctuations):
            made = {n: piece.column(self.flags[p.alias, p.when or ""]) for n, p in punctuation_promises(plan, stream)}
            punctuating = Punctuating(pc.invert(piece.column(IS_DATA)), made)
        return Chunk.of(plan, stream, 0, piece, passes, punctuating=punctuating)


def _instants(table: Any, clocked: bool) -> Any:
    """When each row came: never before the row before it."""
    if not clocked:
        return (np.arange(table.num_rows) + 1) / max(1, table.num_rows)
    told = table.column(INSTANT).to_numpy()
    told = np.where(np.isnan(told), -np.inf, told) if told.dtype.kind == "f" else told
    return np.maximum.accumulate(told) if len(told) else told
