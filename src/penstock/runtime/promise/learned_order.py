"""ORDERED BY a WITHIN AUTO, for a column that is no event time: k is counted in rows and learned (KMON 6.3).

How far a row is late is the rows since the first climb above its value. Which climbs will matter is not known before k
is, so all are remembered as **stairs**: neighbours are taken together the more the further back they lie, and a stair
knows the row of its first climb and that of its last. By the first a distance is measured, too large if anything, by at
most a part of itself; by the last a floor is set, too low if anything. So k is never learned too small, and nothing
is closed too early.
"""

from __future__ import annotations

from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.columns.climbs import Climbs
from penstock.runtime.columns.codes import Ordinal
from penstock.runtime.input.batch import Chunk
from penstock.runtime.input.headers import EXACT, GRAIN, Stair
from penstock.runtime.promise.ordered import OrderedWatch


class LearnedOrderWatch(OrderedWatch):
    """The stairs of one ordered column."""

    numbers = (*OrderedWatch.numbers, "_stairs")

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        super().__init__(plan, promise)
        self._stairs: list[Stair] = []

    @property
    def _climbs(self) -> Climbs:
        return Climbs.of([value for value, _, _ in self._stairs], [since for _, _, since in self._stairs])

    def _climb(self, chunk: Chunk, start: int) -> None:
        for value, row, since in chunk.header.stairs.get(self.column, ()):
            if not self._stairs or value > self._stairs[-1][0]:  # type: ignore[operator] # one type a column
                self._stairs.append((value, start + row, start + since))
        self._take_together()

    def _take_together(self) -> None:
        """Let neighbours become one where the rows between them are a small part of those after them."""
        kept: list[Stair] = []
        for value, row, since in reversed(self._stairs):
            age = self._count - (kept[-1][1] if kept else row)
            if kept and age > EXACT and (kept[-1][1] - since) * GRAIN <= age:
                last, last_row, _ = kept[-1]
                kept[-1] = (last, last_row, since)
            else:
                kept.append((value, row, since))
        self._stairs = kept[::-1]

    @property
    def _highest_closed(self) -> Ordinal | None:
        followed = [value for value, row, _ in self._stairs if self._is_followed(row)]
        return followed[-1] if followed else None
