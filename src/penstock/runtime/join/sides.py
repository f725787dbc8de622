"""The two sides of a node: the stored tuples of one stream, or rows of several that wait.

A row that waits names its tuples by their places in the order of arrival, which hold from step to step, and the tuples
are stored as long as it waits. Either kind of side has keys that hold for one step, by which rows are marked as
matched, and leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.plan.tree import NodePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.join.rows import ABSENT, GivenRows, Rows, count
from penstock.runtime.promise.marks import DOUBTED, LEFT, MATCHED, UNSURE
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis


class Side(Protocol):
    """What a node asks of either kind."""

    @property
    def size(self) -> int:
        """How many rows are stored, those that are not in play with them."""

    def rows(self, which: str) -> tuple[Rows, Ints]:
        """The rows of a part that are still in play, and their keys; FRESH are those added in this pass."""

    def rows_of(self, keys: Ints) -> Rows:
        """The rows by their keys."""

    def add(self, given: GivenRows, batch: int) -> None:
        """Take in new rows."""

    def mark(self, keys: Ints) -> None:
        """Note that rows matched."""

    def is_matched(self, keys: Ints) -> Bools:
        """Which of the rows have matched."""

    def doubt(self, keys: Ints) -> None:
        """Note that what rows would have matched may be lost."""

    def is_doubted(self, keys: Ints) -> Bools:
        """Which of the rows are in doubt."""

    def is_unsure(self, keys: Ints) -> Bools | None:
        """Which of the rows may be none; None for none of them."""

    def only_in_play(self, keys: Ints) -> Ints:
        """Those of the rows that have not left."""

    def leave(self, keys: Ints) -> None:
        """Let rows go; each must be in play and named once."""


class StreamSide:
    """The tuples of one stream, as its synopsis stores them."""

    def __init__(self, alias: str, synopsis: Synopsis, retained: bool) -> None:
        self.alias = alias
        self.synopsis = synopsis
        self.retained = retained
        """Whether rows may wait that its tuples are part of: then a tuple that is done here is stored all the same."""
        self.late = False
        """In the second pass of a step no tuple is new."""

    @property
    def size(self) -> int:
        """See Side."""
        return self.synopsis.live

    def rows(self, which: str) -> tuple[Rows, Ints]:
        """See Side."""
        ids = self.synopsis.ids(self.part(which))
        if which == FRESH and self.late:
            ids = empty_ids()
        ids = self.in_play(ids)
        return {self.alias: ids}, ids

    def rows_of(self, keys: Ints) -> Rows:
        """See Side."""
        return {self.alias: keys}

    def part(self, which: str) -> str:
        """The part of the synopsis that holds a part of the side."""
        return ALL if which == OLD and self.late else which

    def in_play(self, ids: Ints) -> Ints:
        """Those of the tuples that are not done here."""
        if not self.retained or not len(ids):
            return ids
        left: Bools = self.synopsis.gather(ids, lambda s: s.marks[LEFT])
        return ids[~left] if left.any() else ids

    def only_in_play(self, keys: Ints) -> Ints:
        """See Side."""
        return self.in_play(self.synopsis.alive(keys))

    def add(self, given: GivenRows, batch: int) -> None:
        """See Side: the intake has stored them."""

    def mark(self, keys: Ints) -> None:
        """See Side."""
        self.synopsis.mark(MATCHED, keys)

    def is_matched(self, keys: Ints) -> Bools:
        """See Side."""
        found: Bools = self.synopsis.gather(keys, lambda s: s.marks[MATCHED]).astype(np.bool_)
        return found

    def doubt(self, keys: Ints) -> None:
        """See Side."""
        self.synopsis.mark(DOUBTED, keys)

    def is_doubted(self, keys: Ints) -> Bools:
        """See Side."""
        found: Bools = self.synopsis.gather(keys, lambda s: s.mask(DOUBTED)).astype(np.bool_)
        return found

    def is_unsure(self, keys: Ints) -> Bools | None:  # noqa: ARG002 - a tuple came, or it is not here
        """See Side."""
        return None

    def leave(self, keys: Ints) -> None:
        """See Side."""
        if self.retained:
            self.synopsis.mark(LEFT, keys)
        else:
            self.synopsis.kill(keys)


class WaitingSide(Component):
    """Rows over several streams."""

    tables = ("waiting",)
    numbers = ("_number",)

    def __init__(self, node: NodePlan, synopses: Mapping[str, Synopsis], marks: tuple[str, ...]) -> None:
        self.aliases = aliases = node.aliases
        self.certain = frozenset(node.certain)
        """The streams that are in each of the rows."""
        self.marks = marks
        self.synopses = synopses
        self.waiting = Synopsis(aliases)
        self._number = 0
        self._new = 0
        """The key of the first row that was added in this pass."""

    @property
    def size(self) -> int:
        """See Side."""
        return self.waiting.live

    def rows(self, which: str) -> tuple[Rows, Ints]:
        """See Side."""
        if which == FRESH:
            keys = self.waiting.alive(np.arange(self._new, self.waiting.rows))
        else:
            keys = self._of(self.waiting.ids(ALL), which)
        return self.rows_of(keys), keys

    def _of(self, keys: Ints, which: str) -> Ints:
        return keys[keys < self._new] if which == OLD else keys

    def rows_of(self, keys: Ints) -> Rows:
        """See Side."""
        return {a: places(self.synopses[a], self.waiting.codes(a, keys)) for a in self.aliases}

    def add(self, given: GivenRows, batch: int) -> None:
        """See Side."""
        rows, size = given.rows, count(given.rows)
        self._new = sum(len(s) for s in self.waiting.segments)
        if not size:
            return
        columns = {a: pa.array(arrivals(self.synopses[a], rows[a])) for a in self.aliases}
        numbers = np.arange(self._number, self._number + size)
        marks: dict[str, Bools] = {name: np.zeros(size, np.bool_) for name in self.marks}
        if given.unsure is not None:
            marks[UNSURE] = given.unsure
        batches = np.full(size, batch, np.int64)
        self.waiting.segments.append(Segment(pa.table(columns), numbers, batches, np.ones(size, np.bool_), marks))
        self.waiting.rebase()
        self._number += size

    def mark(self, keys: Ints) -> None:
        """See Side."""
        self.waiting.mark(MATCHED, keys)

    def is_matched(self, keys: Ints) -> Bools:
        """See Side."""
        found: Bools = self.waiting.gather(keys, lambda s: s.marks[MATCHED]).astype(np.bool_)
        return found

    def doubt(self, keys: Ints) -> None:
        """See Side."""
        self.waiting.mark(DOUBTED, keys)

    def is_doubted(self, keys: Ints) -> Bools:
        """See Side."""
        found: Bools = self.waiting.gather(keys, lambda s: s.mask(DOUBTED)).astype(np.bool_)
        return found

    def is_unsure(self, keys: Ints) -> Bools | None:
        """See Side."""
        if UNSURE not in self.marks:
            return None
        found: Bools = self.waiting.gather(keys, lambda s: s.marks[UNSURE]).astype(np.bool_)
        return found

    def add_as_on(self, other: WaitingSide) -> None:
        """Let the rows wait too that wait on another side of its kind."""
        keys = other.waiting.ids(ALL)
        if len(keys):
            columns = {alias: pa.array(other.waiting.codes(alias, keys)) for alias in self.aliases}
            numbers = np.arange(self._number, self._number + len(keys))
            marks = {name: np.array(other.waiting.gather(keys, _mask_reader(name))) for name in self.marks}
            batches: Ints = np.array(other.waiting.gather(keys, lambda s: s.batch))
            self.waiting.segments.append(
                Segment(pa.table(columns), numbers, batches, np.ones(len(keys), np.bool_), marks)
            )
            self.waiting.rebase()
            self._number += len(keys)
        self._new = self.waiting.rows

    def begin_as(self, other: WaitingSide) -> None:
        """Let the rows wait that wait on another side of its kind; of these all are sure."""
        segments = [segment.taken(segment.living()) for segment in other.waiting.segments if segment.live]
        for segment in segments:
            segment.marks = {name: segment.mask(name) for name in self.marks}
        self.waiting.segments = segments
        self.waiting.rebase()
        self._number = other._number

    def number_anew(self) -> None:
        """Number the rows that wait, which came from several sides of its kind, in their order."""
        self._number = 0
        for segment in self.waiting.segments:
            segment.arrival = np.arange(self._number, self._number + len(segment))
            self._number += len(segment)

    def naming(self, alias: str, ids: Ints, which: str = ALL) -> Ints:
        """The rows of a part, not of the new one, that some tuples of a stream are part of; found by an index."""
        named = np.unique(arrivals(self.synopses[alias], ids))
        return self._of(union([self.waiting.probe_values(ALL, alias, named)[1]]), which)

    def added_in(self, batch: int) -> Ints:
        """The rows that came in a batch, the last one."""
        return self.waiting.arrived(lambda s: s.batch, batch - 1, batch, ALL)

    def only_in_play(self, keys: Ints) -> Ints:
        """See Side."""
        return self.waiting.alive(keys)

    def evicting(self, alias: str, gone: Ints) -> None:
        """Let the rows go that are made of tuples which are evicted, named by their places in the order of arrival."""
        keys = self.waiting.ids(ALL)
        if len(keys):
            self.leave(keys[np.isin(self.waiting.codes(alias, keys), gone)])

    def leave(self, keys: Ints) -> None:
        """See Side."""
        self.waiting.kill(keys)

    def names(self, alias: str, ids: Ints) -> Bools:
        """Which tuples of a stream some row is made of."""
        found: Bools = np.zeros(len(ids), np.bool_)
        found[self.waiting.probe_values(ALL, alias, arrivals(self.synopses[alias], ids))[0]] = True
        return found


def _mask_reader(name: str) -> Callable[[Segment], Bools]:
    return lambda segment: segment.mask(name)


def arrivals(synopsis: Synopsis, ids: Ints) -> Ints:
    """The places of tuples in the order of arrival; ABSENT stays."""
    found = np.full(len(ids), ABSENT, np.int64)
    there = ids != ABSENT
    found[there] = synopsis.gather(ids[there], lambda s: s.arrival)
    return found


def places(synopsis: Synopsis, arrivals: Ints) -> Ints:
    """The ids of tuples by their places in the order of arrival; ABSENT stays."""
    found = np.full(len(arrivals), ABSENT, np.int64)
    base = 0
    for segment in synopsis.segments:
        if not len(segment):
            continue
        rows = np.minimum(np.searchsorted(segment.arrival, arrivals), len(segment) - 1)
        here = segment.arrival[rows] == arrivals
        found[here] = rows[here] + base
        base += len(segment)
    return found
