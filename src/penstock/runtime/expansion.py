"""The purge rule by expansion, for join graphs that are no tree (DESIGN section 1).

A partial result p starts as one row. In a given order of the other streams, each next stream must be closed by some
member of p; p then grows by every stored row that agrees with all its members, or ends where there is none. The row
is useless iff no partial result that grew from it ever met a stream that was open: this is the rule itself along one
order of streams, with agreement and closing asked of the whole of p. Orders that are not tried may let a row go that
these keep.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.plan.plan import Plan, PurgeTree
from penstock.runtime.closing import Closing
from penstock.runtime.codes import Bools, Ints
from penstock.runtime.matching import Matcher, Partial
from penstock.runtime.synopsis import ALL

LARGEST_EXPANSION = 4_000_000
"""Partial results beyond which the rule is not followed any further: it stays undecided, and the rows stay."""


def orders_of(tree: PurgeTree) -> Iterator[tuple[str, ...]]:
    """The order of the tree, and the same with each other stream drawn to the front."""
    chain = tuple(edge.child for edge in tree.edges)
    yield chain
    for first in chain[1:]:
        yield (first, *(alias for alias in chain if alias != first))


class Expansion:
    """Follows the rule over the stored rows of one cell."""

    def __init__(self, plan: Plan, matcher: Matcher, closing: Closing) -> None:
        self.plan = plan
        self.matcher = matcher
        self.closing = closing

    def useless(self, root: str, ids: Ints, order: tuple[str, ...]) -> Bools:
        """Which rows of root are useless, as far as this order of the other streams can tell."""
        useless: Bools = np.ones(len(ids), np.bool_)
        origin = np.arange(len(ids))
        partial: Partial = {root: ids}
        for target in order:
            closed = self._closed(partial, target)
            useless[origin[~closed]] = False
            keep = useless[origin]
            if not keep.any():
                break
            partial = {alias: rows[keep] for alias, rows in partial.items()}
            origin = origin[keep]
            if len(origin) * self._fanout(partial, target) > LARGEST_EXPANSION:
                useless[origin] = False
                break
            left, right = self.matcher.pairs(partial, target, ALL, self.closing.implied(frozenset(partial), target))
            partial = {alias: rows[left] for alias, rows in partial.items()} | {target: right}
            origin = origin[left]
        return useless

    def _closed(self, partial: Partial, target: str) -> Bools:
        found: Bools = np.zeros(len(next(iter(partial.values()))), np.bool_)
        for alias, rows in partial.items():
            found |= self.closing.closed(alias, target, self.matcher.synopses[alias], rows)
        return found

    def _fanout(self, partial: Partial, target: str) -> int:
        """The most rows of target that one partial result could meet where no key ties them."""
        return 1 if self.matcher.shared_axes(frozenset(partial), target) else self.matcher.synopses[target].size(ALL)
