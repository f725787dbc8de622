"""Simple expressions over whole columns, as Spark evaluates them: what a test without Spark can know of them.

Evaluated: columns, literals, comparisons, AND, OR, NOT, tests for NULL, IN, BETWEEN, CASE, if, coalesce, and `+`, `-`
and `*` of integers, which are an error beyond their type as in Spark's ANSI mode. Everything else is Spark's, and so is
whatever mixes types in a way that is more than integers of two widths.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DataError, NotSupportedYet
from penstock.model.expressions import Call, ColumnRef, Literal, Term

Read = Callable[[ColumnRef], Any]
"""The values of a column."""

_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_WORK_OUT = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}


def evaluated(term: Term, text: str, size: int, read: Read) -> Any:
    """The values of an expression on so many rows; `text` is what it is called if only Spark evaluates it."""
    return _Evaluation(text, size, read).values(term)


def truths(term: Term, text: str, size: int, read: Read) -> Any:
    """Which of so many rows meet a condition: true, false or NULL."""
    return _Evaluation(text, size, read).truth(term)


def only_spark(text: str, why: str | None = None) -> NotSupportedYet:
    """What to say of an expression that cannot be evaluated here."""
    return NotSupportedYet(
        f"only Spark evaluates {text}, so this query cannot be tested without it",
        detail=why,
        hint="conditions that compare columns and constants can; or declare a column for it, and give its values",
    )


class _Evaluation:
    def __init__(self, text: str, size: int, read: Read) -> None:
        self.text = text
        self.size = size
        self.read = read

    def values(self, term: Term) -> Any:
        match term:
            case ColumnRef():
                found = self.read(term)
                return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
            case Literal(value=value):
                return self._literal(value)
            case Call(function="and" | "or" as function, arguments=arguments):
                combine = pc.and_kleene if function == "and" else pc.or_kleene
                return reduce(combine, [self.truth(argument) for argument in arguments])
            case Call(function="not", arguments=(only,)):
                return pc.invert(self.truth(only))
            case Call(function="is null", arguments=(only,)):
                return pc.is_null(self.values(only))
            case Call(function="is not null", arguments=(only,)):
                return pc.is_valid(self.values(only))
            case Call(function=function, arguments=(left, right)) if function in _COMPARE:
                return self._compared(function, self.values(left), self.values(right))
            case Call(function=function, arguments=(left, right)) if function in _WORK_OUT:
                return self._worked_out(function, self.values(left), self.values(right))
            case Call(function="between", arguments=(only, low, high)):
                value = self.values(only)
                above = self._compared(">=", value, self.values(low))
                return pc.and_kleene(above, self._compared("<=", value, self.values(high)))
            case Call(function="in", arguments=(only, *choices)):
                value = self.values(only)
                return reduce(pc.or_kleene, [self._compared("=", value, self.values(c)) for c in choices])
            case Call(function="case", arguments=arguments):
                return self._case(arguments)
            case Call(function="if", arguments=(condition, then, otherwise)):
                return self._chosen(self.truth(condition), self.values(then), self.values(otherwise))
            case Call(function="coalesce", arguments=arguments):
                return pc.coalesce(*self._alike([self.values(argument) for argument in arguments]))
            case _:
                raise only_spark(self.text)

    def _literal(self, value: object) -> Any:
        match value:
            case None:
                return pa.nulls(self.size)
            case bool():
                kind = pa.bool_()
            case int():
                kind = pa.int32() if -(2**31) <= value < 2**31 else pa.int64()
            case str():
                kind = pa.string()
            case Decimal() as number:
                digits, scale = len(number.as_tuple().digits), max(0, -int(number.as_tuple().exponent))
                kind = pa.decimal128(max(digits, scale), scale)
            case _:
                raise only_spark(self.text)
        return pa.array([value] * self.size, kind)

    def truth(self, term: Term) -> Any:
        found = self.values(term)
        if not pa.types.is_boolean(found.type) and not pa.types.is_null(found.type):
            raise only_spark(self.text)
        return found.cast(pa.bool_())

    def _case(self, arguments: tuple[Term, ...]) -> Any:
        """`CASE WHEN c THEN v … [ELSE v] END`; a case of a value is Spark's."""
        chosen: Any = None
        for argument in reversed(arguments):
            match argument:
                case Call(function="if", arguments=(condition, then)):
                    otherwise = pa.nulls(self.size) if chosen is None else chosen
                    chosen = self._chosen(self.truth(condition), self.values(then), otherwise)
                case _ if chosen is None and len(arguments) > 1:
                    chosen = self.values(argument)
                case _:
                    raise only_spark(self.text)
        return chosen

    def _chosen(self, condition: Any, then: Any, otherwise: Any) -> Any:
        then, otherwise = self._alike([then, otherwise])
        return pc.if_else(pc.fill_null(condition, False), then, otherwise)

    def _compared(self, function: str, left: Any, right: Any) -> Any:
        left, right = self._alike([left, right])
        if pa.types.is_floating(left.type):
            raise only_spark(self.text, "Spark calls NaN larger than every number")
        return _COMPARE[function](left, right).cast(pa.bool_())

    def _worked_out(self, function: str, left: Any, right: Any) -> Any:
        left, right = self._alike([left, right])
        if not pa.types.is_integer(left.type):
            raise only_spark(self.text)
        try:
            return _WORK_OUT[function](left, right)
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.text}: {error}") from None

    def _alike(self, columns: list[Any]) -> list[Any]:
        """The columns in one type."""
        kinds = list(dict.fromkeys(c.type for c in columns if not pa.types.is_null(c.type)))
        if not kinds:
            return columns
        if len(kinds) > 1 and not all(pa.types.is_integer(kind) for kind in kinds):
            raise only_spark(self.text, "it mixes types, which Spark converts")
        widest = max(kinds, key=lambda kind: getattr(kind, "bit_width", 0)) if len(kinds) > 1 else kinds[0]
        return [c.cast(widest) for c in columns]
