"""Tables: relations that are read, not streamed, and what is left of a stream's promises once it is joined with one.

Spark joins the rows of a stream with a table before anything else looks at them: its columns become columns of the
stream, for this query. A join is **total** if each row of the stream comes out just once: LEFT, with the whole of a key
of the table compared by `=`. Then all promises stay. A join of at most one partner (INNER with such a key, SEMI, ANTI)
is a filter: rows leave, so that distances only shrink and what is said of values, orders and keys stays; but a row that
another stream was promised may be gone, so no FOREIGN KEY to it is left. Any other join repeats rows: keys and whatever
counts rows are lost, of the stream itself and of those that count its rows; what is said of values and of the clock
stays. Punctuations are rows, so they stand only beside total joins; so does [ROWS n].

A stream of which each row is given once for each element of an array (LATERAL VIEW) is joined with a table that the row
itself brings, and repeats rows as any other join does.

In the model a table needs no state. Not decided: what a table holds, and whether it changes while a query runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from penstock.model.clauses import RowsWindow, Source
from penstock.model.expressions import Expression
from penstock.model.names import quoted
from penstock.model.relation import Block
from penstock.model.schemes import Clustered, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Frontier, Span
from penstock.model.stream import Column, Exploded, MalformedPolicy, Storage, Stream, TableJoin, TableQuery
from penstock.model.types import DataType
from penstock.records import record


@record
class DeclaredTable:
    """`CREATE TABLE`, or a query over such: its columns, its keys, and where it is read from."""

    name: str
    columns: tuple[tuple[str, DataType], ...]
    keys: tuple[tuple[str, ...], ...]
    """The empty one says that it has one row at most."""
    storage: Storage | TableQuery

    @property
    def columns_read(self) -> tuple[tuple[str, str], ...]:
        """Its columns with their types as Spark has them."""
        return tuple((name, str(kind)) for name, kind in self.columns)


class TableJoinKind(StrEnum):
    """How rows of a stream meet a table; the names are Spark's."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "left_semi"
    ANTI = "left_anti"


def joined_with(
    stream: Stream,
    table: DeclaredTable,
    kind: TableJoinKind,
    *,
    alias: str,
    own: str,
    on: str,
    equal: Iterable[str],
    asks_more: bool,
) -> Stream:
    """A stream whose rows Spark joins with a table.

    `equal` are the columns of the table that `on` compares by `=`; `asks_more`: whether it asks anything else.
    """
    compared = frozenset(equal)
    is_filter = kind in (TableJoinKind.SEMI, TableJoinKind.ANTI)
    at_most_one = is_filter or any(compared.issuperset(key) for key in table.keys)
    made = TableJoin(
        table.name,
        table.columns_read,
        table.storage,
        alias,
        own,
        kind.value,
        on,
        at_most_one,
        () if asks_more else tuple(sorted(compared)),
    )
    columns = () if is_filter else tuple(_column(alias, name, kind_of) for name, kind_of in table.columns)
    return _met(stream, made, columns)


def exploded(stream: Stream, made: Exploded, types: Iterable[DataType]) -> Stream:
    """A stream of which Spark gives each row once for each element of an array or a map."""
    columns = (_column(made.alias, name, kind) for (name, _), kind in zip(made.columns, types, strict=True))
    return _met(stream, made, tuple(columns))


def as_read(known: Stream, reading: Stream) -> Stream:
    """The stream of a block, of which all is known, joined with tables and with columns as a query reads it."""
    for join in reading.tables:
        known = _met(known, join, ())
    return replace(known, columns=(*known.columns, *(column for column in reading.columns if column.of_query)))


def _met(stream: Stream, join: TableJoin | Exploded, columns: tuple[Column, ...]) -> Stream:
    schemes, arrival = stream.schemes, stream.arrival
    if not join.at_most_one:
        schemes = tuple(scheme for scheme in schemes if not _counts(scheme))
        is_clock = arrival is not None and arrival.column == stream.event_time
        if arrival is not None and is_clock and not any(isinstance(s, Ordered) for s in schemes):
            schemes = (*schemes, Ordered(arrival.column, Span.of(0)))
        arrival = None
    return replace(
        stream,
        columns=(*stream.columns, *columns),
        schemes=schemes,
        arrival=arrival,
        tables=(*stream.tables, join),
        origin=stream.origin or stream,
    )


def _column(alias: str, name: str, kind: DataType) -> Column:
    text = f"{quoted(alias)}.{quoted(name)}"
    return Column(column_of(alias, name), kind, Expression(text, ()), of_query=True, of_table=True)


def column_of(alias: str, name: str) -> str:
    """What a column of a table is called in the stream that is joined with it."""
    return f"{alias}.{name}"


def _counts(scheme: Scheme) -> bool:
    """Whether a promise is lost where rows are repeated."""
    match scheme:
        case PrimaryKey() | Clustered():
            return True
        case Ordered(within=within):
            return not isinstance(within, Span | Frontier)
        case _:
            return False


def with_table_joins(sources: tuple[Source, ...], block: Block) -> tuple[tuple[Source, ...], Block]:
    """The sources of a block without the promises about others that joins with tables take away."""
    every = (*sources, *(existence.source for existence in block.existences))
    lossy = {s.stream.name for s in every if not all(is_total(join) for join in s.stream.tables)}
    repeated = {s.stream.name for s in every if not all(join.at_most_one for join in s.stream.tables)}
    if not lossy:
        return sources, block

    def kept(source: Source) -> Source:
        schemes = tuple(s for s in source.stream.schemes if not _relies(s, lossy, repeated))
        if len(schemes) == len(source.stream.schemes):
            return source
        origin = source.stream.origin or source.stream
        return replace(source, stream=replace(source.stream, schemes=schemes, origin=origin))

    existences = tuple(replace(e, source=kept(e.source)) for e in block.existences)
    return tuple(map(kept, sources)), replace(block, existences=existences)


def _relies(scheme: Scheme, lossy: set[str], repeated: set[str]) -> bool:
    """Whether a promise needs rows of another stream that are gone, or counts rows that are repeated."""
    match scheme:
        case ForeignKey(parent=parent):
            return parent in lossy
        case Follows(parent=parent):
            return parent in repeated and not isinstance(scheme.slack, Span)
        case _:
            return False


def is_total(join: TableJoin | Exploded) -> bool:
    """Whether each row comes out just once."""
    return join.at_most_one and join.kind == TableJoinKind.LEFT


def obstacle(source: Source) -> str | None:
    """Why a stream cannot be joined with a table that is not sure to keep its rows as they are, if it cannot."""
    if isinstance(source.window, RowsWindow):
        return f"{source.window} counts the rows of {source.stream.name}"
    if any(isinstance(scheme, Punctuated) for scheme in source.stream.schemes):
        return f"{source.stream.name} has punctuations, which are rows too"
    malformed = source.stream.on_malformed
    if malformed is not None and malformed.policy is MalformedPolicy.QUARANTINE:
        return f"malformed rows of {source.stream.name} go into quarantine, whatever they join with"
    return None
