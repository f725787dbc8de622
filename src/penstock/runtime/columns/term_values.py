"""The values of an expression that the core evaluates (model/core_terms.py): columns in, a column out.

As in Spark's ANSI mode, whole numbers that overflow and a division by zero end the query; so AND, OR, CASE and coalesce
look, from left to right, only at the rows that are not decided yet. NaN equals itself and is above all other numbers.
A length of time is a number of microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DataError
from penstock.model import functions
from penstock.model.core_terms import CoreTerm
from penstock.model.expressions import ColumnRef
from penstock.model.types import digits_of
from penstock.runtime.columns.codes import Bools, Ints

Reader = Callable[[ColumnRef, Ints], Any]
"""The values of a column at some places, as an Arrow array."""

PLAIN_TYPES = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}
"""The types of Arrow that carry those of Spark, but DECIMAL."""
_COMPARE = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_WHOLE = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked, "div": pc.divide_checked}
_FLOAT = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
_DAY = 86_400_000_000


def holds(term: CoreTerm, read: Reader, size: int) -> Bools:
    """Where a condition is true, of so many rows."""
    found = term_values(term, read, np.arange(size))
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), np.bool_)


def term_values(term: CoreTerm, read: Reader, places: Ints) -> Any:
    """The values of an expression at some places."""
    return _Values(read).of(term, places)


class _Values:
    def __init__(self, read: Reader) -> None:
        self._read = read

    def of(self, term: CoreTerm, places: Ints) -> Any:
        operation, given = term.operation, term.arguments
        if operation in ("and", "or"):
            return self._chain(given, places, stops_at=operation == "or")
        if operation == "case":
            return self._case(term, places)
        if operation == "coalesce":
            return self._coalesce(term, places)
        if operation == "column":
            assert term.column is not None
            return _plain(self._read(term.column, places), arrow_type(term.type))
        if operation == "literal":
            return pa.repeat(_scalar(term), len(places))
        return _computed(term, [self.of(argument, places) for argument in given])

    def _chain(self, members: tuple[CoreTerm, ...], places: Ints, *, stops_at: bool) -> Any:
        """AND and OR: a row that a member decides is not looked at by those after it."""
        values: Bools = np.full(len(places), not stops_at)
        unknown: Bools = np.zeros(len(places), np.bool_)
        open_rows = np.arange(len(places))
        for member in members:
            if not len(open_rows):
                break
            found = self.of(member, places[open_rows])
            missing = _missing(found)
            decides = (_bools(found) == stops_at) & ~missing
            unknown[open_rows[missing]] = True
            values[open_rows[decides]], unknown[open_rows[decides]] = stops_at, False
            open_rows = open_rows[~decides]
        return pa.array(values, mask=unknown)

    def _case(self, term: CoreTerm, places: Ints) -> Any:
        *branches, otherwise = term.arguments
        waiting = np.arange(len(places))
        pieces: list[tuple[Ints, Any]] = []
        for condition, value in zip(branches[::2], branches[1::2], strict=True):
            if not len(waiting):
                break
            met = _bools(self.of(condition, places[waiting]))
            pieces.append((waiting[met], self.of(value, places[waiting[met]])))
            waiting = waiting[~met]
        pieces.append((waiting, self.of(otherwise, places[waiting])))
        return _put_together(pieces, term)

    def _coalesce(self, term: CoreTerm, places: Ints) -> Any:
        waiting = np.arange(len(places))
        pieces: list[tuple[Ints, Any]] = []
        for number, value in enumerate(term.arguments):
            found = self.of(value, places[waiting])
            missing = _missing(found) if number < len(term.arguments) - 1 else np.zeros(len(found), np.bool_)
            pieces.append((waiting[~missing], found.filter(pa.array(~missing))))
            waiting = waiting[missing]
        return _put_together(pieces, term)


def arrow_type(kind: str) -> Any:
    """How the core carries values of a type."""
    if kind.startswith("INTERVAL"):
        return pa.int64()
    digits = digits_of(kind)
    if kind == "VOID":
        return pa.bool_()
    return PLAIN_TYPES[kind] if digits is None else pa.decimal128(*digits)


def _plain(found: Any, kind: Any) -> Any:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return found if found.type == kind else found.cast(kind)


def _scalar(term: CoreTerm) -> Any:
    kind, value = arrow_type(term.type), term.value
    if value is None:
        return pa.scalar(None, kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(value == "true", kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(value), kind)
    return pa.scalar(int(value), kind) if pa.types.is_integer(kind) else pa.scalar(value).cast(kind)


def _put_together(pieces: list[tuple[Ints, Any]], term: CoreTerm) -> Any:
    """Values in the order of their rows."""
    kind = arrow_type(term.type)
    order = np.concatenate([rows for rows, _ in pieces])
    values = pa.concat_arrays([_plain(found, kind) for _, found in pieces])
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return values.take(pa.array(back))


def _computed(term: CoreTerm, given: list[Any]) -> Any:
    operation = term.operation
    match operation:
        case "=" | "<" | "<=" | ">" | ">=":
            return _compared(operation, *given)
        case "<>":
            return pc.invert(_compared("=", *given))
        case "<=>":
            missing = [pc.is_null(side) for side in given]
            equal = pc.fill_null(_compared("=", *given), False)
            return pc.or_(pc.and_(*missing), pc.and_(equal, pc.invert(pc.or_(*missing))))
        case "not":
            return pc.invert(given[0])
        case "is null":
            return pc.is_null(given[0])
        case "is not null":
            return pc.is_valid(given[0])
        case "convert":
            return given[0].cast(arrow_type(term.type), safe=False)
        case "concat":
            return pc.binary_join_element_wise(*given, "", null_handling="emit_null")
        case "greatest":
            return pc.max_element_wise(*given, skip_nulls=True)
        case "least":
            return pc.min_element_wise(*given, skip_nulls=True)
        case functions.WINDOW_START | functions.WINDOW_END | functions.WINDOW_TIME:
            return _end_of_window(term, given)
        case "between" | "time +" | "time -" | "lengths +" | "lengths -":
            return _with_time(term, given)
        case _:
            return _arithmetic(term, given)


def _compared(operation: str, left: Any, right: Any) -> Any:
    if not pa.types.is_floating(left.type):
        return _COMPARE[operation](left, right)
    missing = _missing(left) | _missing(right)
    one, other = (pc.fill_null(side, 0.0).to_numpy(zero_copy_only=False) for side in (left, right))
    if operation in (">", ">="):
        one, other, operation = other, one, operation.replace(">", "<")
    equal = (one == other) | (np.isnan(one) & np.isnan(other))
    below = (one < other) | (~np.isnan(one) & np.isnan(other))
    found = {"=": equal, "<": below, "<=": equal | below}[operation]
    return pa.array(found, mask=missing)


def _with_time(term: CoreTerm, given: list[Any]) -> Any:
    kind = arrow_type(term.type)
    if term.operation == "between":
        return _checked(pc.subtract_checked, *map(_ticks, given))
    move = pc.add_checked if term.operation.endswith("+") else pc.subtract_checked
    if not pa.types.is_date(kind):
        return _checked(move, given[0].cast(pa.int64()), given[1]).cast(kind)
    days = pc.divide(given[1], pa.scalar(_DAY)).cast(pa.int32())
    return _checked(move, given[0].cast(pa.int32()), days).cast(kind)


def _end_of_window(term: CoreTerm, given: list[Any]) -> Any:
    """Where the window begins, or ends, that a time is in: of a length, shifted from 1970."""
    missing = _missing(given[0])
    micros, length, shift = (np.asarray(pc.fill_null(one.cast(pa.int64()), 0), np.int64) for one in given)
    start = micros - np.mod(micros - shift, length)
    ends = {functions.WINDOW_START: start, functions.WINDOW_END: start + length}
    found = ends.get(term.operation, start + length - 1)
    return pa.array(found, mask=missing).cast(arrow_type(term.type))


def _ticks(time: Any) -> Any:
    """A time as a number of microseconds."""
    if pa.types.is_date(time.type):
        return pc.multiply(time.cast(pa.int32()).cast(pa.int64()), pa.scalar(_DAY))
    return time.cast(pa.int64())


def _arithmetic(term: CoreTerm, given: list[Any]) -> Any:
    operation = term.operation
    is_float = pa.types.is_floating(given[0].type)
    if len(given) == 1:
        if operation == "abs":
            return pc.abs(given[0]) if is_float else _checked(pc.abs_checked, given[0])
        return pc.negate(given[0]) if is_float else _checked(pc.negate_checked, given[0])
    left, right = given
    if operation in ("/", "%", "div"):
        both = pc.and_(pc.is_valid(left), pc.equal(right, pa.scalar(0, right.type)))
        if pc.any(both).as_py():
            raise DataError("a condition divides by zero", hint="NULLIF(x, 0) gives NULL instead")
    if operation == "%":
        missing = _missing(left) | _missing(right)
        one, other = (pc.fill_null(side, 1).to_numpy(zero_copy_only=False) for side in given)
        return pa.array(np.fmod(one, np.where(missing, 1, other)), left.type, mask=missing)
    return _FLOAT[operation](left, right) if is_float else _checked(_WHOLE[operation], left, right)


def _checked(operation: Callable[..., Any], *given: Any) -> Any:
    try:
        return operation(*given)
    except pa.ArrowInvalid as error:
        raise DataError("a number in a condition is too large for its type", detail=str(error)) from None


def _missing(found: Any) -> Bools:
    return np.asarray(found.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _bools(found: Any) -> Bools:
    """Which are true."""
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), np.bool_)
