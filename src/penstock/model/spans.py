"""Lengths: durations, windows, and the k of a constraint.

A span of event time is a number of ticks: microseconds where the event time is a TIMESTAMP or a DATE, the column's
own unit where it is an integer (then the number is bare, and `unit` is None).
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property

from penstock.records import record


class Unit(Enum):
    """A unit of time; the value is its length in microseconds."""

    MILLISECOND = 1_000
    SECOND = 1_000_000
    MINUTE = 60_000_000
    HOUR = 3_600_000_000
    DAY = 86_400_000_000


_LONGEST = 2**63 - 1
"""Ticks of the longest span: event times are 64-bit numbers."""

LONGEST_WRITTEN = 10**17
"""Ticks of the longest span in a script, 3,000 years of microseconds: sums of dozens of them still have 64 bits."""


_MANY = 100
"""From so many of a unit on, people say larger units too."""


@record
class Span:
    """A signed length of event time, kept as it was written."""

    amount: Decimal
    unit: Unit | None = None

    def __post_init__(self) -> None:
        # The size of the exponent is looked at first: 1E+999999 has a million digits.
        if not self.amount.is_finite() or self.amount.adjusted() > 19 or abs(self._exact()) > _LONGEST:
            raise ValueError("the length is too long: event times have 64 bits")
        if self.amount.adjusted() < -19 or self._exact().denominator != 1:
            raise ValueError(f"{self.amount} is not a whole number{' of microseconds' if self.unit else ''}")

    def _exact(self) -> Fraction:
        return Fraction(self.amount) * (self.unit.value if self.unit else 1)

    @classmethod
    def of(cls, amount: int, unit: Unit | None = None) -> Span:
        """A span of a whole number of units."""
        return cls(Decimal(amount), unit)

    @cached_property
    def ticks(self) -> int:
        """Microseconds, or the bare number."""
        return int(self._exact())

    @property
    def fits_any_clock(self) -> bool:
        """Zero needs no unit."""
        return self.ticks == 0

    @property
    def spoken(self) -> str:
        """As people say it: `1 DAY 30 MINUTES` for a length whose own unit would need a large number."""
        if self.unit is None or not _MANY <= self.amount == int(self.amount) or self.unit is Unit.DAY:
            return str(self)
        parts, left = [], self.ticks
        for unit in reversed(Unit):
            if (many := left // unit.value) and unit.value >= self.unit.value:
                parts.append(str(Span(Decimal(many), unit)))
                left -= many * unit.value
        # 120 MINUTES is what somebody wrote.
        return " ".join(parts) if len(parts) > 1 else str(self)

    def __str__(self) -> str:
        number = format(self.amount.normalize(), "f")
        if self.unit is None:
            return number
        return f"{number} {self.unit.name}{'' if abs(self.amount) == 1 else 'S'}"


def written_span(amount: Decimal, unit: Unit | None) -> Span:
    """A span as it stands in a script; raises ValueError if there can be none such."""
    length = unit.value if unit else 1
    if amount.is_finite() and (amount.adjusted() > 19 or abs(Fraction(amount) * length) > LONGEST_WRITTEN):
        limit = f"{LONGEST_WRITTEN // length} {unit.name}S" if unit else str(LONGEST_WRITTEN)
        raise ValueError(f"the length is too long; the longest is {limit}")
    return Span(amount, unit)


@cache
def span_of_ticks(ticks: int, instants: bool) -> Span:
    """The shortest way to write a number of ticks; a length below a millisecond is a fraction of one."""
    if not instants or ticks == 0:
        return Span(Decimal(ticks))
    for unit in reversed(Unit):
        if ticks % unit.value == 0:
            return Span(Decimal(ticks // unit.value), unit)
    return Span(Decimal(ticks) / Unit.MILLISECOND.value, Unit.MILLISECOND)


@record
class Window:
    """`WINDOW [low, high]`: low <= t.ts - s.ts <= high, s of the declaring stream; None is unbounded."""

    low: Span | None = None
    high: Span | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low.ticks > self.high.ticks:
            raise ValueError(f"the window {self} starts after it ends")

    def __str__(self) -> str:
        return f"[{'*' if self.low is None else self.low}, {'*' if self.high is None else self.high}]"


@record
class Rows:
    """`WITHIN n ROWS`."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("a number of rows cannot be negative")

    def __str__(self) -> str:
        return f"{self.count} ROWS"


@record
class Auto:
    """`WITHIN AUTO`: k is finite, and learned while the query runs."""

    def __str__(self) -> str:
        return "AUTO"


@record
class Frontier:
    """Of an order that follows from below: how far the column has come is told by the block that gives the stream."""

    def __str__(self) -> str:
        return "FRONTIER"


Within = Rows | Span | Auto | Frontier
"""How far a stream may stray from a constraint."""
