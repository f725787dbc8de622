"""Which rows agree within a block: a tuple that is done there is stored for rows that wait, and meets nothing more."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.ties import PairPredicate
from penstock.runtime.codes import Bools, Ints
from penstock.runtime.marks import LEFT
from penstock.runtime.matching import Matcher, Partial, Ties
from penstock.runtime.synopsis import Synopsis


class BlockMatcher(Matcher):
    """Finds agreeing rows among the tuples that are not done; of streams that are not its `own`, among all."""

    def __init__(self, ties: Ties, synopses: Mapping[str, Synopsis], own: frozenset[str]) -> None:
        super().__init__(ties, synopses)
        self.own = own

    def pairs(
        self, partial: Partial, target: str, part: str, implied: tuple[PairPredicate, ...] = ()
    ) -> tuple[Ints, Ints]:
        """See Matcher."""
        left, right = super().pairs(partial, target, part, implied)
        if not len(right) or target not in self.own:
            return left, right
        done: Bools = self.synopses[target].gather(right, lambda s: s.marks[LEFT])
        return (left[~done], right[~done]) if done.any() else (left, right)
