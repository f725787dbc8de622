"""Rows that promises in doubt let go are set aside, and stand with the rows of a batch while it is joined.

Under RECOVER they are whole and on disk, and what they give with late rows are results like any other: nothing is lost
(KMON 1.5). Where k is monitored and nothing is recovered they are **shadows**: only the columns that meet others, in
memory, surely until the constraints have moved on by (c - 1) times their k, then a sample of them with probability p.
What a shadow would have given is counted as lost; and since the watches see shadows as stored rows, a rise of k up to
c times k is surely seen, a larger one by sampling (KMON 4.3 and 5.3).

An **audit** keeps rows that promises beyond doubt let go, of a share of the keys, the last 10,000 of each stream: what
meets one is a result that the purge has lost. It must never find any, unless promises are broken that nobody watches.

Of an outer join or EXISTS of two streams a row is set aside with its mark: whether it has matched. A row of EXISTS that
is answered late has its answer for good; a kept row that matches late, and had not before, was given without a match,
which is counted once. So the places of rows that matched while they were aside are remembered: as many as came late.

With more streams all that leaves is set aside, with all its marks, and under RECOVER alone; what late rows change is
worked out anew (`late_matches.py`).

Theorem: a row that left is **final**, and not set aside, if promises that are not in doubt close every other source for
it: whatever result it is in is out, with stored rows and with those set aside. Rows that leave by [ROWS n] are final by
the meaning of the query. Other rows are set aside though some of them are final: more than need be, never less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.nodes import NodeKind
from penstock.model.schemes import Policy
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.doubting import can_audit, has_shadows, is_doubted, sets_aside, works_anew
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import CLOCKS
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.columns.hashing import mix
from penstock.runtime.discarded.cold_segments import ColdSegments
from penstock.runtime.discarded.emitted_rows import EmittedRows
from penstock.runtime.discarded.late_matches import Anew, component, is_late, put_in_order
from penstock.runtime.discarded.recall import Recall, axis_columns
from penstock.runtime.input.wire_columns import matching_columns
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.purged import Purged
from penstock.runtime.join.rows import count, padded
from penstock.runtime.join.sides import StreamSide
from penstock.runtime.match.matching import Partial
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import MATCHED, mark_names
from penstock.runtime.promise.past_rows import MOST_SAMPLED, is_sampled
from penstock.runtime.promise.watch import Watch
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis

MOST_AUDITED = 10_000
"""Rows of one source in one cell that are kept for an audit; the eldest go first."""


class DoubtedRows(Component):
    """What one cell has set aside."""

    tables = ("piles",)
    may_lack = ("piles",)
    arrays = ("answered",)
    parts = ("emitted",)

    def __init__(
        self, plan: Plan, synopses: Mapping[str, Synopsis], closing: Closedness, watches: tuple[Watch, ...]
    ) -> None:
        self.plan = plan
        self.synopses = synopses
        self.closing = closing
        doubted = {p.constraint for p in plan.promises if p.policy is Policy.RECOVER and sets_aside(plan)}
        self.recovers = bool(doubted)
        self.monitored = tuple(w for w in watches if has_shadows(plan, w.promise))
        doubted |= {p.constraint for p in plan.promises if is_doubted(plan, p)}
        self._trusted = tuple(c for c in plan.closers if not _rests_on(plan, c, doubted))
        self.piles = {
            alias: ColdSegments(alias, axis_columns(plan, alias), mark_names(plan, alias), on_disk=self.recovers)
            for alias in (plan.aliases if doubted or can_audit(plan) else ())
        }
        self._audited = plan.audit if can_audit(plan) else 0.0
        self.emitted = EmittedRows(plan) if works_anew(plan) else None
        """What was emitted, where what a late row changes is worked out anew."""
        self._recall: Recall | None = None
        self._anew: Anew | None = None
        self.worked_anew = False
        """Whether the batch had late rows, so that what it adds was worked out anew."""
        self._out_of_order: tuple[str, ...] = ()
        self.answered: dict[str, Any] = dict.fromkeys(self.piles if plan.tree.is_pair else ())
        """By alias, the places in the order of arrival of rows that matched while they were aside, if there are any."""
        self.contradicted = 0
        """Rows that were given without the match that this batch shows them to have."""
        self._unmatched: dict[str, Bools] = {}
        """By alias, which of the rows that stand with the stored ones had not matched before."""
        self._brought: dict[str, tuple[int, int]] = {}
        """By alias, the ids of the rows that stand with the stored ones while the batch is joined."""
        self._sent: dict[str, tuple[int, int]] = {}
        """The same, of the running batch, once they were sent away."""

    def fetch_by(self, fetch: Callable[[str], Any]) -> None:
        """Say how entries of the store are read; from then on rows on disk are not held in memory."""
        for piles in self.piles.values():
            piles.fetch = fetch
        if self.emitted is not None:
            self.emitted.fetch_by(fetch)

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: a place names one row, whichever cell it lies in."""
        for alias in self.answered:
            known = [one.answered[alias] for one in members if one.answered[alias] is not None]
            self.answered[alias] = union(known) if known else None

    def bring_back(self) -> None:
        """Let rows that may stand with fresh ones stand among the stored rows."""
        self._sent = {}
        self.contradicted = 0
        is_any = any(piles.piles for piles in self.piles.values())
        self._recall = Recall(self.plan, self.synopses, self.piles) if is_any else None
        for alias, segments in (self._recall.run() if self._recall is not None else {}).items():
            synopsis = self.synopses[alias]
            place = len(synopsis.segments) - 1 if synopsis.has_fresh else len(synopsis.segments)
            first = sum(len(segment) for segment in synopsis.segments[:place])
            whole = [_whole(synopsis, segment) for segment in self._as_answered(alias, segments)]
            synopsis.segments[place:place] = whole
            synopsis.rebase()
            self._brought[alias] = (first, first + sum(len(segment) for segment in whole))
            if alias in self.answered:
                self._unmatched[alias] = np.concatenate([~segment.marks[MATCHED] for segment in whole])

    def has_late_rows(self, tree: JoinTree) -> bool:
        """Whether what the batch adds must be worked out anew; what was brought back and is no part of it goes away."""
        if self.emitted is None:
            return False
        self.worked_anew = is_late(self.plan, self.synopses, self._brought, self.emitted.pending_tuples())
        if not self.worked_anew:
            self.send_away(tree)
            return False
        reached = component(self.plan, self.synopses)
        for alias, (first, end) in self._brought.items():
            back = np.flatnonzero(reached[alias][first:end])
            kept = self._only(alias, first, end, back)
            reached[alias] = np.delete(reached[alias], np.setdiff1d(np.arange(first, end), back + first))
            assert self._recall is not None
            self._recall.take_out(alias, kept)
        self._out_of_order, self._brought = tuple(self._brought), {}
        ids = {alias: np.flatnonzero(mask) for alias, mask in reached.items()}
        self._anew = Anew(self.plan, tree, self.emitted, ids)
        return True

    def work_out_anew(self) -> tuple[list[Partial], dict[str, Ints]]:
        """Where that is so: the results to emit, and by alias what left."""
        if self._anew is None:
            return [], {}
        given, self.contradicted, done = self._anew.work_out()
        self._anew = None
        return [given], done

    def _only(self, alias: str, first: int, end: int, rows: Ints) -> Ints:
        """Of rows that were brought back let some stay, in the order of arrival; gives their places in that order."""
        synopsis = self.synopses[alias]
        starts = np.cumsum([0, *(len(segment) for segment in synopsis.segments)])
        span = [n for n in range(len(synopsis.segments)) if first <= starts[n] < end]
        stay: list[Segment] = []
        if len(rows):
            whole = Segment.merged(synopsis.segments[span[0] : span[-1] + 1]).taken(rows)
            stay = [whole.taken(np.argsort(whole.arrival, kind="stable"))]
        synopsis.segments[span[0] : span[-1] + 1] = stay
        synopsis.rebase()
        return stay[0].arrival if stay else empty_ids()

    def emit(self, partials: list[Partial]) -> list[Partial]:
        """Note results that are about to be emitted, where that is needed; gives those that were not before."""
        if self.emitted is None:
            return partials
        return [self.emitted.emit(rows, self.synopses) for rows in partials]

    def finish(self) -> None:
        """After a step: what was brought back to stay stands where it arrived."""
        for alias in self._out_of_order:
            put_in_order(self.synopses[alias])
        self._out_of_order = ()

    def _as_answered(self, alias: str, segments: list[Segment]) -> list[Segment]:
        """The rows without those of EXISTS that have their answer, and with the marks of those that have matched."""
        answered = self.answered.get(alias)
        if answered is None:
            return segments
        found = []
        for segment in segments:
            is_answered = np.isin(segment.arrival, answered)
            if self.plan.tree.root.kind in (NodeKind.SEMI, NodeKind.ANTI):
                found.append(segment.taken(np.flatnonzero(~is_answered)))
            else:
                marked = segment.taken(np.arange(len(segment)))
                marked.marks[MATCHED] |= is_answered
                found.append(marked)
        return found

    def _note_matches(self, tree: JoinTree) -> None:
        """Remember which rows matched that stand with the stored ones, and how many given ones that contradicts."""
        for alias, unmatched in self._unmatched.items():
            (node,) = tree.nodes.values()
            first, end = self._brought[alias]
            side = next(n for n, one in enumerate(node.sides) if isinstance(one, StreamSide) and one.alias == alias)
            if not node.plan.waits[side]:
                continue
            if node.plan.kind in (NodeKind.SEMI, NodeKind.ANTI):
                matched = node.renumber_answered(first, end)
            else:
                ids = np.arange(first, end)[unmatched]
                matched = ids[self.synopses[alias].marked(MATCHED, ids)] if len(ids) else ids
            if not len(matched):
                continue
            places = self.synopses[alias].gather(matched, lambda s: s.arrival)
            known = self.answered[alias]
            self.answered[alias] = union([places] if known is None else [known, places])
            if node.plan.kind is not NodeKind.SEMI:
                self.contradicted += count(tree.results(padded({alias: matched}, node.plan.aliases), self.synopses))
        self._unmatched = {}

    def send_away(self, tree: JoinTree) -> None:
        """End that, after the join."""
        self._note_matches(tree)
        for alias, (first, end) in self._brought.items():
            synopsis = self.synopses[alias]
            starts = np.cumsum([0, *(len(segment) for segment in synopsis.segments)])
            synopsis.segments = [s for n, s in enumerate(synopsis.segments) if not first <= starts[n] < end]
            synopsis.rebase()
        self._sent |= self._brought
        self._brought = {}

    def renumbered(self, alias: str, ids: Ints) -> Ints:
        """What ids of fresh rows became when those that had been brought back were sent away."""
        first, end = self._sent.get(alias, (0, 0))
        return ids - (end - first)

    def without_lost(self, partials: list[Partial]) -> tuple[list[Partial], list[Partial]]:
        """The results that are given, and those that are lost because a row of theirs is no more than a shadow."""
        if not self._brought or self.recovers:
            return partials, []
        given, lost = [], []
        for partial in partials:
            gone: Bools = np.zeros(len(next(iter(partial.values()))), np.bool_)
            # What EXISTS was answered by stands in no result: a row that a shadow answers is given, and rightly.
            for alias in self._brought.keys() & partial.keys():
                first, end = self._brought[alias]
                gone |= (partial[alias] >= first) & (partial[alias] < end)
            given.append({alias: ids[~gone] for alias, ids in partial.items()})
            lost.append({alias: ids[gone] for alias, ids in partial.items()})
        return given, lost

    @property
    def has_shadows(self) -> bool:
        """Whether rows stand among the stored ones that are no more than shadows."""
        return bool(self._brought) and not self.recovers

    def keep(self, purged: Purged) -> None:
        """Set aside what promises in doubt have let go, and let go of what has been aside for long enough."""
        since = {w.promise.constraint: w.position for w in self.monitored}
        for alias, piles in self.piles.items():
            ids = purged.of(alias) if self.emitted is not None else purged.by_promises(alias)
            if len(ids) and self.emitted is None:
                ids = ids[self._sampled(piles, ids) if can_audit(self.plan) else ~self._final(alias, ids)]
            ids = np.sort(ids)
            if len(ids):
                piles.add(self._segment(alias, ids), since)
            if self.emitted is None:
                self._expire(piles)

    def _sampled(self, piles: ColdSegments, ids: Ints) -> Bools:
        """Which rows belong to the share of the keys that is audited."""
        synopsis = self.synopses[piles.alias]
        keys = synopsis.hashes(piles.keys[0], ids) if piles.keys else synopsis.gather(ids, lambda s: s.arrival)
        chosen: Bools = mix(keys.view(np.uint64)) <= np.uint64(min(self._audited, 1.0) * (2.0**64 - 2**12))
        return chosen & (self._audited > 0)

    def _final(self, alias: str, ids: Ints) -> Bools:
        final: Bools = np.ones(len(ids), np.bool_)
        for target in self.plan.aliases:
            if target != alias:
                closed: Bools = np.zeros(len(ids), np.bool_)
                for closer in self._trusted:
                    if (closer.source, closer.target) == (alias, target):
                        closed |= self.closing.closed_by(closer, self.synopses[alias], ids)
                final &= closed
        return final

    def _segment(self, alias: str, ids: Ints) -> Segment:
        synopsis = self.synopses[alias]
        # Of a shadow also what promises are watched by, though no condition of the query reads it.
        is_whole = self.recovers or self._audited
        columns = synopsis.columns if is_whole else matching_columns(self.plan, alias, synopsis.columns)
        arrival: Ints = synopsis.gather(ids, lambda s: s.arrival)
        batch: Ints = synopsis.gather(ids, lambda s: s.batch)
        home: Bools = synopsis.gather(ids, lambda s: s.home)
        marks: dict[str, Bools] = {name: np.zeros(len(ids), np.bool_) for name in mark_names(self.plan, alias)}
        for name in marks if self.emitted is not None else [MATCHED] if MATCHED in marks else []:
            marks[name] = synopsis.marked(name, ids).copy()
        segment = Segment(pa.table({c: synopsis.arrow(c, ids) for c in columns}), arrival, batch, home, marks)
        segment.counts = None if synopsis.segments[0].counts is None else synopsis.counts(ids)
        return segment

    def _expire(self, piles: ColdSegments) -> None:
        source = self.plan.by_alias[piles.alias]
        if source.window_rows is not None:
            last = self.closing.clock.count[source.stream] - source.window_rows
            for pile in [pile for pile in piles.piles if pile.last < last and self.closing.across is None]:
                piles.drop(pile)
        if self.recovers:
            return
        most = MOST_AUDITED if self._audited else 0 if can_audit(self.plan) else MOST_SAMPLED
        for pile in [pile for pile in piles.piles if pile.since and self._is_over(pile.since)]:
            segment = piles.rows_of(pile)
            piles.drop(pile)
            sampled = np.flatnonzero(is_sampled(self.plan.monitor, segment.arrival))
            if len(sampled):
                piles.piles.insert(0, piles.sample(segment, sampled))
        while sum(pile.rows for pile in piles.piles if not pile.since) > most:
            piles.drop(min((pile for pile in piles.piles if not pile.since), key=lambda pile: pile.last))

    def _is_over(self, since: Mapping[str, int]) -> bool:
        """Whether every monitored constraint has moved on by (c - 1) times its k."""
        beyond = self.plan.monitor.factor - 1
        return all(w.position - since.get(w.promise.constraint, 0) >= beyond * (w.k or 0) for w in self.monitored)

    @property
    def nbytes(self) -> int:
        """The bytes of what is in memory."""
        logged = 0 if self.emitted is None else self.emitted.log.nbytes
        return logged + sum(piles.nbytes for piles in self.piles.values())

    @property
    def shadows(self) -> int:
        """The rows in memory."""
        return 0 if self.recovers else sum(piles.rows for piles in self.piles.values())

    @property
    def audited(self) -> int:
        """The rows that are kept for an audit."""
        return sum(piles.rows for piles in self.piles.values()) if self._audited else 0


def _rests_on(plan: Plan, closer: Closer, doubted: set[str]) -> bool:
    """Whether a closer closes by a constraint in doubt."""
    orders = {
        p.constraint
        for p in plan.promises
        if p.kind in CLOCKS and (p.alias, p.columns) == (closer.target, closer.target_columns)
    }
    by_order = closer.kind in (CloserKind.BAND, CloserKind.ORDER)
    return bool(doubted & ({*closer.constraints} | (orders if by_order else set())))


def _whole(synopsis: Synopsis, segment: Segment) -> Segment:
    """The rows with every column that stored ones have: of a shadow, what was let go is NULL, and is not looked at."""
    table = segment.table
    # What is worked out of rows, such as their bucket, fresh ones do not have yet.
    known = {f.name: f.type for stored in synopsis.segments[:1] for f in stored.table.schema}
    for name in synopsis.columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(segment), known.get(name, pa.null())))
    whole = Segment(table, segment.arrival, segment.batch, segment.home, segment.marks)
    whole.counts = segment.counts
    return whole
