"""Where a value may lie: a range of places, or some of them by name, less a few. The one kind of set of values.

Every analysis that asks which values are left to a column narrows one of these, condition by condition: to a range by
`<`, to a list by `=` and IN, around gaps by `<>` and NOT IN. What a place is differs, and whoever asks says so: for
`facts/domains.py` a step of the type, or a constant itself where the type has no steps; for `memory/order.py` a place
on the line that compared columns share (`memory/lines.py`).

Preconditions: range and gaps are of whole numbers; names that are no numbers lie in every range. A gap at an end of the
range moves that end, so equal sets of numbers are mostly equal values. Not decided: whether two names mean one value;
then the shorter of two lists is a limit still (`among_alike`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.analysis.facts.values import EVERYTHING, FAR, Interval
from penstock.records import record


@record
class Places:
    """The places of a range; only the members where there are any; none of the gaps."""

    range: Interval = EVERYTHING
    members: frozenset[object] | None = None
    gaps: frozenset[int] = frozenset()
    """Places inside the range that are not among them; where there are members, none."""

    @property
    def left(self) -> frozenset[object] | None:
        """The members that lie in the range; None if they are not listed."""
        return None if self.members is None else frozenset(m for m in self.members if self._in_range(m))

    @property
    def numbers(self) -> list[int] | None:
        """The numbers among these, in their order; None if they are not listed."""
        return None if self.left is None else sorted(m for m in self.left if isinstance(m, int))

    @property
    def size(self) -> int | None:
        """How many; None if there is no limit."""
        if self.members is not None:
            return sum(map(self._in_range, self.members))
        if self.range.low == -FAR or self.range.high == FAR:
            return None
        return self.range.size - sum(map(self._in_range, self.gaps))

    def within(self, limits: Interval) -> Places:
        """Those that lie in a range too."""
        return replace(self, range=self.range.within(limits))._trimmed()

    def among(self, members: Iterable[object]) -> Places:
        """Those that are listed too."""
        listed = frozenset(members) - self.gaps
        return replace(self, members=listed if self.members is None else self.members & listed, gaps=frozenset())

    def among_alike(self, members: frozenset[object]) -> Places:
        """Those that are listed too, where a place may be listed by another name: the shorter list is a limit."""
        shorter = members if self.members is None else min(self.members, members, key=len)
        return replace(self, members=shorter)

    def without(self, gone: Iterable[object]) -> Places:
        """Those that are not listed."""
        gone = frozenset(gone)
        if self.members is not None:
            return replace(self, members=self.members - gone)
        numbers = frozenset(place for place in gone if isinstance(place, int) and self._in_range(place))
        return replace(self, gaps=self.gaps | numbers)._trimmed()

    def listed(self, most: int) -> Places:
        """The same, each by itself, where there are gaps and no more than so many places in the range."""
        if self.members is not None or not self.gaps or self.range.size > most:
            return self
        return self.among(range(self.range.low, self.range.high + 1))

    def raised(self, place: int) -> int | None:
        """The least of them that is no lower."""
        place = max(place, self.range.low)
        if self.members is not None:
            place = min((m for m in self.members if isinstance(m, int) and m >= place), default=FAR)
        while place in self.gaps:
            place += 1
        return place if place <= self.range.high else None

    def lowered(self, place: int) -> int | None:
        """The greatest of them that is no higher."""
        place = min(place, self.range.high)
        if self.members is not None:
            place = max((m for m in self.members if isinstance(m, int) and m <= place), default=-FAR)
        while place in self.gaps:
            place -= 1
        return place if place >= self.range.low else None

    def _in_range(self, place: object) -> bool:
        return not isinstance(place, int) or self.range.low <= place <= self.range.high

    def _trimmed(self) -> Places:
        low, high, gaps = self.range.low, self.range.high, self.gaps
        while low in gaps:
            low += 1
        while high in gaps:
            high -= 1
        left = frozenset(gap for gap in gaps if low < gap < high) if gaps else gaps
        return Places(Interval(low, high), self.members, left)


ANYWHERE = Places()
