"""UNION, INTERSECT, EXCEPT and VALUES, bound: several queries as one.

UNION ALL is one stream whose rows several blocks give, UNION is DISTINCT over it; INTERSECT and EXCEPT are DISTINCT
over EXISTS and NOT EXISTS with all columns equal (`unions` says why).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.model.clauses import Output, Source, Union
from penstock.model.expressions import ColumnRef
from penstock.model.never_null import all_equal
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, Leaf
from penstock.model.stream import Stream
from penstock.sql.block_streams import declared_stream, window_ends, with_names, with_window_ends
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_parts import appending
from penstock.sql.table_queries import stream_of_values
from penstock.sql.time_windows import is_distinct_by_window
from penstock.sql.tree import Name, QueryBody, QueryText, Select, SetOperation, Stretch, Values
from penstock.sql.unions import common_event_time, names_of, united, widened, with_types_of_nulls

if TYPE_CHECKING:
    from penstock.sql.selects import QueryBinder


class SetBinder:
    """Binds set operations by binding their queries."""

    def __init__(self, queries: QueryBinder) -> None:
        self.queries = queries
        self.source = queries.source

    def bind(self, written: SetOperation, environment: Environment, name: str, sink: str | None) -> Query | None:
        """The query; None, and mistakes, if it cannot be."""
        how = self._over_union if written.kind == "UNION" else self._shared_rows
        return how(written, environment, name, sink)

    def _name(self, written: SetOperation) -> str:
        """What the rows of its queries go by, which have no name of their own."""
        return self.queries.free_name(f"{written.kind.lower()}_rows")

    def values(self, written: Values, environment: Environment, name: str, sink: str | None) -> Query | None:
        """All columns of VALUES, where tables stand in the place of streams."""
        if not environment.tables_are_streams:
            hint = "join it with a stream: stream JOIN (VALUES (1, 'a')) AS t (k, v) ON …"
            self.source.report(Refused, "VALUES is a table, and a query reads streams", written.at, hint=hint)
            return None
        stream = stream_of_values(written, self.queries.free_name("values"), self.source)
        if stream is None:
            return None
        outputs = tuple(Output(column.name, ColumnRef(stream.name, column.name)) for column in stream.columns)
        return Query.select(name, (Source(stream, stream.name),), Block(Leaf(stream.name), outputs), sink=sink)

    def _over_union(self, written: SetOperation, environment: Environment, name: str, sink: str | None) -> Query | None:
        """All columns of a union."""
        bodies, is_distinct = united(written)
        bodies = tuple(map(_once, bodies)) if is_distinct else bodies
        made = self.union(
            bodies,
            environment,
            self._name(written),
            written.at,
            with_ends=is_distinct,
        )
        if made is None:
            return None
        union, stream = made
        source = appending(Source(stream, stream.name, below=union))
        if is_distinct:
            block = _each_once(source, window_ends(union))
        else:
            outputs = tuple(Output(column.name, ColumnRef(stream.name, column.name)) for column in stream.columns)
            block = Block(Leaf(stream.name), outputs)
        return Query.select(name, (source,), block, sink=sink)

    def _shared_rows(
        self, written: SetOperation, environment: Environment, name: str, sink: str | None
    ) -> Query | None:
        """INTERSECT and EXCEPT: each row of the first query once that the second has, or has not."""
        if written.keeps_all:
            message = f"{written.kind} ALL is not in Penstock's language"
            hint = f"{written.kind} gives each row once; rows that are to be told apart need a column that does"
            self.source.report(Refused, message, written.at, hint=hint)
            return None
        members = self._members(
            (_once(written.left), _once(written.right)),
            environment,
            self._name(written),
            written.at,
            with_ends=True,
        )
        if members is None:
            return None
        one, other = (appending(Source(stream, stream.name, below=query)) for query, stream in members)
        # Two windows are equal if their ends are, which are columns here where both queries give them.
        windows = window_ends(Union(tuple(Source(own, own.name, below=query) for query, own in members)))
        names = [
            both
            for both in zip((c.name for c in one.stream.columns), (c.name for c in other.stream.columns), strict=True)
            if both[0] not in windows
        ]
        existence = Existence(other, written.kind == "EXCEPT", all_equal(one, other, names))
        block = replace(_each_once(one, windows), existences=(existence,))
        return self.queries.built(name, (one,), block, written.at, sink)

    def union(
        self,
        bodies: tuple[QueryBody, ...],
        environment: Environment,
        name: str,
        at: Stretch,
        *,
        named: NamedQuery | None = None,
        with_ends: bool = False,
    ) -> tuple[Union, Stream] | None:
        """Queries as one stream of a name; with names for its columns, and what is declared of it, if it is named."""
        names = () if named is None else named.columns
        members = self._members(bodies, environment, name, at, names=names, with_ends=named is not None or with_ends)
        if members is None:
            return None
        stream = declared_stream(
            name,
            members[0][1].columns,
            common_event_time(members),
            elements=() if named is None else named.elements,
            at=at,
            source=self.source,
            known=self.queries.declared,
        )
        if stream is None:
            return None
        union = Union(tuple(Source(own, own.name, below=query) for query, own in members))
        is_view = named is not None and named.is_view
        return union, stream if is_view else replace(stream, is_nameless=True)

    def _members(
        self,
        bodies: tuple[QueryBody, ...],
        environment: Environment,
        name: str,
        at: Stretch,
        *,
        names: tuple[Name, ...] = (),
        with_ends: bool = False,
    ) -> list[tuple[Query, Stream]] | None:
        """Queries with the same columns, of the same names and types, each with the stream that it is.

        `with_ends`: and with the ends of the windows that all of them give in one place.
        """
        found: list[Query] = []
        for number, body in enumerate(bodies, start=1):
            named = NamedQuery(Name(f"{name}_{number}", at), QueryText((), body, at), environment)
            query = self.queries.bound(named)
            if query is not None and (names or found):
                first = names or names_of(found[0], at)
                query = query if len(first) != len(query.answer) else with_names(query, first, self.source)
            if query is None:
                return None
            found.append(query)
        members: list[tuple[Query, Stream]] = []
        if with_ends and len({frozenset(window_ends(query)) for query in found}) == 1:
            found = [with_window_ends(query) for query in found]
        for query in with_types_of_nulls(found):
            stream = self.queries.stream_of(query, at)
            if stream is None:
                return None
            members.append((query, stream))
        return widened(members, at, self.source)

    def all_rows(self, named: NamedQuery) -> tuple[Environment, tuple[QueryBody, ...], Stretch] | None:
        """The queries of a UNION ALL, and what names mean in them; None if it is none."""
        environment: Environment = named.environment
        body: QueryBody = named.query
        while isinstance(body, QueryText):
            environment, body = environment.within(body.common), body.body
        if not isinstance(body, SetOperation) or body.kind != "UNION" or not body.keeps_all:
            return None
        return environment, united(body)[0], body.at


def _each_once(source: Source, windows: Mapping[str, tuple[str, str]]) -> Block:
    """Each row once: DISTINCT, or where there are windows the groups of all columns, which their starts close."""
    ends = {end for both in windows.values() for end in both}
    columns = tuple(ColumnRef(source.alias, column.name) for column in source.stream.columns)
    outputs = tuple(Output(ref.column, ref) for ref in columns if ref.column not in ends)
    if not windows:
        return Block(Leaf(source.alias), outputs, distinct=True)
    starts = {start for start, _ in windows.values()}
    keys = tuple(ref for ref in columns if ref.column not in ends or ref.column in starts)
    return Block(Leaf(source.alias), outputs, group_by=keys)


def _once(body: QueryBody) -> QueryBody:
    """A query of which each row is wanted once: with a window of time among its columns it may as well be DISTINCT.

    Its rows are then groups, which windows close.
    """
    match body:
        case QueryText():
            return replace(body, body=_once(body.body))
        case Select() if is_distinct_by_window(replace(body, distinct=True)):
            return replace(body, distinct=True)
        case _:
            return body
