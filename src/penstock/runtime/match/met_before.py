"""What rows of one stream meet in another, asked several times while rows only leave: what was found is not looked up.

The trees of a purge ask for the same pairs one after the other, each of the rows that the one before has left. So what
the last rows that were asked meet is kept, and of rows among them only those that they met and that still live are
given. Where pairs come in several pieces, as those of a hot key do, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.parts import PairPredicate
from penstock.runtime.columns.codes import Ints
from penstock.runtime.match.key_matching import Met, recalled
from penstock.runtime.match.matching import Matcher
from penstock.runtime.state.synopsis import ALL


class MetBefore:
    """Pairs of rows of a cell, until it is told to forget: rows came, or were numbered anew."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self._known: dict[tuple[str, str], Met] = {}

    def forget(self) -> None:
        """Know nothing."""
        self._known = {}

    def pieces(
        self, alias: str, ids: Ints, target: str, implied: tuple[PairPredicate, ...]
    ) -> Iterator[tuple[Ints, Ints]]:
        """All (place in ids, row of target) that agree, as `Matcher.pieces` gives them."""
        known = self._known.get((alias, target))
        if known is not None:
            place, met, others = recalled(ids, known)
            if 2 * len(others) < len(ids):
                living = self.matcher.synopses[target].gather(met, lambda s: s.alive)
                yield place[living], met[living]
                for place, met in self.matcher.pieces({alias: ids[others]}, target, ALL, implied):
                    yield others[place], met
                return
        found = self.matcher.pieces({alias: ids}, target, ALL, implied)
        first, second = next(found, None), next(found, None)
        # A stream whose rows are marked and stay is asked anew: what it meets changes without a death.
        if first is not None and second is None and not self.matcher.retained and (ids[1:] > ids[:-1]).all():
            self._known[alias, target] = Met(ids, *first, -1)
        yield from (piece for piece in (first, second) if piece is not None)
        yield from found
