"""The values of a type: which can be counted off one by one, from where to where, and where a constant lies among them.

Whole numbers, dates, decimals and BOOLEAN have steps: each value has a whole number as its place, and between two
neighbours lies nothing, so that `a > 10 AND a < 11` is empty. A constant may lie between two steps. Every other type is
taken to be dense. A type of at most FEW values (BOOLEAN, TINYINT, SMALLINT, DECIMAL of up to four digits) is small
enough to count on it; INT, BIGINT, DATE and longer decimals have limits too, which count as out of reach.

Preconditions: constants are exact (sql/constants.py). DATE is as far as Python's calendar goes.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

from penstock.model.expressions import Constant, Value
from penstock.model.predicates import Op
from penstock.model.types import DataType, Kind
from penstock.records import record

FEW = 2**16
"""As many values as SMALLINT has."""
FAR = 10**40
"""Beyond every step of every type."""

_WHOLE = {Kind.BOOLEAN: (0, 1), Kind.TINYINT: (-(2**7), 2**7 - 1), Kind.SMALLINT: (-(2**15), 2**15 - 1)}
_WHOLE |= {Kind.INT: (-(2**31), 2**31 - 1), Kind.BIGINT: (-(2**63), 2**63 - 1)}
_WHOLE |= {Kind.DATE: (dt.date.min.toordinal(), dt.date.max.toordinal())}


@record
class Interval:
    """Whole numbers from low to high; none if high lies below low."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many."""
        return max(0, self.high - self.low + 1)

    def within(self, other: Interval) -> Interval:
        """What both have."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


EVERYTHING = Interval(-FAR, FAR)


def has_steps(kind: DataType) -> bool:
    """Whether the values of a type can be counted off one by one."""
    return kind.is_integer or kind.kind in (Kind.BOOLEAN, Kind.DATE, Kind.DECIMAL)


def steps_of(kind: DataType) -> Interval:
    """The steps of a type that has any."""
    if kind.precision is not None:
        most = 10**kind.precision - 1
        return Interval(-most, most)
    return Interval(*_WHOLE[kind.kind])


def is_small(kind: DataType) -> bool:
    """Whether a type has but few values."""
    return has_steps(kind) and steps_of(kind).size <= FEW


def are_told_apart(kind: DataType) -> bool:
    """Whether `=` holds only between identical values; a collation may say that 'a' = 'A'."""
    return kind.is_key and not kind.is_collated


def are_equal_only_if_same(kind: DataType) -> bool:
    """Whether two values of a type are equal only if they are the same value, blanks at the end included."""
    return are_told_apart(kind) and not kind.is_padded


def step_of(constant: Constant, kind: DataType | None) -> Fraction | None:
    """The place of a constant among the steps of a type; None if it has none there."""
    value = constant.value
    if kind is None or not has_steps(kind):
        return None
    if kind.kind is Kind.BOOLEAN:
        return Fraction(int(value)) if isinstance(value, bool) else None
    if kind.kind is Kind.DATE:
        is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return Fraction(value.toordinal()) if is_day and isinstance(value, dt.date) else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    unit: int = 10 ** (kind.scale or 0)
    return Fraction(value) * unit


def value_at(step: int, kind: DataType) -> Value:
    """The value of a type at a step."""
    if kind.kind is Kind.BOOLEAN:
        return bool(step)
    if kind.kind is Kind.DATE:
        return dt.date.fromordinal(step)
    if kind.scale is not None:
        return Decimal(step).scaleb(-kind.scale)
    return step


def meeting(op: Op, at: Fraction | Decimal) -> Interval:
    """The whole numbers n with `n op at`."""
    match op:
        case Op.EQ:
            return Interval(math.ceil(at), math.floor(at))
        case Op.LT:
            return Interval(-FAR, math.ceil(at) - 1)
        case Op.LE:
            return Interval(-FAR, math.floor(at))
        case Op.GT:
            return Interval(math.floor(at) + 1, FAR)
        case Op.GE:
            return Interval(math.ceil(at), FAR)
