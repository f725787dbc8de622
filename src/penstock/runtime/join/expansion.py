"""The purge rule by expansion, for join graphs that are no tree (DESIGN section 1). It decides the rule whole.

A partial result p starts as one row. If some stream x is closed for p, p grows by every stored row of x that agrees
with all its members, or ends where there is none; if no stream is, the row that p grew from must stay. The row is
useless iff no partial result that grew from it is ever stuck.

Any closed stream may be taken first. Theorem: if p is useless, so is p + u for every u that agrees with it, since
what is closed for p is closed for p + u and fewer rows agree with it. So a choice that leads to a stuck p + u shows
that p was not useless by any other choice. Partial results of different rows may choose differently: those over the
same streams are asked together.

Where only some of the streams must be covered, `enough`, a partial result that covers them is not stuck.
"""

from __future__ import annotations

import numpy as np

from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.match.matching import Matcher, Partial, Ties
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.synopsis import ALL

LARGEST_EXPANSION = 4_000_000
"""Partial results beyond which the rule is not followed any further: it stays undecided, and the rows stay."""

Grown = tuple[Partial, Ints]
"""Partial results over the same streams, and for each the place of the row that it grew from."""


class Expansion:
    """Follows the rule over the stored rows of one cell."""

    def __init__(self, plan: Ties, matcher: Matcher, closing: Closedness, enough: frozenset[str] | None = None) -> None:
        self.plan = plan
        self.enough = frozenset(plan.aliases) if enough is None else enough
        self.matcher = matcher
        self.closing = closing

    def useless(self, root: str, ids: Ints) -> Bools:
        """Which rows of root are useless."""
        return self.useless_together({root: ids})

    def useless_together(self, start: Partial) -> Bools:
        """Which of some partial results are useless."""
        size = len(next(iter(start.values())))
        useless: Bools = np.ones(size, np.bool_)
        # Fewest streams first: all that grow into a set of streams have done so before it is asked.
        waiting: dict[frozenset[str], list[Grown]] = {frozenset(start): [(start, np.arange(size))]}
        while waiting:
            streams = min(waiting, key=lambda s: (len(s), sorted(s)))
            for target, grown in self._grow(_together(waiting.pop(streams)), useless):
                waiting.setdefault(streams | {target}, []).append(grown)
        return useless

    def _grow(self, grown: Grown, useless: Bools) -> list[tuple[str, Grown]]:
        """The partial results one stream larger; rows that one of them is stuck for are struck from the useless."""
        partial, origin = _of_useless(grown, useless)
        found: list[tuple[str, Grown]] = []
        if self.enough <= partial.keys():
            return found
        for target in self.plan.aliases:
            if target in partial or not len(origin):
                continue
            closed = self.closing.closed_together(self.matcher.synopses, partial, target)
            chosen, chosen_origin = _where((partial, origin), closed)
            partial, origin = _where((partial, origin), ~closed)
            if not len(chosen_origin):
                continue
            if len(chosen_origin) * self._fanout(chosen, target) > LARGEST_EXPANSION:
                useless[chosen_origin] = False
                continue
            implied = self.closing.implied(frozenset(chosen), target)
            total = 0
            for left, right in self.matcher.pieces(chosen, target, ALL, implied):
                total += len(left)
                if total > LARGEST_EXPANSION:
                    useless[chosen_origin[left]] = False
                elif len(left):
                    found.append((target, _with(chosen, chosen_origin, target, left, right)))
        useless[origin] = False
        return found

    def _fanout(self, partial: Partial, target: str) -> int:
        """The most rows of target that one partial result could meet where no key ties them."""
        return 1 if self.matcher.shared_axes(frozenset(partial), target) else self.matcher.synopses[target].size(ALL)


def _together(pieces: list[Grown]) -> Grown:
    aliases = pieces[0][0]
    partial = {alias: np.concatenate([piece[alias] for piece, _ in pieces]) for alias in aliases}
    return partial, np.concatenate([origin for _, origin in pieces])


def _where(grown: Grown, keep: Bools) -> Grown:
    partial, origin = grown
    return {alias: rows[keep] for alias, rows in partial.items()}, origin[keep]


def _of_useless(grown: Grown, useless: Bools) -> Grown:
    """Those whose row may still be useless."""
    return _where(grown, useless[grown[1]])


def _with(partial: Partial, origin: Ints, target: str, left: Ints, right: Ints) -> Grown:
    return {alias: rows[left] for alias, rows in partial.items()} | {target: right}, origin[left]
