"""Which groups do promises close, so that each can be given once, when it is complete?

A group is closed once no result can fall into it any more: by a clock, where one of its keys is an ordered column of a
source that stands in every result, a window of one, or a **cut** of one; or by a punctuation all of whose columns are
among its keys.

A cut is `date_trunc(unit, ts)`, `to_date(ts)`, `CAST(ts AS DATE)`, `date(ts)` or `trunc(ts, unit)`; and so is
`ts - INTERVAL 1 MICROSECOND`, the last moment of a window that ends at ts (Spark's `window_time`). It never falls
while the time does not, so a group with the value v is closed once the cut of the clock is above v. Its stretches need
not be of one length (months, days in which the clocks are changed): what is compared is the cut itself, in the zone in
which Spark makes it. `date_trunc` of a DATE or a TIMESTAMP_NTZ is a TIMESTAMP of the session's zone; what it is made of
may fall where clocks are put forward, which the runtime sees to (`runtime/group/calendar_cuts.py`).

Groups by a window of time are always given once, and so are the first rows of a partition that is closed. Others are
given once where they feed a sink that only appends or a block above, and whenever they change elsewhere. Not decided:
other expressions that rise with a clock; whether the state is bounded; a group whose key is NULL, which no clock
passes. Where grouping sets leave keys out of some groups, only the keys that all groups have close them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.model.clauses import Scalar, TimeWindow
from penstock.model.expressions import Call, Cast, ColumnRef, Expression, Literal, Term
from penstock.model.schemes import Punctuated
from penstock.model.spans import Span
from penstock.model.types import DataType, Kind
from penstock.records import record

if TYPE_CHECKING:
    from penstock.model.query import Query

_UNITS = {
    name: names.split()[0]
    for names in ("YEAR YYYY YY", "QUARTER", "MONTH MM MON", "WEEK", "DAY DD", "HOUR", "MINUTE", "SECOND")
    for name in names.split()
}
_OF_DATES = ("YEAR", "QUARTER", "MONTH", "WEEK")
_DATES = ("to_date", "date")


LAST_MOMENT = "LAST MOMENT"
"""The moment before a time: of the end of a window the last one that is within it. It rises with the time."""


@record
class Cut:
    """A column cut to a unit of the calendar; as a DATE, or as a TIMESTAMP."""

    column: ColumnRef
    unit: str
    gives_date: bool


def cut_of(value: Scalar) -> Cut | None:
    """The cut that a key is; None if it is none."""
    return _cut_of(value.term) if isinstance(value, Expression) else None


def _cut_of(term: Term) -> Cut | None:
    match term:
        case Cast(value=ColumnRef() as ref, to=to) if to is not None and to.kind is Kind.DATE:
            return Cut(ref, "DAY", True)
        case Call(function=function, arguments=(ColumnRef() as ref,)) if function in _DATES:
            return Cut(ref, "DAY", True)
        case Call(function="-", arguments=(ColumnRef() as ref, Literal(value=Span() as tick))) if tick.ticks == 1:
            return Cut(ref, LAST_MOMENT, False) if tick.unit is not None else None
        case Call(function="date_trunc", arguments=(ColumnRef() as ref, Literal(value=str(unit)))):
            return Cut(ref, _UNITS[unit.upper()], False) if unit.upper() in _UNITS else None
        case Call(function="trunc", arguments=(ColumnRef() as ref, Literal(value=str(unit)))):
            return Cut(ref, _UNITS[unit.upper()], True) if _UNITS.get(unit.upper()) in _OF_DATES else None
        case Call(function="trunc", arguments=(day, Literal(value=str(unit)))) if _UNITS.get(unit.upper()) in _OF_DATES:
            # Of a day it is what it is of the time, which is cut to its day first.
            cut = _cut_of(day)
            return Cut(cut.column, _UNITS[unit.upper()], True) if cut is not None and _is_day(cut) else None
        case _:
            return None


def _is_day(cut: Cut) -> bool:
    return cut.gives_date and cut.unit == "DAY"


def clock_column(key: Scalar) -> ColumnRef | None:
    """The column whose clock would close groups by this key."""
    if isinstance(key, TimeWindow):
        return key.column
    cut = cut_of(key)
    return key if isinstance(key, ColumnRef) else None if cut is None else cut.column


def clocks_of(query: Query, key: Scalar) -> tuple[ColumnRef, ...]:
    """The clocks of sources that a key, or what it is cut from, is in every result."""
    ref = clock_column(key)
    cut = cut_of(key)
    if ref is None or (cut is not None and not _can_be_cut(query, cut)):
        return ()
    equal = query.equalities(frozenset()).class_of(ref)
    return tuple(e for e in equal if e.alias in query.core and query.by_alias[e.alias].stream.is_clock(e.column))


def _can_be_cut(query: Query, cut: Cut) -> bool:
    return is_cut_of_time(cut, query.type_of(cut.column))


def is_cut_of_time(cut: Cut, kind: DataType | None) -> bool:
    """Whether it is a time that is cut: of a number or a text Spark makes one first, and of a DATE a TIMESTAMP."""
    if kind is None or not kind.is_instant:
        return False
    return cut.unit != LAST_MOMENT or kind.kind is not Kind.DATE


def emits_once(query: Query) -> bool:
    """Whether each group of a query is given once, when it is closed; else whenever it changed."""
    by_window = any(isinstance(key, TimeWindow) for key in query.sure_keys)
    is_wanted = query.appends or query.top is not None
    return by_window or (is_wanted and query.is_grouped and closes_groups(query))


def closes_groups(query: Query) -> bool:
    """Whether promises close every group of a query."""
    clocks = (clock for key in query.sure_keys for clock in clocks_of(query, key))
    is_passed = any(query.by_alias[clock.alias].stream.ordering(clock.column) for clock in clocks)
    return is_passed or punctuates_groups(query)


def punctuates_groups(query: Query) -> bool:
    """Whether some punctuation closes each group, whatever its other columns are."""
    held = [key for key in query.sure_keys if isinstance(key, ColumnRef)]
    return any(
        isinstance(scheme, Punctuated)
        and scheme.lifespan is None
        and all(any(_same(query, ColumnRef(alias, column), held)) for column in scheme.columns)
        for alias in query.core
        for scheme in query.by_alias[alias].stream.schemes
    )


def column_among(query: Query, column: ColumnRef, held: list[ColumnRef]) -> ColumnRef | None:
    """The one of some columns that equals a column in every result, value by value: 0.0 = -0.0 are two."""
    return next(_same(query, column, held), None)


def _same(query: Query, column: ColumnRef, held: list[ColumnRef]) -> Iterator[ColumnRef]:
    for equal in (column, *query.equalities(frozenset()).class_of(column)):
        kinds = [query.type_of(ref) for ref in (column, equal)]
        if equal in held and all(kind is not None and kind.kind not in (Kind.FLOAT, Kind.DOUBLE) for kind in kinds):
            yield equal
