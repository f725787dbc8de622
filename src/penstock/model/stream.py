"""A stream: its columns, its clock, its order of arrival, what it promises, and where it is read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from penstock.model.expressions import Expression
from penstock.model.names import fold, quoted
from penstock.model.predicates import Predicate
from penstock.model.problem import Problem, Subject, require
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    ForeignKey,
    OnViolation,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
)
from penstock.model.spans import Auto, Frontier, Rows, Span
from penstock.model.types import DataType, Kind

KAFKA = "kafka"
"""A format whose topics have partitions, which are parts."""
OF_RECORD = {
    "_key": "key",
    "_headers": "headers",
    "_topic": "topic",
    "_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
}
"""Columns of its streams that are not in the value of a record but its own, and what Spark calls them."""
SOURCE_PARTS = "__ps_source_part"
"""The column in which a source that has parts of its own says which a row is of."""


@dataclass(frozen=True)
class Column:
    """A column; one without a type is VIRTUAL: an identity that no row carries, for constraints alone."""

    name: str
    type: DataType | None
    derived: Expression | None = None
    of_query: bool = False
    """Whether one query made it, of the stream's columns under its own alias, and no script declares it."""
    of_table: bool = False
    """Whether it is a column of a table that the query joins the stream with."""

    @property
    def is_virtual(self) -> bool:
        """Whether no row carries it."""
        return self.type is None


@dataclass(frozen=True)
class Arrival:
    """`ARRIVES BY column`: the column never falls in the order of arrival."""

    column: str
    on_violation: OnViolation | None = None

    def on(self, stream: str) -> str:
        """The declaration as the reports and the metrics spell it."""
        return f"ARRIVES BY {quoted(self.column)} ON {quoted(stream)}"


class MalformedPolicy(StrEnum):
    """What to do with a row in which a value does not read as its declared type."""

    FAIL = "FAIL"
    QUARANTINE = "QUARANTINE"
    NULL = "NULL"


@dataclass(frozen=True)
class OnMalformed:
    """`ON MALFORMED …`; `into` is the sink of a QUARANTINE, None for a folder of the checkpoint."""

    policy: MalformedPolicy = MalformedPolicy.FAIL
    into: str | None = None

    def __post_init__(self) -> None:
        if self.into is not None and self.policy is not MalformedPolicy.QUARANTINE:
            raise ValueError("only QUARANTINE writes INTO a sink")

    @property
    def text(self) -> str:
        """The clause."""
        return f"ON MALFORMED {self.policy}" + (f" INTO {quoted(self.into)}" if self.into else "")


@dataclass(frozen=True)
class Storage:
    """`USING format OPTIONS (…)`: Spark's own names, passed on as they are."""

    format: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TableRead:
    """A table that a query over tables reads."""

    key: str
    name: str
    columns: tuple[tuple[str, str], ...]
    """Its columns and their types."""
    storage: Storage


@dataclass(frozen=True)
class TableQuery:
    """A query over tables alone, which Spark evaluates."""

    text: str
    """As it is written, with `{key}` for each table."""
    tables: tuple[TableRead, ...]


@dataclass(frozen=True)
class TableJoin:
    """A table that Spark joins the rows of a stream with, before anything else looks at them."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """Its columns and their types."""
    storage: Storage | TableQuery
    alias: str
    stream_alias: str
    kind: str
    """Spark's name of the join."""
    on: str
    at_most_one: bool
    """Whether no row of the stream meets two rows of the table, or none comes out twice."""
    compared: tuple[str, ...]
    """The columns of the table that are compared by `=`, where nothing else is asked of it."""


@dataclass(frozen=True)
class Exploded:
    """`LATERAL VIEW explode(…)`: each row once for each element of an array or a map, before anything looks at it."""

    text: str
    """The array or map, as the query names it."""
    columns: tuple[tuple[str, str], ...]
    """What is made of an element, and of which types."""
    parts: tuple[str, ...]
    """What each of them is: `pos`, `col`, `key`, `value`, or a field of `col`."""
    is_outer: bool
    """Whether a row without elements comes out once."""
    alias: str
    stream_alias: str

    @property
    def at_most_one(self) -> bool:
        """Whether no row comes out twice."""
        return False

    @property
    def kind(self) -> str:
        """As a join."""
        return "left" if self.is_outer else "inner"

    @property
    def table(self) -> str:
        """As a table."""
        return f"explode({self.text})"

    @property
    def on(self) -> str:
        """What makes its columns."""
        return ", ".join(self.parts)


