"""The table of values that one declaration closes: keys that came, punctuations, clusters that ended, items that wait.

Whatever makes the promise `a = v`, the same happens to it. It **arrives**: each value once, NULL never, one that is
excepted not at all. It **marks** the stored rows that carry v, which are closed by it. It **ends** when a row breaks
it under ADAPT: the value is excepted, closes nothing from then on, and marks are taken back. What promises of other
streams say of v is **noted** on its row, and it is **forgotten** once nothing needs it; what does, each watch knows. A
budget may make a table forget more: promise rows first, which only delays purges, then the exceptions. Without these
it could close what was excepted, so it **gives up**, and closes and watches nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, flat, union
from penstock.runtime.match.key_matching import Keyed, meets, newly_met, reached, repeated
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis


class ValueTable(Component):
    """Promise rows by the values that they close, and the values that are excepted."""

    tables = ("rows", "excepted")
    numbers = ("given_up",)

    def __init__(self, columns: tuple[str, ...], beside: Iterable[str] = ()) -> None:
        self.columns = columns
        """The values; `beside` them a row may hold more."""
        self.rows = Synopsis((*columns, *beside))
        self.excepted = Synopsis(columns)
        self.given_up = False

    @property
    def own(self) -> Keyed:
        """The promise rows by their values."""
        return Keyed(self.rows, self.columns)

    def arrive(self, table: Any, place: Ints, batch: int, marks: Iterable[str] = (), *, again: bool = False) -> None:
        """Hold what a batch promises, as the fresh part; a value that is held comes `again` only if that is said."""
        size = len(place)
        valid: Bools = np.ones(size, np.bool_)
        for name in self.rows.columns:
            valid &= flat(table.column(name)).is_valid().to_numpy(zero_copy_only=False)
        unmarked: dict[str, Bools] = {name: np.zeros(size, np.bool_) for name in marks}
        home: Bools = np.ones(size, np.bool_)
        segment = Segment(table.select(list(self.rows.columns)), place, np.full(size, batch), home, unmarked)
        segment.kill(np.flatnonzero(~valid))
        self.rows.begin(segment)
        self._let_go(meets(self.own, self.rows.ids(FRESH), Keyed(self.excepted, self.columns), ALL))
        if not again:
            self._let_go(repeated(self.own, self.rows.ids(FRESH))[1])
            self._let_go(meets(self.own, self.rows.ids(FRESH), self.own, OLD))

    def _let_go(self, chosen: Ints | Bools) -> None:
        """Forget fresh promise rows, by their places among those that live."""
        gone = union([self.rows.ids(FRESH)[chosen]])
        if len(gone):
            self.rows.kill(gone)

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        self.given_up = any(one.given_up for one in members)

    def except_anew(self, synopses: Mapping[str, Synopsis], users: Iterable[Closer]) -> None:
        """What one cell has excepted is closed by none, where the values of several were taken together."""
        ids = self.excepted.ids(ALL)
        if len(ids):
            broken = Keyed(self.excepted, self.columns)
            self.rows.kill(union([reached(broken, ids, self.own, ALL)]))
            unmark(synopses, broken, ids, users)

    def note(self, step: WatchStep, closers: Iterable[Closer]) -> Ints:
        """Mark the rows whose values promises of others close, that is, can come no more; gives those newly marked."""
        found = [empty_ids()]
        for closer in closers if self.rows.segments else ():
            closed = union(list(_closed_values(step, self.rows, closer)))
            found.append(self.rows.mark(mark_name(closer), self.rows.alive(closed)))
        return union(found)

    def end(self, synopses: Mapping[str, Synopsis], broken: Keyed, ids: Ints, users: Iterable[Closer]) -> None:
        """Except the values of rows that broke the promise, and take back what it closed by them."""
        synopsis = broken.synopsis
        table = pa.table({c: synopsis.arrow(c, ids) for c in broken.columns})
        arrival: Ints = synopsis.gather(ids, lambda s: s.arrival)
        self.excepted.segments.append(Segment(table, arrival, arrival * 0, np.ones(len(ids), np.bool_), {}))
        self.excepted.rebase()
        self.rows.kill(union([reached(broken, ids, self.own, ALL)]))
        unmark(synopses, broken, ids, users)

    def unexcepted(self, carriers: Keyed, ids: Ints) -> Ints:
        """Those of the rows whose values are not excepted."""
        if not len(ids) or not self.excepted.segments:
            return ids
        return ids[~meets(carriers, ids, Keyed(self.excepted, self.columns), ALL)]

    def forget(self, count: int) -> int:
        """Forget so many rows to keep a budget, the eldest first; gives how many."""
        gone = self.rows.ids(ALL)[:count]
        self.rows.kill(gone)
        if len(gone) == count or not self.excepted.live:
            return len(gone)
        excepted = self.excepted.ids(ALL)
        self.excepted.kill(excepted)
        self.given_up = True
        return len(gone) + len(excepted)


def unmark(synopses: Mapping[str, Synopsis], values: Keyed, ids: Ints, users: Iterable[Closer]) -> None:
    """Take back what was closed for rows that carry the values of some rows."""
    for closer in users:
        target = synopses[closer.source]
        rows = reached(values, ids, Keyed(target, closer.columns), ALL)
        for segment, _, inside in target.split(rows):
            segment.marks[mark_name(closer)][inside] = False
            segment.touched = True


def _closed_values(step: WatchStep, held: Synopsis, closer: Closer) -> Iterator[Ints]:
    """The promise rows whose values a promise on the closer's target closes, as far as one of the two is new."""
    own = Keyed(held, closer.columns)
    promised = (closer.target, closer.target_columns)
    if closer.kind is not CloserKind.KEY:
        for other in step.promised.get(promised, ()):
            yield newly_met(Keyed(other, closer.target_columns), own)
        return
    yield newly_met(Keyed(step.synopses[closer.target], closer.target_columns), own)
    dropped = step.dropped[closer.target]
    yield reached(Keyed(dropped, closer.target_columns), dropped.ids(FRESH), own, ALL)
    if promised in step.key_ghosts:
        fresh = held.ids(FRESH)
        yield fresh[meets(own, fresh, Keyed(step.key_ghosts[promised], closer.target_columns), OLD)]
