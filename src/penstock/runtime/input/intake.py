"""From the chunks of a batch to fresh segments: rows in order of arrival, headers to the clock and the watches.

A row that can be in no result (a NULL in a column that must match, columns of one row that should be equal and are
not) is final as it arrives; it is dropped only after it was counted and looked at for broken promises. Its key has come
all the same, and is handed on with those of rows that a filter dropped: rows that name it wait for no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InternalError
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.columns.codes import Bools, Ints, codes, flat
from penstock.runtime.input.batch import HOME, INDEX, Chunk
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import promise_columns, shipped_columns
from penstock.runtime.promise.marks import mark_names
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Watch
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH, Synopsis


class Intake:
    """Takes batches in for one cell."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._marks = {alias: mark_names(plan, alias) for alias in plan.aliases}
        self._broken_by_null = tuple(_breaking_nulls(plan))

    def take(
        self, chunks: Iterable[Chunk], clock: Clock, watches: tuple[Watch, ...], synopses: Mapping[str, Synopsis]
    ) -> tuple[dict[str, Synopsis], dict[str, Ints]]:
        """Store the rows as fresh segments; gives the keys of rows that are not stored, and each row's chunk."""
        rows: dict[str, list[tuple[Any, int, int]]] = {alias: [] for alias in self.plan.aliases}
        keys: dict[str, list[tuple[Any, int, int]]] = {alias: [] for alias in self.plan.aliases}
        numbers = dict.fromkeys(self.plan.streams, 0)
        for chunk in chunks:
            stream = chunk.header.stream
            if stream not in numbers:
                raise InternalError(f"a chunk of stream {stream}, which query {self.plan.query} does not read")
            start = clock.count[stream] if chunk.header.start is None else chunk.header.start
            self._share(chunk, start, numbers[stream], rows, keys)
            numbers[stream] += 1
            for watch in watches:
                watch.read(chunk, clock.count[stream] + chunk.header.rows)
            clock.read(chunk.header)
        dropped: dict[str, Synopsis] = {}
        chunk_of: dict[str, Ints] = {}
        for source in self.plan.sources:
            alias = source.alias
            synopsis = synopses[alias]
            dropped[alias] = Synopsis(promise_columns(self.plan, alias))
            if keys[alias]:
                segment, _ = self._segment(alias, keys[alias], clock.batch)
                null = _any_null(segment, self._primary_keys(alias))
                if null is not None:
                    segment.kill(np.flatnonzero(null))
                dropped[alias].begin(segment)
            if rows[alias]:
                segment, chunk_of[alias] = self._segment(alias, rows[alias], clock.batch)
                synopsis.begin(segment)
        return dropped, chunk_of

    def _share(self, chunk: Chunk, start: int, number: int, rows: Any, keys: Any) -> None:
        for into, given in ((rows, chunk.rows), (keys, chunk.keys)):
            for alias, table in given.items():
                if table.num_rows:  # A share without rows is none: a stream that brought nothing is not known at all.
                    into[alias].append((table, start, number))

    def _segment(self, alias: str, pieces: list[tuple[Any, int, int]], batch: int) -> tuple[Segment, Ints]:
        table = pa.concat_tables([table for table, _, _ in pieces])
        sizes = [table.num_rows for table, _, _ in pieces]
        starts = np.repeat(np.array([start for _, start, _ in pieces], np.int64), sizes)
        arrival = starts + codes(table.column(INDEX))
        count = table.num_rows
        home: Bools = (
            np.array(flat(table.column(HOME)).to_numpy(zero_copy_only=False))
            if HOME in table.column_names
            else np.ones(count, np.bool_)
        )
        wanted = [c for c in shipped_columns(self.plan, alias) if c in table.column_names]
        marks: dict[str, Bools] = {name: np.zeros(count, np.bool_) for name in self._marks[alias]}
        segment = Segment(table.select(wanted), arrival, np.full(count, batch, np.int64), home, marks)
        return segment, np.repeat(np.array([number for _, _, number in pieces], np.int64), sizes)

    def _primary_keys(self, alias: str) -> tuple[str, ...]:
        promises = [p for p in self.plan.promises if p.kind is PromiseKind.PRIMARY_KEY and p.alias == alias]
        return tuple(dict.fromkeys(column for p in promises for column in p.columns))

    def broken_by_null(self, synopses: Mapping[str, Synopsis]) -> Iterator[Breach]:
        """Rows that break a promise by a NULL alone: in one of some columns, and none in those that must be known."""
        for promise, alias, columns, known in self._broken_by_null:
            synopsis = synopses[alias]
            null = _any_null(synopsis.segments[-1], columns) if synopsis.has_fresh else None
            if null is not None:
                other = _any_null(synopsis.segments[-1], known)
                ids = synopsis.alive(np.flatnonzero(null if other is None else null & ~other) + synopsis.first_fresh)
                yield Breach(promise, alias, ids, np.zeros(len(ids), np.int64))

    def drop_unmatchable(self, synopses: Mapping[str, Synopsis], dropped: dict[str, Synopsis]) -> None:
        """Let go of fresh rows that can be in no result; their keys are added to those of rows that are not stored."""
        for source in self.plan.sources:
            synopsis = synopses[source.alias]
            if not synopsis.has_fresh or synopsis.size(FRESH) == 0:
                continue
            segment = synopsis.segments[-1]
            hopeless = _any_null(segment, source.not_null)
            for first, *others in source.equal:
                for other in others:
                    differ = ~pc.fill_null(pc.equal(segment.column(first), segment.column(other)), False).to_numpy(
                        zero_copy_only=False
                    )
                    hopeless = differ if hopeless is None else hopeless | differ
            if hopeless is not None and (hopeless & segment.alive).any():
                gone = np.flatnonzero(hopeless & segment.alive)
                dropped[source.alias] = self._with_keys(source.alias, dropped[source.alias], segment, gone)
                synopsis.kill(gone + synopsis.first_fresh)

    def _with_keys(self, alias: str, dropped: Synopsis, segment: Segment, gone: Ints) -> Synopsis:
        null = _any_null(segment, self._primary_keys(alias))
        gone = gone if null is None else gone[~null[gone]]
        columns = list(dropped.columns)
        if not columns or not len(gone):
            return dropped
        pieces = [(segment, gone), *((known, np.flatnonzero(known.alive)) for known in dropped.segments)]
        arrival = np.concatenate([one.arrival[rows] for one, rows in pieces])
        order = np.argsort(arrival, kind="stable")
        table = pa.concat_tables([one.table.select(columns).take(pa.array(rows)) for one, rows in pieces])
        batch = np.concatenate([one.batch[rows] for one, rows in pieces])
        home: Bools = np.concatenate([one.home[rows] for one, rows in pieces])
        marks: dict[str, Bools] = {name: np.zeros(len(order), np.bool_) for name in self._marks[alias]}
        found = Synopsis(dropped.columns)
        found.begin(Segment(table.take(pa.array(order)), arrival[order], batch[order], home[order], marks))
        return found