@dataclass(frozen=True)
class Sink:
    """Where a query writes."""

    name: str
    storage: Storage
    key: tuple[str, ...] = ()
    """Columns by which a row takes the place of an older one; none if rows are only added."""


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


@dataclass(frozen=True)
class Stream:
    """A declared stream."""

    name: str
    columns: tuple[Column, ...]
    event_time: str | None = None
    arrival: Arrival | None = None
    schemes: tuple[Scheme, ...] = ()
    storage: Storage | None = None
    where: tuple[Predicate, ...] = ()
    on_malformed: OnMalformed | None = None
    """None if it is left out, which means FAIL."""
    parts_by: str | None = None
    """`PARTS BY column`: rows with one value of it are a part, and its order to other parts is nobody's."""
    idle_after: Span | None = None
    """`EVENT TIME column IDLE AFTER d`: a part that far behind the latest of all no longer holds the clock back."""
    tables: tuple[TableJoin | Exploded, ...] = ()
    """What a query joins its rows with before they meet other streams."""
    origin: Stream | None = None
    """The stream as it was before a query weakened it; None if it is that."""

    def __post_init__(self) -> None:
        problems = (_column_problems, _clock_problems, _parts_problems, _scheme_problems, _where_problems)
        require([problem for found in problems for problem in found(self)])

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def _by_fold(self) -> dict[str, Column]:
        return {fold(column.name): column for column in self.columns}

    @cached_property
    def as_declared(self) -> Stream:
        """The stream without what a query made of its columns."""
        if self.origin is not None:
            return self.origin.as_declared
        declared = tuple(column for column in self.columns if not column.of_query)
        return self if len(declared) == len(self.columns) else replace(self, columns=declared)

    def column(self, name: str) -> Column | None:
        """The column of that name, spelt as it is declared."""
        return self._by_name.get(name)

    def spelling(self, text: str) -> Column | None:
        """The column that a user's text names, whatever its case: for those who bind names, and nobody after them."""
        return self._by_fold.get(fold(text))

    def type_of(self, name: str) -> DataType | None:
        """The type of a column; None if it is virtual or not there."""
        column = self.column(name)
        return column.type if column else None

    @property
    def carried(self) -> tuple[Column, ...]:
        """The columns that rows carry."""
        return tuple(c for c in self.columns if not c.is_virtual)

    @property
    def clock(self) -> DataType | None:
        """The type of the event time, if there is one."""
        return self.type_of(self.event_time) if self.event_time is not None else None

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The primary keys."""
        return tuple(s.columns for s in self.schemes if isinstance(s, PrimaryKey))

    @property
    def is_kafka(self) -> bool:
        """Whether it is read from topics of Kafka."""
        return self.storage is not None and self.storage.format.lower() == KAFKA

    @property
    def parts(self) -> str | None:
        """The column whose values are its parts: the one that is declared, or the source's own; None without parts."""
        return self.parts_by or (SOURCE_PARTS if self.is_kafka else None)

    @property
    def has_parts(self) -> bool:
        """Whether its order is promised only within each of its parts."""
        return self.parts is not None

    def lies_in_one_part(self, column: str) -> bool:
        """Whether all rows with one value of a column lie in one part."""
        return not self.has_parts or column == self.parts_by

    def ordering(self, column: str) -> tuple[Ordered, ...]:
        """What says that a column is ordered; ARRIVES BY the event time is also ORDERED BY it WITHIN 0."""
        declared = tuple(s for s in self.schemes if isinstance(s, Ordered) and s.column == column)
        if self.arrival is not None and self.arrival.column == column and column == self.event_time:
            return (*declared, Ordered(column))
        return declared

    def is_clock(self, column: str) -> bool:
        """Whether a column is the event time, or one of which the block that gives the stream tells how far it is."""
        return column == self.event_time or any(isinstance(s.slack, Frontier) for s in self.ordering(column))

    @property
    def low(self) -> tuple[Ordered, ...]:
        """What makes `low(S)`, the least event time that may still come, known; nothing if it is not."""
        return self.ordering(self.event_time) if self.event_time is not None else ()


def columns_in_common(one: Stream, other: Stream) -> tuple[tuple[str, str], ...]:
    """The columns that both streams have, each as either spells it."""
    pairs = ((column, other.spelling(column.name)) for column in one.columns)
    return tuple((column.name, its.name) for column, its in pairs if its is not None)


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
