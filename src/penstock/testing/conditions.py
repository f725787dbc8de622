"""Conditions on one stream over whole columns, in SQL's three-valued logic: what Spark would say of each row.

Decided here: columns compared with constants and with each other, IN, `<>`, IS [NOT] NULL, differences of times, and
simple expressions (`evaluating.py`). The zone of TIMESTAMP constants is UTC. Refused: what only Spark evaluates, texts
with a collation or CHAR(n), whose blanks at the end do not count, and comparisons of NaN, which Spark calls larger than
every number.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.expressions import ColumnRef, Constant
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
)
from penstock.model.stream import Stream
from penstock.runtime.columns.codes import flat, ticks
from penstock.testing.arrow_types import arrow_type
from penstock.testing.evaluating import only_spark, truths

_COMPARE = {Op.EQ: pc.equal, Op.LT: pc.less, Op.LE: pc.less_equal, Op.GT: pc.greater, Op.GE: pc.greater_equal}
_COMPARE_TICKS = {Op.EQ: np.equal, Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal}


def require_read(predicate: Predicate, stream: Stream) -> None:
    """Raise if only Spark can evaluate a condition on one stream."""
    for ref in predicate.columns if not isinstance(predicate, NullTest) else ():
        kind = stream.type_of(ref.column)
        if kind is not None and (kind.is_padded or kind.is_collated):
            raise only_spark(str(predicate), f"{ref.column} is {kind}, and Spark compares such texts in its own way")
    if isinstance(predicate, Opaque):
        types = {ref.column: arrow_type(ref.column, str(stream.type_of(ref.column))) for ref in predicate.columns}
        holds(predicate, pa.schema(types).empty_table())


def all_hold(predicates: Iterable[Predicate], table: Any) -> Any:
    """Which rows meet all of the conditions: true, false or NULL."""
    everything = pa.array(np.ones(table.num_rows, np.bool_))
    return reduce(pc.and_kleene, (holds(p, table) for p in predicates), everything)


def holds(predicate: Predicate, table: Any) -> Any:
    """Which rows meet a condition: true, false or NULL."""

    def column(ref: ColumnRef) -> Any:
        return flat(table.column(ref.column))

    match predicate:
        case NullTest(column=ref, is_null=is_null):
            return pc.is_null(column(ref)) if is_null else pc.is_valid(column(ref))
        case Bound(column=ref, op=op, constant=constant):
            return _compared(predicate, _COMPARE[op], column(ref), _scalar(constant, column(ref).type))
        case OneOf(column=ref, constants=constants):
            return _is_any(predicate, column(ref), constants)
        case NoneOf(column=ref, constants=constants):
            return pc.invert(_is_any(predicate, column(ref), constants))
        case Comparison(left=left, op=op, right=right):
            return _compared(predicate, _COMPARE[op], column(left), column(right))
        case Difference(minuend=later, subtrahend=earlier, op=op, span=span):
            # Exact, whatever they are: numpy would wrap round.
            apart = ticks(column(later)).astype(object) - ticks(column(earlier)).astype(object)
            found = _COMPARE_TICKS[op](apart, span.ticks).astype(np.bool_)
            known = pc.and_(pc.is_valid(column(later)), pc.is_valid(column(earlier)))
            return pc.if_else(known, pa.array(found), pa.scalar(None, pa.bool_()))
        case Opaque(expression=expression) | Residual(expression=expression):
            return truths(expression.term, expression.text, table.num_rows, column)


def _is_any(predicate: Predicate, column: Any, constants: tuple[Constant, ...]) -> Any:
    equal = (_compared(predicate, pc.equal, column, _scalar(constant, column.type)) for constant in constants)
    return reduce(pc.or_kleene, equal)


def _compared(predicate: Predicate, compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    for side in (left, right):
        if pa.types.is_floating(side.type) and isinstance(side, pa.Array) and pc.any(pc.is_nan(side)).as_py():
            raise only_spark(str(predicate), "there is a NaN, which Spark calls larger than every number")
    try:
        return compare(left, right)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise only_spark(str(predicate), str(error)) from None


def _scalar(constant: Constant, kind: Any) -> Any:
    value = constant.value
    if pa.types.is_timestamp(kind) and isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
        naive = moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)
        return pa.scalar(naive.replace(tzinfo=dt.UTC) if kind.tz is not None else naive, kind)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return pa.scalar(Decimal(value))
    return pa.scalar(value)
