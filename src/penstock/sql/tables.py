"""CREATE TABLE, bound; and a table in FROM: which stream it is joined with, and what can be named of it.

A table is joined with one stream if its ON names columns of that stream and of the table alone. Then Spark can join
the two before the stream meets any other, which is the same, since

- an inner, semi or anti join with a stream that is in every row of the part of FROM commutes with the joins below it;
- a left join does too, also with a stream that may be absent, if its ON rejects NULL: where the stream is absent, so is
  the table.

Any other join with a table comes after those of the streams (`late_tables`). The stream may be the answer of a query. A
table on the side that is kept (RIGHT, FULL) would have to wait for the end of the stream: it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import DeclarationMistake, Refused
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold
from penstock.model.predicates import Comparison, Op, Predicate, conjunction, rejects_null
from penstock.model.relation import Leaf, certain, leaves
from penstock.model.schemes import PrimaryKey
from penstock.model.stream import Stream
from penstock.model.table import DeclaredTable, TableJoinKind, column_of, is_total, joined_with, obstacle
from penstock.sql.conditions import bind_condition
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_parts import Part, Position, alias_of
from penstock.sql.scope import NamedColumns, Visible
from penstock.sql.shared_columns import equalities, merged_column
from penstock.sql.source import SourceText
from penstock.sql.streams import StreamBinder, bound_storage
from penstock.sql.table_queries import table_of
from penstock.sql.tree import CreateStream, FromElements, FromItem, FromJoin, FromPart, FromQuery, Name, WrittenJoin

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder
    from penstock.sql.selects import QueryBinder

_TABLE_LAST = {
    WrittenJoin.INNER: TableJoinKind.INNER,
    WrittenJoin.LEFT: TableJoinKind.LEFT,
    WrittenJoin.SEMI: TableJoinKind.SEMI,
    WrittenJoin.ANTI: TableJoinKind.ANTI,
}
_TABLE_FIRST = {WrittenJoin.INNER: TableJoinKind.INNER, WrittenJoin.RIGHT: TableJoinKind.LEFT}
"""How a stream is joined with a table that stands before it."""


def bound_tables(
    source: SourceText, written: list[CreateStream], taken: Mapping[str, Mapping[str, object]]
) -> dict[str, DeclaredTable | None]:
    """By folded name; None for one that is declared, but wrong."""
    found: dict[str, DeclaredTable | None] = {}
    for statement in written:
        name = statement.name
        kinds = {"table": found, **taken}
        twin = next((kind for kind, known in kinds.items() if fold(name.text) in known), None)
        if twin is not None:
            same = "declared twice" if twin == "table" else f"the name of a {twin} too"
            source.report(DeclarationMistake, f"table {name.text} is {same}", name.at, hint="give it another name")
            continue
        bound = StreamBinder(source, statement, {}, {}).bind()
        found[fold(name.text)] = None if bound is None else _table(source, statement, bound.stream)
    return found


def _table(source: SourceText, written: CreateStream, stream: Stream) -> DeclaredTable | None:
    columns = [(column.name, column.type) for column in stream.columns]
    extra = [s for s in stream.schemes if not isinstance(s, PrimaryKey)]
    wrong = "a constraint of streams" if extra else None
    wrong = wrong or ("an EVENT TIME or an order" if stream.event_time or stream.arrival else None)
    wrong = wrong or ("PARTS BY" if stream.has_parts else None)
    wrong = wrong or ("a derived or VIRTUAL column" if any(c.derived or c.is_virtual for c in stream.columns) else None)
    wrong = wrong or ("WHERE or ON MALFORMED" if stream.where or stream.on_malformed else None)
    if wrong is not None:
        hint = "a table has plain columns and PRIMARY KEY; what streams have is declared of them"
        source.report(Refused, f"{wrong} is not in the declaration of a table", written.name.at, hint=hint)
        return None
    if written.storage is None:
        hint = "CREATE TABLE t (…) USING parquet OPTIONS (path 'data/t')"
        source.report(DeclarationMistake, f"table {written.name.text} is read from nowhere", written.name.at, hint=hint)
        return None
    known = tuple((name, kind) for name, kind in columns if kind is not None)
    keys = tuple(s.columns for s in stream.schemes if isinstance(s, PrimaryKey))
    return DeclaredTable(written.name.text, known, keys, bound_storage(written.storage))


def table_side(
    written: FromJoin, environment: Environment, queries: QueryBinder
) -> tuple[FromItem | FromQuery, DeclaredTable] | None:
    """The side of a join that is a table, or a query that reads tables alone."""
    for side in (written.right, written.left):
        table = table_named(side, environment, queries)
        if table is not None and not isinstance(side, FromJoin | FromElements):
            return side, table
    return None


def table_named(part: FromPart, environment: Environment, queries: QueryBinder) -> DeclaredTable | None:
    """The table that a part of FROM is; None if it is none."""
    match part:
        case FromItem(stream=name):
            found = environment.look(name.text)
            return table_of(found, queries) if isinstance(found, NamedQuery) else environment.table(name.text)
        case FromQuery(query=query, columns=columns):
            named = NamedQuery(part.alias or Name(alias_of(part), part.at), query, environment, columns)
            return table_of(queries.anonymous(part, named), queries)
        case _:
            return None


class TableBinder:
    """Binds one join with a table."""

    def __init__(
        self,
        binder: FromBinder,
        written: FromJoin,
        item: FromItem | FromQuery,
        table: DeclaredTable,
        kind: WrittenJoin | None = None,
    ) -> None:
        self.binder = binder
        self.written = written
        self.item = item
        self.table = table
        self.alias = item.alias.text if item.alias is not None else table.name
        kinds = _TABLE_FIRST if item is written.left and kind is None else _TABLE_LAST
        self.kind = kinds.get(written.kind)
        self.beside: str | None = None
        """The stream that it is joined with, where its condition names none."""

    @property
    def columns(self) -> NamedColumns:
        """What can be named of the table in its own condition."""
        own = [Visible(name, ColumnRef(self.alias, name), kind) for name, kind in self.table.columns]
        return NamedColumns(self.alias, own)

    @property
    def as_part(self) -> Part:
        """The table as the other side of its join."""
        return Part(Leaf(self.alias), {self.alias: self.columns})

    def joined(self, part: Part, position: Position) -> Part:
        """A part of FROM of which Spark joins one stream with the table; later if only then it is known with which."""
        if self.kind is None or self.item.window is not None:
            told = f"{self.written.kind} JOIN would keep rows of a table that no stream meets"
            told = told if self.item.window is None else "a table has no window"
            return self._refused(part, told, "write stream JOIN table ON …, or stream LEFT JOIN table ON …")
        if any(fold(known) == fold(self.alias) for known in part.tables):
            return self._refused(part, f"{self.alias} stands twice in the query", "give each its own alias: t AS a")
        before = len(self.binder.source.mistakes)
        on = self.bound_on(part)
        if len(self.binder.source.mistakes) > before:
            if not self.binder.late_tables:
                self.binder.missing.add(fold(self.alias))
                return part
            # It may be about a table that is joined later.
            self.binder.source.forget(before)
            self.binder.late_tables.append(self)
            return part
        if (on or self.has_on) and self.obstacle(part, on) is None:
            return self.joined_now(part, on)
        if position.lifts:
            self.binder.late_tables.append(self)
            return part
        self.binder.stop_inlining()
        return self.joined_now(part, on)

    @property
    def has_on(self) -> bool:
        """Whether it is said where it stands by what it is joined."""
        return self.written.on is not None or bool(self.written.using) or self.written.natural

    def bound_on(self, part: Part) -> tuple[Predicate, ...]:
        """Its ON, and what USING and NATURAL say."""
        scope = self.binder.joins.scope_of(part, self.as_part, self.written.kind)
        on = [predicate for predicate, _ in bind_condition(self.written.on, scope).predicates]
        return (*on, *(p for _, *both in self._shared(part) for p in equalities(*both)))

    def _shared(self, part: Part) -> list[tuple[str, Visible, Visible]]:
        return self.binder.joins.shared(part, self.as_part, self.written)

    def joined_now(self, part: Part, on: tuple[Predicate, ...]) -> Part:
        """The part with the columns of the table; as it is, and a mistake, if they cannot be joined."""
        source = self.attach(part, on)
        if source is None or self.kind in (TableJoinKind.SEMI, TableJoinKind.ANTI):
            return part
        merged = {fold(column.name): column for column in part.merged}
        for name, mine, theirs in self._shared(part):
            merged[fold(name)] = merged_column(name, mine, theirs, self.written.kind)
        shown = [Visible(n, ColumnRef(source, column_of(self.alias, n)), kind) for n, kind in self.table.columns]
        own = {self.alias: NamedColumns(self.alias, shown)}
        # In the order of FROM, which is that of `*`.
        tables = {**own, **part.tables} if self.item is self.written.left else {**part.tables, **own}
        return replace(part, tables=tables, merged=tuple(merged.values()))

    def _refused(self, part: Part, message: str, hint: str) -> Part:
        self.binder.report(message, self.item.at, hint, Refused)
        self.binder.missing.add(fold(self.alias))
        return part

    def _streams(self, part: Part, on: tuple[Predicate, ...]) -> list[str]:
        """The streams that the condition names; where it names none, every row meets the table: one of them will do."""
        named = sorted({ref.alias for p in on for ref in p.columns} - {self.alias})
        return named or [self.beside or leaves(part.tree)[0]]

    def obstacle(self, part: Part, on: tuple[Predicate, ...]) -> str | None:
        """Why the table cannot be joined with one stream of the part under this condition, if it cannot."""
        named = self._streams(part, on)
        if len(named) != 1:
            return f"its condition names {' and '.join(named) or 'no stream'}"
        (alias,) = named
        source = self.binder.sources.by_alias[alias]
        rejects = any(rejects_null(p) and any(ref.alias == alias for ref in p.columns) for p in on)
        if alias not in certain(part.tree) and not (rejects and self.kind is TableJoinKind.LEFT):
            return f"{alias} may be absent"
        return None if is_total(self._met(source, alias, on).tables[-1]) else obstacle(source)

    def _equal(self, on: tuple[Predicate, ...]) -> list[str]:
        """The columns of the table that are compared by `=`."""
        sides = [p.columns for p in on if isinstance(p, Comparison) and p.op is Op.EQ]
        return [ref.column for columns in sides for ref in columns if ref.alias == self.alias]

    def _met(self, source: Source, alias: str, on: tuple[Predicate, ...], text: str | None = None) -> Stream:
        kind = self.kind
        assert kind is not None
        return joined_with(
            source.stream,
            self.table,
            kind,
            alias=self.alias,
            own=alias,
            on=text or (conjunction(on) if on else "TRUE"),
            equal=self._equal(on) if text is None else (),
            asks_more=any(not isinstance(p, Comparison) or p.op is not Op.EQ for p in on),
        )

    def attach(self, part: Part, on: tuple[Predicate, ...], text: str | None = None) -> str | None:
        """The one stream that the table is joined with, from now on with its columns; None, and a mistake, if none.

        `text` is the condition, if it is another than all of `on`.
        """
        why = self.obstacle(part, on)
        if why is not None:
            hint = (
                f"join {self.table.name} with one stream, where that stands, or with a query: "
                f"(SELECT … FROM …) AS x JOIN {self.table.name} ON …"
            )
            self._refused(part, f"{self.table.name} cannot be joined here: {why}", hint)
            return None
        (alias,) = self._streams(part, on)
        self.binder.asked |= {ref for predicate in on for ref in predicate.columns}
        source = self.binder.sources.by_alias[alias]
        self.binder.sources.by_alias[alias] = replace(source, stream=self._met(source, alias, on, text))
        return alias
