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

_TICK = (Decimal("0.001"), Unit.MILLISECOND)
_OTHER_UNITS = {
    "WEEK": (Decimal(7), Unit.DAY),
    "WEEKS": (Decimal(7), Unit.DAY),
    "MICROSECOND": _TICK,
    "MICROSECONDS": _TICK,
}
_EXACT_IN_DOUBLE = 2**53
"""Below this, whole numbers are what they are as a DOUBLE too, which is what 1e3 is to Spark."""
_LARGEST_INT = 2**31 - 1
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
    """A length: an INTERVAL, or a bare number; also one added to another, or taken several times."""
    node = unwrapped(node)
    if isinstance(node, exp.Neg):
        inner = span_of(node.this)
        return None if inner is None else Span(-inner.amount, inner.unit)
    if isinstance(node, exp.Add):
        left, right = span_of(node.this), span_of(node.expression)
        if left is None or right is None or (left.unit is None) != (right.unit is None):
            return None
        return sum_of_spans([left, right])
    if isinstance(node, exp.Mul):
        return _times(node.this, node.expression) or _times(node.expression, node.this)
    if isinstance(node, exp.Interval):
        return _interval(node)
    if isinstance(node, exp.MakeInterval) or (isinstance(node, exp.Anonymous) and _is_made(node)):
        return _made_interval(node)
    number = number_of(node)
    return None if number is None else span_or_none(number)


def _times(one: exp.Expr, number: exp.Expr) -> Span | None:
    """`INTERVAL 1 HOUR * 2`, `60 * 60`: a length several times; of an INT no more than an INT holds."""
    length, times = span_of(one), number_of(number)
    if length is None or times is None or times != times.to_integral_value():
        return None
    ticks = length.ticks * int(times)
    if length.unit is None:
        return span_or_none(Decimal(ticks)) if abs(ticks) <= _LARGEST_INT else None
    return _of_ticks(Decimal(ticks))


def _is_made(node: exp.Anonymous) -> bool:
    return str(node.name).lower() == "make_dt_interval"


def _made_interval(node: exp.Expr) -> Span | None:
    """make_interval and make_dt_interval of numbers, without years and months."""
    if isinstance(node, exp.MakeInterval):
        given = [node.args.get(name) for name in ("year", "month", "week", "day", "hour", "minute", "second")]
    else:
        given = [None, None, None, *node.expressions]
    units = (None, None, 7 * Unit.DAY.value, *(unit.value for unit in (Unit.DAY, Unit.HOUR, Unit.MINUTE, Unit.SECOND)))
    ticks = Decimal(0)
    for part, unit in zip(given, units, strict=False):
        number = Decimal(0) if part is None else number_of(part)
        if number is None or (unit is None and number):
            return None
        ticks += number * (unit or 0)
    return _of_ticks(ticks)


def _of_ticks(ticks: Decimal) -> Span | None:
    is_whole = ticks == ticks.to_integral_value() and abs(ticks) <= LONGEST_WRITTEN
    return span_of_ticks(int(ticks), True) if is_whole else None


_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def _from_to(text: str, first: str, last: str) -> Span | None:
    """`'1 02:30:00' DAY TO SECOND`."""
    if first not in _FIELDS or last not in _FIELDS:
        return None
    units = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    written = text.strip()
    sign = -1 if written.startswith("-") else 1
    numbers = [decimal_of(part) for part in written.lstrip("+-").replace(":", " ").split()]
    if len(numbers) != len(units) or any(number is None or number < 0 for number in numbers):
        return None
    whole = sum((number or Decimal(0)) * Unit[unit].value for number, unit in zip(numbers, units, strict=True))
    return _of_ticks(sign * Decimal(whole))


def _in_words(text: str) -> Span | None:
    """`'1 hour 30 minutes'`."""
    words = text.split()
    ticks = Decimal(0)
    for amount, unit in zip(words[::2], words[1::2], strict=False):
        factor, known = _OTHER_UNITS.get(unit.upper(), (Decimal(1), UNITS.get(unit.upper())))
        number = decimal_of(amount)
        if number is None or known is None:
            return None
        ticks += number * factor * known.value
    return _of_ticks(ticks) if words and len(words) % 2 == 0 else None


def _interval(node: exp.Interval) -> Span | None:
    text, span = node.this, node.args.get("unit")
    if isinstance(text, exp.Literal) and isinstance(span, exp.IntervalSpan):
        return _from_to(text.name, span.this.name.upper(), span.expression.name.upper())
    if isinstance(text, exp.Literal) and span is None:
        return _in_words(text.name)
    amount = decimal_of(node.this.name) if isinstance(node.this, exp.Literal) else number_of(node.this or exp.Null())
    unit = node.args.get("unit")
    if amount is None or not isinstance(unit, exp.Var):
        return None
    factor, known = _OTHER_UNITS.get(unit.name.upper(), (Decimal(1), UNITS.get(unit.name.upper())))
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
