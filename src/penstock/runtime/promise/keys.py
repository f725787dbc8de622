"""PRIMARY KEY (a): `a = v` is closed once a tuple with `a = v` arrived, even one that a filter drops.

A key promise closes j for the tuples of i that name v: they are **marked** when it is made, or when they arrive after
it. A stored tuple stands for its own promise; for tuples that left, and rows that a filter dropped, the key itself is
remembered here as a promise row, while a tuple of i that names v may still come. It is forgotten once promises rule
out that v comes on i, and not kept where another scheme closes i -> j anyway and it would not pay (`choosing.py`),
unless punctuations of i are forgotten by it. What is forgotten is no longer watched. Under ADAPT a key that came twice
is excepted: it closes nothing from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.memory_choice import key_memories
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.columns.hashing import Hashes
from penstock.runtime.input.wire_columns import order_column
from penstock.runtime.match.key_matching import (
    Keyed,
    all_differ,
    match_keys,
    may_repeat,
    meets,
    newly_met,
    nulls,
    repeated,
)
from penstock.runtime.promise.choosing import Choice, Named
from penstock.runtime.promise.marks import mark_name, mark_names
from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.violations import Breach
from penstock.runtime.promise.watch import Promised, Watch, WatchStep
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis

if TYPE_CHECKING:
    from penstock.runtime.promise.closing import Closedness


class KeyWatch(Watch):
    """The keys of one alias that have arrived, as far as they are still needed."""

    parts = ("values", "_choices")

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        self.alias = promise.alias
        self.columns = promise.columns
        closers = plan.key_closers
        self.users = [c for c in closers if c.target == self.alias and c.target_columns == self.columns]
        memories = [m for m in key_memories(plan) if (m.closer.target, m.closer.target_columns) == self.place]
        self._always = [
            m.closer
            for m in memories
            if (m.closer in self.users and m.kept and not m.waits) or _ends_punctuations(plan, m.closer)
        ]
        self._choices = [
            Choice(plan, m) for m in memories if m.closer in self.users and m.ends and m.closer not in self._always
        ]
        source = plan.by_alias[self.alias]
        timed = source.event_time in source.kept and source.event_time not in self.columns
        clock = (source.event_time,) if timed and source.event_time is not None else ()
        self.values = ValueTable(self.columns, (*clock, *order_column(plan)))
        self._newly_marked: Ints = empty_ids()
        self._came = 0
        self._met: dict[str, Ints] = {}
        self._naming: dict[Closer, Named] = {}
        """By closer, what names a key remembered here."""
        self._sole_ties = [c for c in self.users if _is_sole_tie(plan, c)]
        closing = (*closers, *plan.held_closers)
        self._noted = [c for c in closing if c.source == self.alias and set(c.columns) <= set(self.columns)]
        """What says of keys that they can come no more on other streams."""
        self._enders = {m.closer: tuple(_enders(plan, m.closer)) for m in memories}

    @property
    def ghosts(self) -> Synopsis:
        """The promise rows."""
        return self.values.rows

    @property
    def place(self) -> Promised:
        """The stream, by alias, and its key."""
        return self.alias, self.columns

    @property
    def choices(self) -> list[Choice]:
        """What is chosen anew: which keys are remembered."""
        return [] if self.values.given_up else self._choices

    @property
    def needed_by(self) -> list[Closer]:
        """The closers that keys are remembered for."""
        return [*self._always, *(choice.memory.closer for choice in self.choices if choice.kept)]

    @property
    def is_used(self) -> bool | None:
        """See Watch."""
        return bool(self.needed_by) if self.choices else None

    def breaches(self, step: WatchStep) -> list[Breach]:
        """See Watch."""
        synopsis = step.synopses[self.alias]
        fresh = synopsis.ids(FRESH)
        if not len(fresh) or self.values.given_up:
            return []
        missing = nulls(synopsis, self.columns, fresh)
        fresh = fresh if missing is None else fresh[~missing]
        own, dropped = Keyed(synopsis, self.columns), Keyed(step.dropped[self.alias], self.columns)
        found, seen = [], [(synopsis, OLD), (self.ghosts, OLD)]
        if not _all_differ([(own, fresh), (dropped, dropped.synopsis.ids(FRESH))]):
            found.append(fresh[repeated(own, fresh)[1]])
            seen.append((dropped.synopsis, FRESH))
        for past, part in seen:
            found.append(fresh[meets(own, fresh, Keyed(past, self.columns), part)])
        broken = union(found)
        return [Breach(self.promise, self.alias, broken, np.zeros(len(broken), np.int64))] if len(broken) else []

    def adapt(self, breach: Breach, step: WatchStep) -> None:
        """See Watch."""
        self.values.end(step.synopses, Keyed(step.synopses[self.alias], self.columns), breach.ids, self.users)

    def learn(self, step: WatchStep) -> dict[str, Ints]:
        """See Watch."""
        touched: dict[str, Ints] = {}
        own = step.synopses[self.alias]
        self._came = own.size(FRESH)
        self._met = {}
        for closer in self.users:
            target = step.synopses[closer.source]
            wanted = Keyed(target, closer.columns)
            named = self._mark(closer, target, [newly_met(Keyed(own, self.columns), wanted)])
            # Where more than the key ties the two, the row that it names may not agree.
            into = self._met if closer in self._sole_ties else touched
            into[closer.source] = _joined(into.get(closer.source), named)
            fresh = target.ids(FRESH)
            places, _ = match_keys(wanted, fresh, self.values.own, OLD)
            self._naming[closer] = Named(len(fresh), len(places), self._ended(step, closer))
            gone = newly_met(Keyed(step.dropped[self.alias], self.columns), wanted)
            named = self._mark(closer, target, [gone, fresh[places]])
            touched[closer.source] = _joined(touched.get(closer.source), named)
        return touched

    def met(self) -> Mapping[str, Ints]:
        """See Watch."""
        return self._met

    def _mark(self, closer: Closer, target: Synopsis, found: list[Ints]) -> Ints:
        ids = self.values.unexcepted(Keyed(target, closer.columns), union(found))
        return target.mark(mark_name(closer), ids)

    def _ended(self, step: WatchStep, closer: Closer) -> int:
        """How many clusters of a user ended in this batch that are forgotten because the key is remembered here."""
        if not self.choices or self.plan.by_alias[self.alias].has_rows_window:
            return 0
        ended = 0
        for held in step.promised.get((closer.source, closer.columns), ()):
            ended += len(match_keys(Keyed(held, closer.columns), held.ids(FRESH), self.values.own, OLD)[0])
        return ended

    def settle(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """See Watch."""
        if not self.ghosts.segments and not self.needed_by and not self.choices:
            return
        self._newly_marked = self.values.note(step, self._noted)
        self._choose(step, removed, closing)
        old = union([closing.newly_closed(self.alias, self.ghosts), self._newly_marked])
        old = self.ghosts.alive(old)
        forgotten = old[~self._needed(closing, self.ghosts, old)]
        if len(forgotten):
            self.ghosts.kill(forgotten)
        if not self.needed_by:
            return
        own, dropped = step.synopses[self.alias], step.dropped[self.alias]
        pieces = [
            self._ghosts_of(closing, own, removed.get(self.alias, empty_ids()), step.clock.batch),
            self._ghosts_of(closing, dropped, dropped.ids(FRESH), step.clock.batch),
        ]
        for piece in pieces:
            if piece is not None:
                self.ghosts.segments.append(piece)
        self.ghosts.rebase()

    def _choose(self, step: WatchStep, removed: Mapping[str, Ints], closing: Closedness) -> None:
        """Choose anew whether keys are remembered, where that depends on what is seen."""
        left, dropped = len(removed.get(self.alias, ())), step.dropped[self.alias].size(FRESH)
        came = self._came + dropped
        for choice in self.choices:
            closer = choice.memory.closer
            choice.see(came, dropped + left, self._naming.get(closer, Named()))
            count = step.clock.count
            source, target = (self.plan.by_alias[alias].stream for alias in (closer.source, closer.target))
            if choice.choose(count[source], count[target], step.k) and not choice.kept:
                ids = self.ghosts.ids(ALL)
                self.ghosts.kill(ids[~self._needed(closing, self.ghosts, ids)])

    def _needed(self, closing: Closedness, synopsis: Synopsis, ids: Ints) -> Bools:
        """Whether a future tuple of some user may still name the key."""
        needed: Bools = np.zeros(len(ids), np.bool_)
        for user in self.needed_by:
            ended: Bools = np.zeros(len(ids), np.bool_)
            for closer in self._enders[user]:
                ended |= closing.closed_by(closer, synopsis, ids)
            needed |= ~ended
        return needed

    def _ghosts_of(self, closing: Closedness, synopsis: Synopsis, ids: Ints, batch: int) -> Segment | None:
        ids = self.values.unexcepted(Keyed(synopsis, self.columns), ids)
        ids = ids[self._needed(closing, synopsis, ids)] if len(ids) else ids
        if not len(ids):
            return None
        ids = np.sort(ids)
        table = pa.table({c: synopsis.arrow(c, ids) for c in self.ghosts.columns})
        marks = {name: synopsis.gather(ids, _mark_reader(name)) for name in mark_names(self.plan, self.alias)}
        home: Bools = synopsis.gather(ids, lambda s: s.home)
        # The batch in which it became a promise row: later than the tuple's own, so FOLLOWS closes it no earlier.
        return Segment(table, synopsis.gather(ids, lambda s: s.arrival), np.full(len(ids), batch), home, marks)

    def dealt(self, synopses: Mapping[str, Synopsis]) -> None:
        """See Watch."""
        self.resume()
        self.values.except_anew(synopses, self.users)

    def forget(self, count: int) -> int:
        """See Watch."""
        forgotten = self.values.forget(count)
        self.resume()
        return forgotten

    def resume(self) -> None:
        """See Component."""
        if self.values.given_up:
            self.users, self._always = [], []


def _is_sole_tie(plan: Plan, closer: Closer) -> bool:
    """Whether a row agrees with the one that it names whatever else they hold."""
    pair = {closer.source, closer.target}
    by_key = set(zip(closer.columns, closer.target_columns, strict=True))
    shared = {(axis.column(closer.source), axis.column(closer.target)) for axis in plan.axes}
    others = [{p.left.alias, p.right.alias} for p in plan.predicates]
    others += [{agreement.left.alias, agreement.right.alias} for agreement in plan.agreements]
    return pair not in others and all(None in columns or columns in by_key for columns in shared)


def _joined(before: Ints | None, ids: Ints) -> Ints:
    return ids if before is None else np.concatenate([before, ids])


def _all_differ(told: list[tuple[Keyed, Ints]]) -> bool:
    """Whether no key comes twice among rows, for certain."""
    told = [(keyed, ids) for keyed, ids in told if len(ids)]

    def hashed() -> Hashes:
        found = [keyed.keys(ids) for keyed, ids in told]
        return found[0] if len(found) == 1 else np.concatenate(found)

    if not told:
        return True
    if not told[0][0].exact:
        return not may_repeat(hashed())
    return all_differ(np.concatenate([keyed.synopsis.codes(keyed.columns[0], ids) for keyed, ids in told]), hashed)


def _mark_reader(name: str) -> Callable[[Segment], Bools]:
    return lambda segment: segment.mask(name)


def _ends_punctuations(plan: Plan, user: Closer) -> bool:
    """Whether punctuations or clusters of the user's stream are forgotten by the key: what they close has come.

    Clusters are not where FOLLOWS says so; neither is needed for a stream whose tuples leave by [ROWS n].
    """
    if plan.by_alias[user.target].has_rows_window:
        return False
    others = plan.closers_between(user.source, user.target)
    follows = any(c.kind is CloserKind.FOLLOWS for c in others)
    kinds = (PromiseKind.PUNCTUATED,) if follows else (PromiseKind.PUNCTUATED, PromiseKind.CLUSTERED)
    return any(
        p.kind in kinds and p.alias == user.source and set(user.columns) <= set(p.columns) for p in plan.promises
    )


def _enders(plan: Plan, user: Closer) -> Iterator[Closer]:
    """What ends the need for a promise row: that the key itself can come no more on the user's stream.

    A band that rests on predicates of the query rules out matches, not keys, so it ends nothing; nor does a punctuation
    on other columns.
    """
    for closer in plan.closers_between(user.target, user.source):
        if (
            closer.kind is not CloserKind.KEY
            and closer.kind in ABOUT_VALUES
            and not set(closer.columns) <= set(user.target_columns)
        ):
            continue
        if closer.excess is None or closer.excess.is_declared:
            yield closer
