"""The type that two others have in common, and that of sums, products and differences: the rules of Spark's ANSI mode.

Beyond 38 digits a DECIMAL loses digits after its point, down to six; beside FLOAT or DOUBLE everything is DOUBLE. NULL
has no type of its own and gives way to any other. None is what is not certain without Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import reduce

from penstock.model.types import DataType, Kind


class NullType(Enum):
    """The type of NULL, which gives way to any other."""

    NULL = "VOID"


Typed = DataType | NullType | None
NULL = NullType.NULL

_DOUBLE, _STRING, _DATE, _TIMESTAMP, _NTZ = map(
    DataType.of, (Kind.DOUBLE, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
)
_WIDENING = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
"""The digits of the DECIMAL that a whole number becomes beside a DECIMAL."""
MOST_DIGITS = 38
_LEAST_SCALE = 6
"""Digits after the point that arithmetic keeps where a result would have more than 38 digits."""


def plain(kind: DataType) -> DataType:
    """Texts of a limited length are STRING to an expression."""
    return _STRING if kind.kind is Kind.STRING and not kind.is_collated else kind


def number_type(function: str, left: DataType, right: DataType) -> Typed:
    """Of two numbers with an operator between them."""
    kinds = {left.kind, right.kind}
    if Kind.DECIMAL in kinds and not kinds & {Kind.FLOAT, Kind.DOUBLE}:
        return _decimals(function, left, right)
    if function == "/":
        return _DOUBLE
    return widest([left, right])


def _decimals(function: str, left: DataType, right: DataType) -> DataType:
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    match function:
        case "+" | "-":
            scale = max(s1, s2)
            return _fitted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _fitted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_LEAST_SCALE, s1 + p2 + 1)
            return _fitted(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return _fitted(min(p1 - s1, p2 - s2) + scale, scale)


def _digits(kind: DataType) -> tuple[int, int]:
    if kind.precision is None or kind.scale is None:
        return _DIGITS[kind.kind], 0
    return kind.precision, kind.scale


def _fitted(precision: int, scale: int) -> DataType:
    """Beyond 38 digits those after the point give way, down to six of them."""
    if precision <= MOST_DIGITS:
        return DataType.decimal(precision, scale)
    kept = max(MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE))
    return DataType.decimal(MOST_DIGITS, kept)


def moved_type(function: str, left: DataType, right: DataType) -> Typed:
    """Times with lengths of time added or taken away, and their differences."""
    if function == "+" and right.is_instant:
        left, right = right, left
    if function not in ("+", "-") or not left.is_instant:
        return None
    if right.kind is Kind.INTERVAL:
        if left.kind is not Kind.DATE:
            return left
        return _DATE if right.text == "INTERVAL DAY" else _TIMESTAMP if right.text in _FINE_INTERVALS else None
    if left.kind is Kind.DATE and right.kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INT):
        return _DATE
    if function == "-" and right.is_instant:
        is_days = left.kind is right.kind is Kind.DATE
        return DataType(Kind.INTERVAL, "INTERVAL DAY" if is_days else "INTERVAL DAY TO SECOND")
    return None


_FINE_INTERVALS = ("INTERVAL HOUR", "INTERVAL MINUTE", "INTERVAL SECOND", "INTERVAL DAY TO SECOND")


def widest(types: Sequence[Typed]) -> Typed:
    """The type that all of some fit into."""
    if not types or any(t is None for t in types):
        return None
    return reduce(_wider, types)


def _wider(left: Typed, right: Typed) -> Typed:
    if left == right or right is NULL:
        return left
    if left is NULL:
        return right
    if left is None or right is None:
        return None
    left, right = plain(left), plain(right)
    if left == right:
        return left
    if left.is_integer and right.is_integer:
        return DataType.of(max(left.kind, right.kind, key=_WIDENING.index))
    kinds = {left.kind, right.kind}
    if left.is_number and right.is_number:
        if kinds & {Kind.FLOAT, Kind.DOUBLE}:
            return _DOUBLE
        (p1, s1), (p2, s2) = _digits(left), _digits(right)
        digits, scale = max(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)
        return DataType.decimal(digits, scale) if digits <= MOST_DIGITS else None
    if left.is_instant and right.is_instant:
        return _TIMESTAMP if Kind.TIMESTAMP in kinds else _NTZ
    return None
