"""A stream: its columns, its clock, its order of arrival, what it promises, and where it is read from."""

from __future__ import annotations

from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property

from penstock.model.expressions import Expression
from penstock.model.names import fold, quoted
from penstock.model.predicates import Predicate
from penstock.model.problem import require
from penstock.model.schemes import (
    OnViolation,
    Ordered,
    PrimaryKey,
    Scheme,
)
from penstock.model.spans import Frontier, Span
from penstock.model.stream_problems import stream_problems
from penstock.model.types import DataType
from penstock.records import record

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


@record
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


@record
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


@record
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


@record
class Storage:
    """`USING format OPTIONS (…)`: Spark's own names, passed on as they are."""

    format: str
    options: tuple[tuple[str, str], ...] = ()


@record
class TableRead:
    """A table that a query over tables reads."""

    key: str
    name: str
    columns: tuple[tuple[str, str], ...]
    """Its columns and their types."""
    storage: Storage


@record
class TableQuery:
    """A query over tables alone, which Spark evaluates."""

    text: str
    """As it is written, with `{key}` for each table."""
    tables: tuple[TableRead, ...]


@record
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


@record
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


@record
class Sink:
    """Where a query writes."""

    name: str
    storage: Storage
    key: tuple[str, ...] = ()
    """Columns by which a row takes the place of an older one; none if rows are only added."""


@record
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
    """`EVENT TIME column IDLE AFTER d`: a part that is silent and that far behind the latest of all no longer
    holds the clock back."""
    tables: tuple[TableJoin | Exploded, ...] = ()
    """What a query joins its rows with before they meet other streams."""
    origin: Stream | None = None
    """The stream as it was before a query weakened it; None if it is that."""
    is_nameless: bool = field(default=False, compare=False)
    """Whether it is the answer of a query that no statement names, so that nothing can be declared of it."""

    def __post_init__(self) -> None:
        require(stream_problems(self))

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
