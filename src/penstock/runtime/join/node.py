"""One node: new rows of its sides in, the rows that follow from them out, each once.

A step passes a node twice. First the rows of the batch are joined. Then, with the promises of the batch made, rows
that came late from below (NULLs that are certain now) are joined, and each row that can match no more leaves; one
that never matched, of a side whose rows are kept, is given with NULLs as it leaves. A row that matched carries a mark,
so what its partner was may be long gone. EXISTS lets a row go, and gives it, at its first match; NOT EXISTS lets it go.

Under a budget, a row that would be given so but is in doubt is withheld: what matches it may have been lost. Where an
account asks what is due it is given all the same, as **unsure**. Whatever an unsure row is part of is so too, and what
it alone matches is in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.tree import NodePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.join.rows import GivenRows, Rows, count, given_together, padded, take
from penstock.runtime.join.settling import Settling
from penstock.runtime.join.sides import Side, StreamSide, WaitingSide
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.match.semi_join import SemiJoinMatches
from penstock.runtime.state.synopsis import ALL, FRESH, OLD

MATCHED_RULE, SETTLED_RULE = "matched", "settled"
"""Why a row leaves a node: EXISTS and NOT EXISTS have their answer; or it can match no more."""

_LEFT, _RIGHT = 0, 1


@dataclass(frozen=True)
class Left:
    """Rows that left a side."""

    side: int
    rule: str
    keys: Ints


class Node:
    """A join of two sides."""

    def __init__(
        self, plan: NodePlan, sides: tuple[Side, Side], matcher: NodeMatcher, *, gives_unsure: bool = False
    ) -> None:
        self.plan = plan
        self.gives_unsure = gives_unsure
        self.sides = sides
        self.matcher = matcher
        self.meeting = SemiJoinMatches(matcher)
        self._done: Ints = empty_ids()
        """Rows of the left that EXISTS or NOT EXISTS has its answer for, until they leave."""
        self.withheld: list[Rows] = []
        """Rows that could match no more as they were last settled, had met nothing, and were in doubt."""

    def meet(self, new: tuple[GivenRows, GivenRows], batch: int) -> GivenRows:
        """Take in new rows of both sides; gives what follows from matches."""
        for taking, rows in zip(self.sides, new, strict=True):
            taking.add(rows, batch)
        # Of two streams, the one with more new tuples looks up and is not indexed.
        first = _LEFT if self._fresh(_LEFT) >= self._fresh(_RIGHT) else _RIGHT
        if self.plan.kind in (NodeKind.SEMI, NodeKind.ANTI) and self._is_crowded(first):
            return self._answered(self.first_matches(_LEFT))
        found = [self._matches(first, ALL), self._matches(1 - first, OLD)]
        if self.plan.kind in (NodeKind.SEMI, NodeKind.ANTI):
            return self._answered(self._met(_LEFT, [keys for _, keys in found]))
        for side, keeps in enumerate(self.plan.preserves):
            if keeps:
                self.sides[side].mark(self._met(side, [keys for _, keys in found]))
        return given_together([GivenRows(rows, self._unsure(keys)) for rows, keys in found], self.plan.aliases)

    def _met(self, side: int, found: list[tuple[Ints, Ints]]) -> Ints:
        """The rows of a side that matched; one that only an unsure row matches is in doubt."""
        met, perhaps = [], []
        for keys in found:
            unsure = self.sides[1 - side].is_unsure(keys[1 - side])
            met.append(keys[side] if unsure is None else keys[side][~unsure])
            perhaps += [] if unsure is None else [keys[side][unsure]]
        if perhaps:
            self.sides[side].doubt(union(perhaps))
        return union(met)

    def _unsure(self, keys: tuple[Ints, Ints]) -> Bools | None:
        """Which matches may be none, as one of the two rows may."""
        told = [side.is_unsure(mine) for side, mine in zip(self.sides, keys, strict=True)]
        known = [unsure for unsure in told if unsure is not None]
        return np.logical_or.reduce(known) if known else None

    def first_matches(self, side: int) -> Ints:
        """The rows of a side that the batch gives a match; either side is a single stream, without [ROWS n]."""
        kept, other = self.sides[side], self.sides[1 - side]
        assert isinstance(kept, StreamSide)
        assert isinstance(other, StreamSide)
        return self.meeting.met(kept, other)

    def _is_crowded(self, first: int) -> bool:
        one, other = self.sides[first], self.sides[1 - first]
        if not (isinstance(one, StreamSide) and isinstance(other, StreamSide)):
            return False
        if self.matcher.counts_rows or self.plan.conditions:
            return False
        return self.meeting.is_crowded(one, other)

    def _fresh(self, side: int) -> int:
        chosen = self.sides[side]
        return len(chosen.rows(FRESH)[1]) if isinstance(chosen, StreamSide) else 0

    def _matches(self, side: int, part: str) -> tuple[Rows, tuple[Ints, Ints]]:
        """New rows of one side with rows of the other: the matches, and the keys of both in the order of the sides."""
        rows, keys = self.sides[side].rows(FRESH)
        other = self.sides[1 - side]
        if not len(keys):
            their_rows: Rows = {}
            theirs = places = empty_ids()
        elif isinstance(other, StreamSide):
            places, theirs = self.matcher.with_stream(rows, other, other.part(part))
            their_rows = {other.alias: theirs}
        else:
            assert isinstance(other, WaitingSide)
            places, their_rows, theirs = self.matcher.with_rows(rows, other, part)
        mine = keys[places]
        matched = padded({**take(rows, places), **their_rows}, self.plan.aliases)
        return matched, (mine, theirs) if side == _LEFT else (theirs, mine)

    def _answered(self, keys: Ints) -> GivenRows:
        """The rows of the left whose first match this is."""
        new = keys[~np.isin(keys, self._done)] if len(self._done) else keys
        self._done = np.concatenate([self._done, new])
        if self.matcher.plan.evict is not None:
            self.sides[_LEFT].mark(new)
        given = new if self.plan.kind is NodeKind.SEMI else empty_ids()
        return GivenRows(self.sides[_LEFT].rows_of(given), self.sides[_LEFT].is_unsure(given))

    def renumber_answered(self, first: int, end: int) -> Ints:
        """Tuples of the left that stood among the stored ones for a while go away again: gives the answered ones."""
        gone = (self._done >= first) & (self._done < end)
        answered = self._done[gone]
        rest = self._done[~gone]
        self._done = np.where(rest >= end, rest - (end - first), rest)
        return answered

    def let_go(self) -> list[Left]:
        """Let the rows go that have their answer."""
        done, self._done = self._done, empty_ids()
        if len(done):
            self.sides[_LEFT].leave(done)
        return [Left(_LEFT, MATCHED_RULE, done)]

    def settle(self, settling: Settling, asked: tuple[Ints | None, Ints | None]) -> tuple[GivenRows, list[Left]]:
        """Let the rows go that can match no more; gives those that are certain now to have no match.

        `asked` are the keys of the rows whose answer may have changed; None for all.
        """
        assert self.plan.left is not None
        assert self.plan.right is not None
        gone: list[Left] = []
        given: list[GivenRows] = []
        self.withheld = []
        others = (self.plan.right, self.plan.left)
        for side, (keeps, waits) in enumerate(zip(self.plan.preserves, self.plan.waits, strict=True)):
            rows, keys = self._asked(side, asked[side])
            settled = np.flatnonzero(settling.settled(rows, self.matcher, others[side]))
            leaving = keys[settled]
            if not len(leaving):
                continue
            if waits:
                bare = ~self.sides[side].is_matched(leaving)
                if self.matcher.plan.evict is not None:
                    doubted = bare & self.sides[side].is_doubted(leaving)
                    held = padded(take(rows, settled[doubted]), self.plan.aliases)
                    if self.gives_unsure:
                        given.append(GivenRows(held, np.ones(count(held), np.bool_)))
                    else:
                        self.withheld.append(held)
                    bare &= ~doubted
                if keeps:
                    certain = padded(take(rows, settled[bare]), self.plan.aliases)
                    given.append(GivenRows(certain, self.sides[side].is_unsure(leaving[bare])))
            gone.append(Left(side, SETTLED_RULE, leaving))
        for left in gone:
            self.sides[left.side].leave(left.keys)
        return given_together(given, self.plan.aliases), gone

    def _asked(self, side: int, keys: Ints | None) -> tuple[Rows, Ints]:
        chosen = self.sides[side]
        if keys is None:
            return chosen.rows(ALL)
        keys = chosen.only_in_play(keys)
        return chosen.rows_of(keys), keys


def is_empty(new: tuple[GivenRows, GivenRows]) -> bool:
    """Whether neither side has a new row."""
    return not any(count(given.rows) for given in new)
