"""Can an expression take ever larger values? Read off its term, for the forms that derived times and numbers have.

A term rises if it has no largest value while a column in it has none. Known are: such a column; with a constant added
or taken away, times or divided by a positive number; a cast to a type that counts as endless; the functions that make
times of numbers or of texts and numbers of times, round them, cut them to a unit or move them by a constant; and
greatest, least and coalesce of what rises. `a % 10`, `hour(ts)`, `least(a, 5)` and whatever else Spark can work out is
not known to rise, so no bound may rest on it.

Preconditions: the columns are those of one stream, and `column_rises` says of each whether it has no largest value.
Not decided: which value an expression has; that is Spark's.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum

from penstock.model.expressions import Call, Cast, ColumnRef, Literal, Term
from penstock.model.functions import RISES_WITH_FIRST
from penstock.model.types import DataType, Kind

_ENDLESS = (Kind.BIGINT, Kind.INT, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DOUBLE, Kind.FLOAT)


class _Growth(IntEnum):
    UNKNOWN = 0
    CONSTANT = 1
    POSITIVE = 2
    """A number above zero."""
    RISES = 3


_FIXED = (_Growth.CONSTANT, _Growth.POSITIVE)


def rises(term: Term, column_rises: Callable[[str], bool]) -> bool:
    """Whether a term is known to take ever larger values."""
    return _way(term, column_rises) is _Growth.RISES


def _way(term: Term, column_rises: Callable[[str], bool]) -> _Growth:
    match term:
        case ColumnRef(column=column):
            return _Growth.RISES if column_rises(column) else _Growth.UNKNOWN
        case Literal(value=None):
            return _Growth.UNKNOWN
        case Literal(value=value):
            return _Growth.POSITIVE if _is_above(value, 0) else _Growth.CONSTANT
        case Cast(value=Literal(value=value), to=to):
            return _cast_literal(value, to)
        case Cast(value=value, to=to):
            found = _way(value, column_rises)
            return found if found is _Growth.RISES and to is not None and to.kind in _ENDLESS else _Growth.UNKNOWN
        case Call(function=function, arguments=arguments):
            return _call(function, [_way(argument, column_rises) for argument in arguments])


def _cast_literal(value: object, to: DataType | None) -> _Growth:
    """A constant of any type; a number above zero stays one where the type does not round it down to zero."""
    if value is None:
        return _Growth.UNKNOWN
    if to is None or to.kind not in _ENDLESS:
        return _Growth.CONSTANT
    is_whole = to.kind not in (Kind.FLOAT, Kind.DOUBLE)
    return _Growth.POSITIVE if _is_above(value, 0) and not (is_whole and not _is_above(value, 1)) else _Growth.CONSTANT


def _is_above(value: object, least: int) -> bool:
    """Whether it is a number, at least so large, and not zero."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and value >= least and value != 0


def _call(function: str, given: list[_Growth]) -> _Growth:
    match function, given:
        case "interval", _:
            return _Growth.UNKNOWN if _Growth.UNKNOWN in given or _Growth.RISES in given else _Growth.CONSTANT
        case "-", [only]:
            return _Growth.CONSTANT if only in _FIXED else _Growth.UNKNOWN
        case (("+" | "-"), [one, other]):
            return _added(one, other, is_added=function == "+")
        case (("*" | "/" | "div"), [one, other]):
            if one in _FIXED and other in _FIXED:
                return _Growth.CONSTANT
            return one if other is _Growth.POSITIVE else _Growth.UNKNOWN
        case "greatest", _:
            found = max(given)
        case "least", _:
            found = min(given)
        case _, [first, *others] if function in RISES_WITH_FIRST:
            found = first if _Growth.UNKNOWN not in others else _Growth.UNKNOWN
        case _:
            found = _Growth.UNKNOWN
    return found if found is _Growth.RISES else _Growth.UNKNOWN


def _added(one: _Growth, other: _Growth, *, is_added: bool) -> _Growth:
    if _Growth.UNKNOWN in (one, other) or (other is _Growth.RISES and not is_added):
        return _Growth.UNKNOWN
    return _Growth.RISES if _Growth.RISES in (one, other) else _Growth.CONSTANT
