"""Event times that are known only by how far apart they lie: difference bounds, kept closed.

A limit says `t_j - t_i <= ticks`, or `<` if strict. All that follows from several limits is a shortest path; the table
holds the tightest limit of every pair at any moment, so whether a window is certain, impossible or open is read off.
A cycle below zero, or at zero with a strict limit, is a contradiction. Over whole numbers and days a strict limit is
rounded to the step before, so the same table serves dense and stepped clocks.

Closed limits have a solution that can be read off one time after the other (`solve`): whatever is chosen within the
limits to the times already chosen can be extended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from penstock.analysis.implication.rules import Reach

Limit = tuple[int, bool]
"""Ticks, and whether the limit is not strict: smaller sorts tighter."""


class Times:
    """The limits between some event times, by number; a copy is independent."""

    def __init__(self, limits: dict[tuple[int, int], Limit] | None = None) -> None:
        self._limits: dict[tuple[int, int], Limit] = limits or {}

    def copy(self) -> Times:
        """The same limits, to be added to."""
        return Times(dict(self._limits))

    def upper(self, earlier: int, later: int) -> Limit | None:
        """The tightest limit of `later - earlier`."""
        return (0, True) if earlier == later else self._limits.get((earlier, later))

    def limit(self, earlier: int, later: int, bound: Limit) -> bool:
        """Demand `later - earlier <= ticks`; False if that contradicts what is known."""
        if earlier == later:
            return bound >= (0, True)
        known = self._limits.get((earlier, later))
        if known is not None and known <= bound:
            return True
        back = self._limits.get((later, earlier))
        if back is not None and _sum(bound, back) < (0, True):
            return False
        before = [(earlier, bound)]
        before += [(i, _sum(limit, bound)) for (i, j), limit in self._limits.items() if j == earlier and i != later]
        after = [(later, (0, True))]
        after += [(j, limit) for (i, j), limit in self._limits.items() if i == later and j != earlier]
        for i, first in before:
            for j, second in after:
                if i == j:
                    continue  # a cycle through the new limit: not below zero, as `back` has shown
                path = _sum(first, second)
                if (i, j) not in self._limits or path < self._limits[i, j]:
                    self._limits[i, j] = path
        return True

    def put_in(self, left: int, right: int, reach: Reach) -> bool:
        """Demand that right's time lies in left's window."""
        return (reach.high is None or self.limit(left, right, (reach.high, True))) and (
            reach.low is None or self.limit(right, left, (-reach.low, True))
        )

    def put_before(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies before left's window."""
        return reach.low is not None and self.limit(left, right, below(reach.low, step))

    def put_after(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies after left's window."""
        return reach.high is not None and self.limit(right, left, below(-reach.high, step))

    def inside(self, left: int, right: int, reach: Reach) -> bool | None:
        """Whether right's time is certain to lie in left's window, certain not to, or neither."""
        most, least = self.upper(left, right), self.upper(right, left)
        high = None if reach.high is None else (reach.high, True)
        low = None if reach.low is None else (-reach.low, True)
        if (high is None or (most is not None and most <= high)) and (
            low is None or (least is not None and least <= low)
        ):
            return True
        beyond = high is not None and least is not None and _sum(high, least) < (0, True)
        before = low is not None and most is not None and _sum(low, most) < (0, True)
        return False if beyond or before else None


def _sum(one: Limit, other: Limit) -> Limit:
    return (one[0] + other[0], one[1] and other[1])


def below(ticks: int, step: int) -> Limit:
    """`< ticks`, on a clock of that step."""
    return (ticks - step, True) if step else (ticks, False)


def solve(times: Times, wanted: Iterable[int], unit: Callable[[int], int]) -> dict[int, Fraction]:
    """Times that keep all limits; near zero, and round, where there is a choice."""
    chosen: dict[int, Fraction] = {}
    for one in wanted:
        lows = [(other + -limit[0], limit[1]) for other, limit in _limits_to(times, chosen, one, upper=False)]
        highs = [(other + limit[0], limit[1]) for other, limit in _limits_to(times, chosen, one, upper=True)]
        low = max(lows, key=lambda bound: (bound[0], not bound[1]), default=None)
        high = min(highs, key=lambda bound: (bound[0], bound[1]), default=None)
        chosen[one] = next(value for value in _candidates(low, high, unit(one)) if _fits(value, low, high))
    return chosen


def _limits_to(times: Times, chosen: dict[int, Fraction], one: int, *, upper: bool) -> Iterator[tuple[Fraction, Limit]]:
    for other, value in chosen.items():
        limit = times.upper(other, one) if upper else times.upper(one, other)
        if limit is not None:
            yield value, limit


_End = tuple[Fraction, bool] | None


def _candidates(low: _End, high: _End, unit: int) -> Iterator[Fraction]:
    yield Fraction(0)
    for end in (low, high):
        if end is not None:
            yield end[0]
    if low is not None:
        yield low[0] + unit
    if high is not None:
        yield high[0] - unit
    if low is not None and high is not None:
        yield (low[0] + high[0]) / 2


def _fits(value: Fraction, low: _End, high: _End) -> bool:
    above = low is None or value > low[0] or (low[1] and value == low[0])
    return above and (high is None or value < high[0] or (high[1] and value == high[0]))
