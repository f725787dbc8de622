"""Event times that are known only by how far apart they lie, asked about windows.

Whether a window is certain, impossible or open is read off the tightest limits both ways (`facts/differences.py`),
which are kept closed as a chase adds to them. Over whole numbers and days a strict limit is rounded to the step before,
so the same table serves dense and stepped clocks.
"""

from __future__ import annotations

from penstock.analysis.facts.differences import Differences, Limit
from penstock.analysis.implication.rules import Reach


class Times(Differences[int, None]):
    """The limits between the event times of some rows, by number; a copy is independent."""

    def put_in(self, left: int, right: int, reach: Reach) -> bool:
        """Demand that right's time lies in left's window; False if that contradicts what is known, as below."""
        return (reach.high is None or self.demand(right, left, Limit(reach.high), None)) and (
            reach.low is None or self.demand(left, right, Limit(-reach.low), None)
        )

    def put_before(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies before left's window."""
        return reach.low is not None and self.demand(right, left, Limit(reach.low, True).rounded(step), None)

    def put_after(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies after left's window."""
        return reach.high is not None and self.demand(left, right, Limit(-reach.high, True).rounded(step), None)

    def put_together(self, left: int, right: int) -> bool:
        """Demand that the two times are one."""
        return self.put_in(left, right, Reach(0, 0))

    def inside(self, left: int, right: int, reach: Reach) -> bool | None:
        """Whether right's time is certain to lie in left's window, certain not to, or neither."""
        most, least = self.upper(right, left), self.upper(left, right)
        high = None if reach.high is None else Limit(reach.high)
        low = None if reach.low is None else Limit(-reach.low)
        if (high is None or (most is not None and most <= high)) and (
            low is None or (least is not None and least <= low)
        ):
            return True
        beyond = high is not None and least is not None and (high + least).is_contradiction
        before = low is not None and most is not None and (low + most).is_contradiction
        return False if beyond or before else None
