"""Queries that read tables alone: they are tables themselves, which Spark makes.

`(SELECT id FROM t WHERE active) AS u`, a view or a query of WITH over tables, and a subquery that is to give one value
are read by Spark as they are written, as often as the tables are. What must be known of them without Spark are their
columns: for that they are bound as any other query is, with the tables in the place of streams.

What such a query gives once is known where it is grouped: its groups are a key, and a query of aggregates without
GROUP BY has one row, of which no column is a key. Not decided: any other key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import QueryMistake, Refused
from penstock.model.clauses import Formula
from penstock.model.expressions import Literal
from penstock.model.names import fold, quoted
from penstock.model.query import Query
from penstock.model.stream import Column, Storage, Stream, TableQuery, TableRead
from penstock.model.table import DeclaredTable
from penstock.model.term_types import common_type, output_type, type_of
from penstock.sql.block_streams import with_names
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.expressions import bind_node
from penstock.sql.from_parts import alias_of, items_of
from penstock.sql.scope import Scope
from penstock.sql.source import SourceText
from penstock.sql.tree import (
    Code,
    FromElements,
    FromItem,
    FromQuery,
    QueryBody,
    QueryText,
    Select,
    SetOperation,
    Values,
)

if TYPE_CHECKING:
    from penstock.sql.selects import QueryBinder


def reads_only_tables(body: QueryBody, environment: Environment) -> bool:
    """Whether a query names tables in FROM, and queries that do, and nothing else."""
    match body:
        case QueryText(common=common, body=inner):
            return reads_only_tables(inner, environment.within(common))
        case SetOperation(left=left, right=right):
            return reads_only_tables(left, environment) and reads_only_tables(right, environment)
        case Select(source=source):
            return all(_is_table(item, environment) for item in items_of(source))
        case Values():
            return not environment.tables_are_streams


def _is_table(item: FromItem | FromQuery, environment: Environment) -> bool:
    if isinstance(item, FromQuery):
        return reads_only_tables(item.query, environment)
    found = environment.look(item.stream.text)
    if isinstance(found, NamedQuery):
        return reads_only_tables(found.query, found.environment)
    return environment.table(item.stream.text) is not None


def names_of_others(body: QueryBody, around: Iterable[str]) -> list[str]:
    """The aliases of the query around it that a query over tables names, and that are none of its own."""
    match body:
        case QueryText(body=inner):
            return names_of_others(inner, around)
        case Select(source=source, where=where) if where is not None:
            own = {fold(alias_of(item)) for item in items_of(source)}
            named = {fold(column.table) for column in where.node.find_all(exp.Column) if column.table}
            return [alias for alias in around if fold(alias) in named - own]
        case _:
            return []


def table_of(named: NamedQuery, queries: QueryBinder) -> DeclaredTable | None:
    """The table that a query is; None if it reads streams, or is wrong."""
    if named.table is None and not named.is_wrong and reads_only_tables(named.query, named.environment):
        before = len(queries.source.mistakes)
        named.table = _made(named, queries)
        named.is_wrong = named.table is None
        if named.is_wrong:
            named.say(queries.source, before)
    return named.table


def _made(named: NamedQuery, queries: QueryBinder) -> DeclaredTable | None:
    source, at = queries.source, named.name.at
    if named.elements:
        hint = "a query that reads tables alone is a table; declare its PRIMARY KEY in CREATE TABLE"
        source.report(Refused, f"declarations of {named.name.text} are not in Penstock's language", at, hint=hint)
        return None
    query = queries.bind(named.query, _with_tables_as_streams(named.environment), queries.free_name("table"), None)
    query = None if query is None else with_names(query, named.columns, source)
    if query is None:
        return None
    columns = []
    for output in query.answer:
        kind = output_type(output, query.type_of)
        if kind is None:
            value = output if isinstance(output, Formula) else output.value
            told = f"the type of column {output.name} is not known without Spark"
            source.report(QueryMistake, told, at, hint=f"name it: CAST({value} AS type) AS {output.name}")
            return None
        columns.append((output.name, kind))
    text = _Text(queries)
    whole = text.of(named.query, named.environment)
    made = TableQuery(whole, tuple(text.read()))
    return DeclaredTable(named.name.text, tuple(columns), tuple(keys_of(query)), made)


def keys_of(query: Query) -> Iterator[tuple[str, ...]]:
    """What a query gives once: its groups; of aggregates without GROUP BY the one row, by no column."""
    if query.is_grouped and query.top is None and not query.grouping_sets:
        shown = {str(output.value): output.name for output in query.outputs}
        given = {output.name for output in query.answer}
        names = [shown.get(str(key)) for key in query.group_by]
        if all(name in given for name in names):
            yield tuple(name for name in names if name is not None)


def _with_tables_as_streams(environment: Environment) -> Environment:
    streams = {
        name: None if table is None else Stream(table.name, tuple(Column(n, kind) for n, kind in table.columns))
        for name, table in environment.tables.items()
    }
    queries = {
        name: named
        if named is None or not reads_only_tables(named.query, named.environment)
        else replace(named, environment=_with_tables_as_streams(named.environment))
        for name, named in environment.queries.items()
    }
    return Environment(streams, queries, tables_are_streams=True)


def stream_of_values(written: Values, name: str, source: SourceText) -> Stream | None:
    """What VALUES are where tables stand in the place of streams; None, and mistakes, if they cannot be read."""
    scope = Scope(source, {})
    columns: list[Column] = []
    for number, place in enumerate(zip(*written.rows, strict=True), start=1):
        values = [bind_node(code.node, code.tokens, scope) for code in place]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        kinds = [type_of(value.term, scope.type_of) for value in known if value.term != Literal(None)]
        kind = None if None in kinds else common_type([kind for kind in kinds if kind is not None])
        if kind is None:
            told = f"the type of column {number} of VALUES is not known without Spark"
            source.report(QueryMistake, told, place[0].at, hint="name it in the first row: CAST(… AS type)")
            return None
        columns.append(Column(f"col{number}", kind))
    return Stream(name, tuple(columns))


@dataclass
class _Text:
    """A query as Spark reads it: as it is written, with a place for each table."""

    queries: QueryBinder
    tables: dict[str, DeclaredTable] = field(default_factory=dict)

    def of(self, query: QueryText, environment: Environment) -> str:
        """With `{t0}` in the place of a table."""
        text, begin, found = "", query.at.start, sorted(self._replaced(query, environment, frozenset()))
        for start, end, instead in found:
            text += _escaped(self.queries.source.text[begin:start]) + instead
            begin = end
        return text + _escaped(self.queries.source.text[begin : query.at.end])

    def read(self) -> Iterator[TableRead]:
        """The tables that it reads."""
        for key, table in self.tables.items():
            assert isinstance(table.storage, Storage)
            yield TableRead(key, table.name, table.columns_read, table.storage)

    def _replaced(
        self, body: QueryBody, environment: Environment, own: frozenset[str]
    ) -> Iterator[tuple[int, int, str]]:
        """What stands instead of names in FROM; `own` are those of WITH inside the text."""
        match body:
            case QueryText(common=common, body=inner):
                for number, one in enumerate(common):
                    before = environment.within(common[:number])
                    yield from self._replaced(one.query, before, own)
                    own = own | {fold(one.name.text)}
                yield from self._replaced(inner, environment.within(common), own)
            case SetOperation(left=left, right=right):
                yield from self._replaced(left, environment, own)
                yield from self._replaced(right, environment, own)
            case Select() as select:
                for item in items_of(select.source):
                    if isinstance(item, FromQuery):
                        yield from self._replaced(item.query, environment, own)
                    elif fold(item.stream.text) not in own:
                        yield (item.stream.at.start, item.stream.at.end, self._name(item, environment))
                for code in _codes(select):
                    for node in code.node.find_all(exp.Select):
                        if isinstance(node.meta.get("query"), QueryText):
                            yield from self._replaced(node.meta["query"], environment, own)

    def _name(self, item: FromItem, environment: Environment) -> str:
        found = environment.look(item.stream.text)
        if isinstance(found, NamedQuery):
            names = ", ".join(quoted(name.text) for name in found.columns)
            text, names = f"({self.of(found.query, found.environment)})", f" ({names})" if names else ""
        else:
            table = environment.table(item.stream.text)
            assert table is not None
            key = next((key for key, known in self.tables.items() if known is table), f"t{len(self.tables)}")
            self.tables[key] = table
            text, names = f"{{{key}}}", ""
        return text if item.alias is not None else f"{text} AS {quoted(item.stream.text)}{names}"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _codes(select: Select) -> Iterator[Code]:
    yield from (item.code for item in select.items if item.code is not None)
    yield from select.group_by
    if select.where is not None:
        yield select.where
    source = select.source
    while isinstance(source, FromElements):
        yield source.argument
        source = source.rows