def _breaking_nulls(plan: Plan) -> Iterator[tuple[PromisePlan, str, tuple[str, ...], tuple[str, ...]]]:
    """By promise and alias, the columns in which a NULL breaks it, and those that must be known for that.

    One in a PRIMARY KEY; or one as the event time of a row whose matches are promised to lie in a window of it:
    wherever its partner lies, the promise says nothing that is true of the two. Where the query itself compares the
    event times of the two, such a row has no match, and breaks nothing.
    """
    for promise in plan.promises:
        if promise.kind is PromiseKind.PRIMARY_KEY:
            yield promise, promise.alias, promise.columns, ()
        elif promise.kind in (PromiseKind.COOCCURS, PromiseKind.FOLLOWS_TIME):
            assert promise.partner is not None
            sides = ((promise.alias, promise.columns), (promise.partner, promise.partner_columns))
            for alias, columns in sides:
                time = plan.by_alias[alias].event_time
                if time is not None and not _is_compared(plan, alias, time, promise):
                    yield promise, alias, (time,), columns


def _is_compared(plan: Plan, alias: str, time: str, promise: PromisePlan) -> bool:
    """Whether a row must have an event time to match the other stream of a promise, or any stream."""
    of_nodes = (p for node in plan.nodes for p in (*node.predicates, *node.windows))
    ends = {promise.alias, promise.partner}
    return time in plan.by_alias[alias].not_null or any(
        {p.left.alias, p.right.alias} == ends and (alias, time) in ((r.alias, r.column) for r in (p.left, p.right))
        for p in (*plan.predicates, *of_nodes)
    )


def _any_null(segment: Segment, columns: tuple[str, ...]) -> Bools | None:
    found: Bools | None = None
    for name in columns:
        column = segment.column(name)
        if column.null_count:
            null = column.is_null().to_numpy(zero_copy_only=False)
            found = null if found is None else found | null
    return found
