"""Whether a row of a counter-model keeps the conditions of its stream: CHECK, WHERE, and the WHEN of punctuations.

`truth` evaluates what the analyses understand on given values; None is "not known", for NULL, for a condition that only
Spark evaluates and for values that do not compare. A counter-model needs a certain answer, so None is an obstacle
there: CHECK must be true, WHERE true, WHEN false.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, NoneOf, NullTest, OneOf, Op, Predicate
from penstock.model.schemes import Check, Punctuated
from penstock.model.stream import Stream

_COMPARE: dict[Op, Callable[[object, object], bool]] = {
    Op.EQ: operator.eq,
    Op.LT: operator.lt,  # type: ignore[dict-item] # object has no order; `_comparable` has looked
    Op.LE: operator.le,  # type: ignore[dict-item]
    Op.GT: operator.gt,  # type: ignore[dict-item]
    Op.GE: operator.ge,  # type: ignore[dict-item]
}


def truth(predicate: Predicate, values: Mapping[str, object]) -> bool | None:
    """Whether a condition holds of a row, given its values by folded name."""

    def value(ref: ColumnRef) -> object:
        return values.get(ref.column)

    match predicate:
        case Bound(column=column, op=op, constant=constant):
            return _compared(value(column), op, constant.value)
        case OneOf(column=column, constants=constants):
            found = [_compared(value(column), Op.EQ, constant.value) for constant in constants]
            return None if None in found else True in found
        case Comparison(left=left, op=op, right=right):
            return _compared(value(left), op, value(right))
        case NoneOf(column=column, constants=constants):
            found = [_compared(value(column), Op.EQ, constant.value) for constant in constants]
            return None if None in found else True not in found
        case NullTest(column=column, is_null=is_null):
            # A value that a model does not say may still be there.
            return None if value(column) is None else not is_null
        case _:
            return None


def _compared(left: object, op: Op, right: object) -> bool | None:
    return _COMPARE[op](left, right) if _comparable(left, right) else None


def _comparable(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    if isinstance(left, int | Decimal) and isinstance(right, int | Decimal):
        return True
    if isinstance(left, dt.datetime) and isinstance(right, dt.datetime):
        return (left.tzinfo is None) == (right.tzinfo is None)
    return type(left) is type(right) and isinstance(left, str | dt.date)


def obstacle(stream: Stream, values: Mapping[str, object]) -> str | None:
    """A condition of the stream that the row is not certain to keep; None if there is none."""
    for predicate in stream.where:
        if truth(predicate, values) is not True:
            return f"WHERE {predicate} of {stream.name}"
    for scheme in stream.schemes:
        if isinstance(scheme, Check) and not all(truth(p, values) for p in scheme.condition):
            return scheme.on(stream.name)
        if isinstance(scheme, Punctuated) and not any(truth(p, values) is False for p in scheme.when):
            return scheme.on(stream.name)
    return None
