"""The days of times, as datediff counts between them: `datediff(b.ts, a.ts)` is of their dates.

Theorem: datediff of two times is the difference of their days, each by the clock on the wall of the session. So where
each day is a column that Spark derives, which has no zone any more, a count of days is a difference of two columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.expressions import Call, Cast, ColumnRef, Expression, Term
from penstock.model.term_types import ColumnTypes
from penstock.model.types import DataType, Kind

_DATE = DataType.of(Kind.DATE)


def with_days(term: Term, column_type: ColumnTypes, days: dict[Term, Expression]) -> Term:
    """A term whose datediff are of days; those of times are added to `days`."""
    match term:
        case Call("datediff" | "date_diff", (first, second)):
            return Call(term.function, tuple(_day(side, column_type, days) for side in (first, second)))
        case Call(arguments=arguments):
            return Call(term.function, tuple(with_days(argument, column_type, days) for argument in arguments))
        case _:
            return term


def _day(term: Term, column_type: ColumnTypes, days: dict[Term, Expression]) -> Term:
    match term:
        case Call("ts_or_ds_to_date" | "to_date", (inner,)):
            return _day(inner, column_type, days)
        case Cast(value=inner, to=DataType(kind=Kind.DATE)):
            return _day(inner, column_type, days)
        case ColumnRef() if (kind := column_type(term)) and kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
            made = Cast(term, _DATE)
            days[made] = Expression(f"CAST({term} AS DATE)", (term,), made)
            return made
        case _:
            return term


def with_columns(term: Term, columns: Mapping[Term, ColumnRef]) -> Term:
    """A term with columns in the place of some of its parts."""
    if term in columns:
        return columns[term]
    match term:
        case Call(arguments=arguments):
            return Call(term.function, tuple(with_columns(argument, columns) for argument in arguments))
        case _:
            return term
