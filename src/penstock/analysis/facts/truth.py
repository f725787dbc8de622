"""Is a predicate true of given values? The one evaluator, in SQL's three-valued logic.

A column that has no value here is NULL. NULL makes a comparison unknown; IS [NOT] NULL is never unknown. A condition
that only Spark evaluates is UNREAD, unless its term is strict and one of its columns is NULL, which makes it unknown
whatever the function; so is a comparison of values that Python cannot compare as Spark does (a text with a number, a
time of a zone with one of none).

Preconditions: values are Python's own for their types: int, Decimal, float, str, bytes, bool, date, datetime; numbers
of these kinds compare exactly. Not decided: what collations, CHAR(n) and Spark's functions make of values.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import (
    Bound,
    Comparison,
    Difference,
    NoneOf,
    NullTest,
    OneOf,
    Op,
    Opaque,
    Predicate,
    Residual,
    rejects_null,
)


class Truth(Enum):
    """What is known of a predicate."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"
    """NULL, as SQL has it."""
    UNREAD = "unread"
    """Only Spark can say."""


_COMPARE: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


def truth(predicate: Predicate, values: Mapping[ColumnRef, object]) -> Truth:
    """What is known of a predicate of these values; a column that is not among them, or is None, is NULL."""
    given = [values.get(ref) for ref in predicate.columns]
    match predicate:
        case NullTest(is_null=is_null):
            return _known((given[0] is None) is is_null)
        case _ if any(value is None for value in given):
            return Truth.UNKNOWN if rejects_null(predicate) else Truth.UNREAD
        case Comparison(op=op):
            return compared(given[0], op, given[1])
        case Bound(op=op, constant=constant):
            return compared(given[0], op, constant.value)
        case OneOf(constants=constants):
            return _any(compared(given[0], Op.EQ, constant.value) for constant in constants)
        case NoneOf(constants=constants):
            return _not(_any(compared(given[0], Op.EQ, constant.value) for constant in constants))
        case Difference(op=op, span=span):
            apart = ticks_between(given[0], given[1])
            return Truth.UNREAD if apart is None else _known(_COMPARE[op](apart, span.ticks))
        case Opaque() | Residual():
            return Truth.UNREAD


def passes(predicate: Predicate, values: Mapping[ColumnRef, object], *, is_check: bool = False) -> bool:
    """Whether a row with these values is certain to be let through; a CHECK also passes where it is unknown."""
    found = truth(predicate, values)
    return found is Truth.TRUE or (is_check and found is Truth.UNKNOWN)


def compared(left: object, op: Op, right: object) -> Truth:
    """What is known of two values compared, neither of them NULL."""
    return _known(_COMPARE[op](left, right)) if _are_comparable(left, right) else Truth.UNREAD


def ticks_between(later: object, earlier: object) -> int | Fraction | None:
    """How far two values of one clock lie apart; None if they are of none."""
    if isinstance(later, dt.date) and isinstance(earlier, dt.date) and _are_comparable(later, earlier):
        return (later - earlier) // dt.timedelta(microseconds=1)
    if isinstance(later, int | Fraction) and isinstance(earlier, int | Fraction):
        return later - earlier
    return None


def _are_comparable(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    numbers = int | float | Decimal | Fraction
    if isinstance(left, numbers) and isinstance(right, numbers):
        # Python compares a Fraction with everything but a Decimal.
        return {type(left), type(right)} != {Fraction, Decimal}
    if isinstance(left, dt.datetime) and isinstance(right, dt.datetime):
        return (left.tzinfo is None) == (right.tzinfo is None)
    return type(left) is type(right) and isinstance(left, str | bytes | dt.date)


def _known(holds: bool) -> Truth:
    return Truth.TRUE if holds else Truth.FALSE


def _any(found: Iterable[Truth]) -> Truth:
    each = set(found)
    if Truth.TRUE in each:
        return Truth.TRUE
    return Truth.UNREAD if Truth.UNREAD in each else Truth.FALSE


def _not(found: Truth) -> Truth:
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(found, found)
