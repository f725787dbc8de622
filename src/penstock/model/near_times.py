"""How far a time that is worked out may lie from the column that it is worked out of.

`date_trunc('HOUR', ts) + INTERVAL 1 HOUR` is at most an hour above ts, and not below it: so what compares such times
says how far their columns lie apart. Known are times cut to a unit, moved by a length of time, by days, or by
timestampadd, and one within the other.

Preconditions: the column is a time. A TIMESTAMP is cut, and moved by whole days, by the clock on the wall of the
session, which may jump: each such step may be a day off, in either direction, and no zone has jumped by more. So may a
DATE that is moved by hours. By days it is moved exactly, and cut exactly. Not decided: months and years of INTERVAL,
and lengths that differ from row to row.
"""

from __future__ import annotations

from penstock.model.expressions import Call, Cast, ColumnRef, Literal, Term
from penstock.model.spans import Span, Unit
from penstock.model.term_types import ColumnTypes, type_of
from penstock.model.types import DataType, Kind
from penstock.records import record

DAY = Unit.DAY.value
LENGTHS = {
    "MICROSECOND": 1,
    "MILLISECOND": Unit.MILLISECOND.value,
    "SECOND": Unit.SECOND.value,
    "MINUTE": Unit.MINUTE.value,
    "HOUR": Unit.HOUR.value,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
CUTS = LENGTHS | {
    "DD": DAY,
    "MONTH": 31 * DAY,
    "MM": 31 * DAY,
    "MON": 31 * DAY,
    "QUARTER": 92 * DAY,
    "YEAR": 366 * DAY,
    "YYYY": 366 * DAY,
    "YY": 366 * DAY,
}


@record
class NearTime:
    """A time that is `low` to `high` microseconds above a column, both included."""

    column: ColumnRef
    low: int = 0
    high: int = 0

    def moved(self, low: int, high: int) -> NearTime:
        """What lies so far above it."""
        return NearTime(self.column, self.low + low, self.high + high)


def near_time(term: Term, column_type: ColumnTypes) -> NearTime | None:
    """Where the value of an expression lies; None where that is not known."""
    match term:
        case ColumnRef():
            kind = column_type(term)
            return NearTime(term) if kind is not None and kind.is_instant else None
        case Call(function="date_trunc" | "trunc", arguments=(inner, Literal(value=str() as unit))):
            return _cut(inner, CUTS.get(unit.upper()), column_type)
        case Call(function="to_date" | "ts_or_ds_to_date", arguments=(inner,)):
            return _cut(inner, DAY, column_type)
        case Cast(value=inner, to=DataType(kind=Kind.DATE)):
            return _cut(inner, DAY, column_type)
        case Call(function="+" | "-", arguments=(inner, Literal(value=length))):
            return _moved(inner, _signed(term, length), column_type)
        case Call(function="+", arguments=(Literal(value=Span() as length), inner)):
            return _moved(inner, length, column_type)
        case Call(function="date_add", arguments=(inner, Literal(value=int() as days))):
            return _by_days(inner, days, column_type)
        case Call(function="date_sub", arguments=(inner, Call("*", (Literal(value=int() as days), Literal(-1))), *_)):
            return _by_days(inner, -days, column_type)
        case Call("timestampadd", (inner, Literal(value=int() as number), Literal(value=str() as unit))):
            length = LENGTHS.get(unit.upper().removesuffix("S"))
            return None if length is None else _shifted(inner, number * length, column_type)
        case _:
            return None


def _signed(term: Term, length: object) -> object:
    is_taken = isinstance(term, Call) and term.function == "-"
    if isinstance(length, Span) and is_taken:
        return Span(-length.amount, length.unit)
    return -length if isinstance(length, int) and not isinstance(length, bool) and is_taken else length


def _moved(inner: Term, length: object, column_type: ColumnTypes) -> NearTime | None:
    """A time and a length of time; a whole number beside a DATE is one of days."""
    if isinstance(length, Span) and length.unit is not None:
        return _shifted(inner, length.ticks, column_type)
    kind = type_of(inner, column_type)
    is_days = isinstance(length, int) and not isinstance(length, bool) and kind is not None and kind.kind is Kind.DATE
    return _shifted(inner, length * DAY, column_type) if is_days and isinstance(length, int) else None


def _by_days(inner: Term, days: int, column_type: ColumnTypes) -> NearTime | None:
    """The day of a time, so many days later."""
    found = _cut(inner, DAY, column_type)
    return None if found is None else found.moved(days * DAY, days * DAY)


def _cut(inner: Term, length: int | None, column_type: ColumnTypes) -> NearTime | None:
    found = near_time(inner, column_type)
    if found is None or length is None:
        return None
    jump = _jump(found.column, column_type)
    return found.moved(-length - jump, jump)


def _shifted(inner: Term, ticks: int, column_type: ColumnTypes) -> NearTime | None:
    found = near_time(inner, column_type)
    if found is None:
        return None
    by_clock = _jump(found.column, column_type)
    jump = (by_clock if abs(ticks) >= DAY else 0) if by_clock else DAY * bool(ticks % DAY)
    return found.moved(ticks - jump, ticks + jump)


def _jump(column: ColumnRef, column_type: ColumnTypes) -> int:
    kind = column_type(column)
    return 0 if kind is not None and kind.kind is Kind.DATE else DAY
