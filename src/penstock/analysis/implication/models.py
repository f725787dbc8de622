"""Counter-models: rows with times, and whether they keep a rule.

A model is a finite list of rows, each once, or endlessly often: at `time`, `time + period`, `time + 2 period`, and so
on. Streams may be endless, and some declarations have no finite model but the empty one: FOREIGN KEY (a) REFERENCES s
(a) WINDOW [1 SECOND, *] ON s. All periods of a model are one length, forward or backward. Then the differences between
the times of two rows are one arithmetic sequence, and every rule is checked exactly, not for a while.

Whatever the search proposes is checked here before it is called a counter-model, so a mistake of the search can cost
an answer and not its truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from penstock.analysis.implication.rules import Apart, OneRow, Partner, Premise, Reach, Rule, SameValues
from penstock.records import record

_MOST_LOOKED_AT = 1000
"""Occurrences of a row that are looked at one by one; beyond them it counts as without a partner."""


@record
class Row:
    """A row of a stream (by its place) with its values, once or endlessly often."""

    stream: int
    values: tuple[object, ...]
    time: Fraction
    period: Fraction = Fraction(0)


@record
class LagSequence:
    """`t.ts - s.ts` for all occurrences of two rows: `first + n step`, for n from 0, or for all whole n."""

    first: Fraction
    step: Fraction = Fraction(0)
    both_ways: bool = False

    @classmethod
    def between(cls, left: Row, right: Row) -> LagSequence:
        """The lags from left to right."""
        first = right.time - left.time
        if left.period and right.period:
            if left.period == right.period:
                return cls(first, left.period, both_ways=True)
            return cls(first, right.period)
        return cls(first, right.period - left.period)

    def within(self, reach: Reach) -> Iterator[Fraction]:
        """Those in a window; where they are endless, the first few, which are enough to see one that is not 0."""
        if reach.is_empty:
            return
        if not self.step:
            yield from [self.first] if contains(reach, self.first) else []
            return
        # The n for which `first + n step` is in the window form a stretch of whole numbers.
        ends = [(end - self.first) / self.step for end in _ends(reach, self.first, self.step)]
        low, high = math.ceil(min(ends)), math.floor(max(ends))
        low = low if self.both_ways else max(low, 0)
        for n in range(low, min(high, low + 3) + 1):
            yield self.first + n * self.step

    def all_within(self, reach: Reach) -> bool:
        """Whether every one is in a window."""
        if reach.is_everything:
            return True
        if not self.step:
            return contains(reach, self.first)
        grows = reach.high is None if self.step > 0 else reach.low is None
        return grows and not self.both_ways and contains(reach, self.first)


def _ends(reach: Reach, first: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
    # An open end lies far enough out for `within` to find its first few.
    far = abs(first) + 8 * abs(step)
    low = Fraction(reach.low) if reach.low is not None else min(-far, Fraction(reach.high or 0) - far)
    high = Fraction(reach.high) if reach.high is not None else max(far, Fraction(reach.low or 0) + far)
    return low, high


def contains(reach: Reach, lag: Fraction) -> bool:
    """Whether a lag is in a window."""
    return (reach.low is None or lag >= reach.low) and (reach.high is None or lag <= reach.high)


def keeps(rule: Rule, rows: Sequence[Row]) -> bool:
    """Whether the rows keep a rule."""
    return next(violations(rule, rows), None) is None


def violations(rule: Rule, rows: Sequence[Row]) -> Iterator[tuple[Row, Row | None]]:
    """The rows that break a rule."""
    match rule:
        case Partner(premise=premise):
            for row in rows:
                if row.stream == premise.left and not _has_partner(premise, row, rows):
                    yield row, None
        case _:
            for left, right in _agreeing(rule.premise, rows):
                if not holds(rule, left, right):
                    yield left, right


def _agreeing(premise: Premise, rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    for left in rows:
        for right in rows:
            if agree(premise, left, right):
                yield left, right


def agree(premise: Premise, left: Row, right: Row) -> bool:
    """Whether two rows are of the premise's streams and agree on its columns."""
    return (
        left.stream == premise.left
        and right.stream == premise.right
        and all(left.values[i] == right.values[j] for i, j in premise.pairs)
    )


def holds(rule: OneRow | SameValues | Apart, left: Row, right: Row) -> bool:
    """Whether two rows that agree as a rule says keep it, all their occurrences."""
    lags = LagSequence.between(left, right)
    match rule:
        case OneRow(premise=premise):
            return all(left is right and lag == 0 for lag in lags.within(premise.when))
        case SameValues(premise=premise, values=values):
            same = all(left.values[i] == right.values[j] for i, j in values)
            return same or next(lags.within(premise.when), None) is None
        case Apart(premise=premise, then=then):
            if premise.when.is_everything:
                return lags.all_within(then)
            return all(contains(then, lag) for lag in lags.within(premise.when))


def _has_partner(premise: Premise, row: Row, rows: Sequence[Row]) -> bool:
    """Whether every occurrence of a row has a partner in the window."""
    partners = [other for other in rows if agree(premise, row, other)]
    if any(meets(premise, row, other) for other in partners):
        return True
    apart = max((abs(other.time - row.time) for other in partners), default=Fraction(0))
    return all(any(meets(premise, one, other) for other in partners) for one in occurrences(row, premise, apart))


def occurrences(row: Row, premise: Premise, apart: Fraction) -> Iterator[Row]:
    """A row each time it comes, as long as a partner may be one that comes once; then the rest of them, as one."""
    if not row.period:
        yield row
        return
    far = apart + max(abs(premise.when.low or 0), abs(premise.when.high or 0))
    count = min(math.ceil(far / abs(row.period)) + 1, _MOST_LOOKED_AT)
    for n in range(count):
        yield Row(row.stream, row.values, row.time + n * row.period)
    yield Row(row.stream, row.values, row.time + count * row.period, row.period)


def meets(premise: Premise, row: Row, other: Row) -> bool:
    """Whether a row, each time it comes, lies in time as a FOREIGN KEY wants it beside some occurrence of another."""
    lags = LagSequence.between(row, other)
    if not row.period:
        return next(lags.within(premise.when), None) is not None
    if not other.period or other.period != row.period:
        return lags.all_within(premise.when)
    # The n-th occurrence here meets the n-th, or a later one, there: always at one and the same lag.
    return next(LagSequence(lags.first, lags.step).within(premise.when), None) is not None
