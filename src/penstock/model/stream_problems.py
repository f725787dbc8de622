"""What is wrong with a stream by itself: its columns, its clock, its parts, what it promises, its WHERE.

Not decided: whether what it names of other streams and of sinks is there (`model/script.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.model.names import fold
from penstock.model.problem import Problem, Subject
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    ForeignKey,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
)
from penstock.model.spans import Auto, Rows, Span
from penstock.model.types import DataType, Kind

if TYPE_CHECKING:
    from penstock.model.stream import Column, Stream


def stream_problems(stream: Stream) -> list[Problem]:
    """All of them."""
    problems = (_column_problems, _clock_problems, _parts_problems, _scheme_problems, _where_problems)
    return [problem for found in problems for problem in found(stream)]


def span_problem(span: Span, clock: DataType) -> str | None:
    """Why a span cannot be a length on a clock of that type, if it cannot."""
    if span.fits_any_clock:
        return None
    if clock.is_instant and span.unit is None:
        return f"{span} has no unit; a length of {clock} needs one"
    if clock.is_integer and span.unit is not None:
        return f"{span} has a unit; a length of {clock} is a bare number"
    return None


_SPAN_HINT = "write `3 SECONDS` for a TIMESTAMP or a DATE, `3` for an integer"


def _column_problems(stream: Stream) -> Iterator[Problem]:
    seen: set[str] = set()
    for column in stream.columns:
        subject = Subject("column", column.name)
        if column.derived is not None:
            yield from _derived_problems(column, seen, stream, subject)
        if fold(column.name) in seen:
            yield Problem(subject, f"column {column.name} is declared twice")
        seen.add(fold(column.name))
    if not stream.carried:
        yield Problem(Subject("name", stream.name), f"stream {stream.name} has no column that rows carry")


def _derived_problems(column: Column, before: set[str], stream: Stream, subject: Subject) -> Iterator[Problem]:
    assert column.derived is not None
    if column.is_virtual:
        yield Problem(subject, f"column {column.name} is VIRTUAL, so it cannot be derived")
    for ref in column.derived.columns:
        source = stream.column(ref.column)
        if source is None or (source.derived is not None and fold(source.name) not in before):
            yield Problem(
                subject,
                f"derived column {column.name} uses {ref.column}, which is not declared before it",
                "a derived column may use plain columns, and derived ones that stand before it",
            )
        elif source.is_virtual:
            yield Problem(subject, f"derived column {column.name} uses {ref.column}, which is VIRTUAL")


def _clock_problems(stream: Stream) -> Iterator[Problem]:
    if stream.event_time is not None:
        subject = Subject("event time")
        column = stream.column(stream.event_time)
        if column is None:
            yield Problem(subject, f"stream {stream.name} has no column {stream.event_time}")
        elif column.type is None or not column.type.is_clock:
            yield Problem(
                subject,
                f"EVENT TIME {column.name} is {column.type or 'VIRTUAL'}, which is no clock",
                "an event time is TIMESTAMP, DATE or an integer; derive one: ts TIMESTAMP AS (…)",
            )
    if stream.arrival is not None:
        subject = Subject("arrival")
        column = stream.column(stream.arrival.column)
        if column is None:
            yield Problem(subject, f"stream {stream.name} has no column {stream.arrival.column}")
        elif column.type is None or not column.type.is_key:
            yield Problem(subject, f"ARRIVES BY {column.name} is {column.type or 'VIRTUAL'}, which has no order")


def _parts_problems(stream: Stream) -> Iterator[Problem]:
    if stream.parts_by is not None:
        subject = Subject("parts")
        column = stream.column(stream.parts_by)
        if column is None:
            yield Problem(subject, f"stream {stream.name} has no column {stream.parts_by}")
        elif column.type is None or not column.type.is_key or column.type.kind is Kind.BINARY:
            yield Problem(
                subject,
                f"PARTS BY {column.name} is {column.type or 'VIRTUAL'}, whose values name no parts",
                "derive a column of a plain type, such as a STRING or a BIGINT",
            )
    if stream.idle_after is None:
        return
    subject = Subject("idle")
    if not stream.has_parts:
        yield Problem(
            subject,
            f"IDLE AFTER {stream.idle_after} is about parts, and stream {stream.name} has none",
            "declare PARTS BY column, or leave IDLE AFTER out",
        )
    elif stream.clock is not None and (why := span_problem(stream.idle_after, stream.clock)) is not None:
        yield Problem(subject, why, _SPAN_HINT)


_MAY_BE_VIRTUAL = (PrimaryKey, ForeignKey, StreamKey, Cooccurs)


def _scheme_problems(stream: Stream) -> Iterator[Problem]:
    declared: set[tuple[object, ...]] = set()
    for index, scheme in enumerate(stream.schemes):
        subject = Subject("scheme", index=index)
        yield from _scheme_column_problems(stream, scheme, subject)
        match scheme:
            case Ordered():
                yield from _ordered_problems(stream, scheme, subject)
            case Clustered() if isinstance(scheme.within, Span):
                yield Problem(
                    subject,
                    f"CLUSTERED BY {scheme.column} is counted in rows, not in time",
                    "write WITHIN n ROWS or WITHIN AUTO",
                )
            case Punctuated() if scheme.lifespan is not None:
                yield from _lifespan_problems(stream, scheme.lifespan, subject)
            case _:
                pass
        identity = _identity(scheme)
        if identity in declared:
            yield Problem(subject, f"{_headline(scheme)} is declared twice", "keep the one that the data keeps")
        declared.add(identity)


def _scheme_column_problems(stream: Stream, scheme: Scheme, subject: Subject) -> Iterator[Problem]:
    for name in dict.fromkeys(scheme.own_columns):
        column = stream.column(name)
        if column is None:
            yield Problem(subject, f"stream {stream.name} has no column {name}")
        elif column.is_virtual and not isinstance(scheme, _MAY_BE_VIRTUAL):
            yield Problem(
                subject,
                f"column {name} is VIRTUAL: no row carries it, so this constraint could never be seen to hold",
                "VIRTUAL columns stand in PRIMARY KEY, FOREIGN KEY, STREAM KEY and COOCCURS",
            )
        elif (
            column.type is not None and not column.type.is_key and not isinstance(scheme, Check | Punctuated | Ordered)
        ):
            yield Problem(
                subject,
                f"column {name} is {column.type}, whose values cannot be compared",
                "derive a column of a plain type, such as a STRING or a BIGINT",
            )
    if isinstance(scheme, _MAY_BE_VIRTUAL) and len(set(scheme.columns)) < len(scheme.columns):
        yield Problem(subject, f"a column stands twice in {_headline(scheme)}")


def _ordered_problems(stream: Stream, scheme: Ordered, subject: Subject) -> Iterator[Problem]:
    kind = stream.type_of(scheme.column)
    if kind is None:
        return
    if not kind.is_key:
        yield Problem(subject, f"ORDERED BY {scheme.column}: {kind} has no order")
    elif isinstance(scheme.within, Span):
        if not kind.is_clock:
            yield Problem(
                subject,
                f"ORDERED BY {scheme.column} WITHIN {scheme.within}: {kind} has no lengths",
                "write WITHIN n ROWS, or order by a TIMESTAMP, a DATE or an integer",
            )
        elif (why := span_problem(scheme.within, kind)) is not None:
            yield Problem(subject, why, _SPAN_HINT)
        elif scheme.within.ticks < 0:
            yield Problem(subject, "WITHIN cannot be negative")


def _where_problems(stream: Stream) -> Iterator[Problem]:
    for predicate in stream.where:
        for ref in predicate.columns:
            column = stream.column(ref.column)
            if column is None or ref.alias:
                yield Problem(Subject("where"), f"stream {stream.name} has no column {ref}")
            elif column.is_virtual:
                yield Problem(Subject("where"), f"column {ref} is VIRTUAL: no row carries it")


def _lifespan_problems(stream: Stream, lifespan: Span, subject: Subject) -> Iterator[Problem]:
    if stream.clock is None:
        yield Problem(
            subject,
            f"LIFESPAN needs an event time, and stream {stream.name} has none",
            "declare EVENT TIME, or leave LIFESPAN out",
        )
    elif (why := span_problem(lifespan, stream.clock)) is not None:
        yield Problem(subject, why, _SPAN_HINT)


def _headline(scheme: Scheme) -> str:
    if isinstance(scheme, Ordered | Clustered):
        return type(scheme)(scheme.column).text
    return scheme.text


def _identity(scheme: Scheme) -> tuple[object, ...]:
    # An order may be known both in rows and in time; two numbers for one and the same are a slip.
    if isinstance(scheme, Ordered | Clustered):
        unit = Rows if isinstance(scheme.slack, Rows | Auto) else type(scheme.slack)
        return (type(scheme), scheme.column, unit)
    return (scheme.text,)
