"""Literals: as constants of a column's type, and as lengths of time."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from penstock.model.expressions import Constant
from penstock.model.spans import LONGEST_WRITTEN, Span, Unit, span_of_ticks, written_span
from penstock.model.types import DataType, Kind
from penstock.sql.cursor import UNITS
from penstock.sql.words import string_literal, unwrapped

_OTHER_UNITS = {"WEEK": (7, Unit.DAY), "WEEKS": (7, Unit.DAY)}
_EXACT_IN_DOUBLE = 2**53
"""Below this, whole numbers are what they are as a DOUBLE too, which is what 1e3 is to Spark."""
_MOST_DIGITS = 18
"""Decimals of so many digits are compared with a BIGINT without rounding."""


def number_of(node: exp.Expr) -> Decimal | None:
    """A number, signed or not."""
    node = unwrapped(node)
    if isinstance(node, exp.Neg):
        inner = number_of(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.TryCast | exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        node = node.this  # 10L
    if isinstance(node, exp.Literal) and not node.is_string:
        return decimal_of(node.name)
    return None


def decimal_of(text: str) -> Decimal | None:
    """A number from its digits; None if Spark has none so wide."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    # Spark's widest number has 38 digits; more of them could not be compared with any column.
    return value if value.is_finite() and (not value or abs(value.adjusted()) < 38) else None


def span_or_none(amount: Decimal, unit: Unit | None = None) -> Span | None:
    """The span, if there is one of that length."""
    try:
        return written_span(amount, unit)
    except ValueError:
        return None


def sum_of_spans(spans: list[Span]) -> Span | None:
    """Spans added up, all of one kind of clock, if there is one of that length."""
    ticks = sum(span.ticks for span in spans)
    return span_of_ticks(ticks, spans[0].unit is not None) if abs(ticks) <= LONGEST_WRITTEN else None


def span_of(node: exp.Expr) -> Span | None:
    """A length: an INTERVAL of one unit or several, or a bare number."""
    node = unwrapped(node)
    if isinstance(node, exp.Neg):
        inner = span_of(node.this)
        return None if inner is None else Span(-inner.amount, inner.unit)
    if isinstance(node, exp.Add):
        left, right = span_of(node.this), span_of(node.expression)
        if left is None or right is None or (left.unit is None) != (right.unit is None):
            return None
        return sum_of_spans([left, right])
    if isinstance(node, exp.Interval):
        return _interval(node)
    number = number_of(node)
    return None if number is None else span_or_none(number)


def _interval(node: exp.Interval) -> Span | None:
    amount = decimal_of(node.this.name) if isinstance(node.this, exp.Literal) else number_of(node.this or exp.Null())
    unit = node.args.get("unit")
    if amount is None or not isinstance(unit, exp.Var):
        return None
    factor, known = _OTHER_UNITS.get(unit.name.upper(), (1, UNITS.get(unit.name.upper())))
    return None if known is None else span_or_none(amount * factor, known)


def constant_of(node: exp.Expr, kind: DataType) -> Constant | None:
    """A literal that is plainly a value of the type; None where Spark would have to convert it first."""
    node = unwrapped(node)
    if kind.is_integer:
        number = number_of(node)
        if number is None or not _is_compared_exactly(node, number):
            return None
        # A fraction lies between two values: `a > 2.5` is what it says, and `a = 2.5` holds of none.
        is_whole = number == number.to_integral_value()
        return Constant(str(int(number)), int(number)) if is_whole else Constant(format(number, "f"), number)
    if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
        return _measured(node, kind)
    if kind.kind is Kind.DECIMAL:
        number = number_of(node)
        return None if number is None else Constant(format(number, "f"), number)
    if kind.kind is Kind.BOOLEAN:
        return Constant("true" if node.this else "false", bool(node.this)) if isinstance(node, exp.Boolean) else None
    if kind.kind is Kind.STRING:
        text = _string(node)
        return None if text is None else Constant(string_literal(text), text)
    if kind.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return _moment(node, kind.kind)
    return None


def _is_compared_exactly(node: exp.Expr, number: Decimal) -> bool:
    """Whether Spark rounds neither side when it compares a whole number with this one."""
    is_whole = number == number.to_integral_value()
    if node.find(exp.Cast) is not None:
        return is_whole  # 10L; what CAST makes of a fraction only Spark knows
    literal = node.find(exp.Literal)
    if literal is not None and "e" in literal.name.lower() and abs(number) >= _EXACT_IN_DOUBLE:
        return False
    return is_whole or len(number.as_tuple().digits) <= _MOST_DIGITS


def _measured(node: exp.Expr, kind: DataType) -> Constant | None:
    """A plain number as the double that Spark compares with; of a FLOAT only one that is a FLOAT too."""
    number, literal = number_of(node), node.find(exp.Literal)
    is_plain = node.find(exp.Cast) is None and literal is not None and "e" not in literal.name.lower()
    if number is None or not is_plain or len(number.as_tuple().digits) > _MOST_DIGITS:
        return None
    value = Decimal(float(number))
    if kind.kind is Kind.FLOAT and struct.unpack("f", struct.pack("f", float(number)))[0] != float(number):
        return None
    return Constant(format(number, "f"), value)


def _string(node: exp.Expr) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _moment(node: exp.Expr, kind: Kind) -> Constant | None:
    text = _string(node)
    if text is None and isinstance(node, exp.Cast):
        wanted = node.to.this
        is_date = wanted == exp.DType.DATE
        if is_date == (kind is Kind.DATE):
            text = _string(node.this)
    if text is None:
        return None
    try:
        if kind is Kind.DATE:
            day = dt.date.fromisoformat(text.strip())
            return Constant(f"DATE '{day.isoformat()}'", day)
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    # A zone in the literal would have to be brought to the session's, which only Spark knows.
    if moment.tzinfo is not None:
        return None
    return Constant(f"{kind.value} '{moment.isoformat(sep=' ')}'", moment)
