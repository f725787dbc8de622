"""CREATE TABLE, bound; and a table in FROM: which stream it is joined with, and what can be named of it.

A table is joined with one stream: its ON names columns of that stream and of the table alone. Then Spark can join the
two before the stream meets any other, which is the same, since

- an inner, semi or anti join with a stream that is in every row of the part of FROM commutes with the joins below it;
- a left join does too, also with a stream that may be absent, if its ON rejects NULL: where the stream is absent, so is
  the table.

A table on the side that is kept (RIGHT, FULL) would have to wait for the end of the stream: it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import DeclarationMistake, Refused
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold
from penstock.model.predicates import Comparison, Op, Predicate, conjunction, rejects_null
from penstock.model.relation import Leaf, certain
from penstock.model.schemes import PrimaryKey
from penstock.model.stream import Stream
from penstock.model.table import DeclaredTable, TableJoinKind, column_of, is_total, joined_with, obstacle
from penstock.sql.conditions import bind_condition
from penstock.sql.environment import Environment
from penstock.sql.from_parts import Part
from penstock.sql.scope import NamedColumns, Visible
from penstock.sql.shared_columns import equalities, merged_column
from penstock.sql.source import SourceText
from penstock.sql.streams import StreamBinder, bound_storage
from penstock.sql.tree import CreateStream, FromItem, FromJoin, WrittenJoin

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

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


def table_item(written: FromJoin, environment: Environment) -> FromItem | None:
    """The side of a join that is a table."""
    for side in (written.right, written.left):
        if isinstance(side, FromItem) and environment.table(side.stream.text) is not None:
            return side
    return None


class TableBinder:
    """Binds one join with a table."""

    def __init__(
        self,
        binder: FromBinder,
        written: FromJoin,
        item: FromItem,
        environment: Environment,
        kind: WrittenJoin | None = None,
    ) -> None:
        self.binder = binder
        self.written = written
        self.item = item
        table = environment.table(item.stream.text)
        assert table is not None
        self.table = table
        self.alias = item.alias.text if item.alias is not None else table.name
        kinds = _TABLE_FIRST if item is written.left and kind is None else _TABLE_LAST
        self.kind = kinds.get(written.kind)

    @property
    def columns(self) -> NamedColumns:
        """What can be named of the table in its own condition."""
        own = [Visible(name, ColumnRef(self.alias, name), kind) for name, kind in self.table.columns]
        return NamedColumns(self.alias, own)

    def joined(self, part: Part) -> Part:
        """A part of FROM of which Spark joins one stream with the table; as it is, and a mistake, if it cannot."""

        written, alias = self.written, self.alias
        if self.kind is None or self.item.window is not None or written.natural:
            told = f"{written.kind} JOIN, NATURAL and windows are not for a table"
            return self._refused(part, told, "write stream JOIN table ON …, or stream LEFT JOIN table ON …")
        if any(fold(known) == fold(alias) for known in part.tables):
            return self._refused(part, f"{alias} stands twice in the query", "give each its own alias: t AS a")
        right = replace(part, tree=Leaf(alias), tables={alias: self.columns}, merged=())
        conjuncts = bind_condition(written.on, self.binder.scope_of(part, right))
        on = [predicate for predicate, _ in conjuncts.predicates]
        merged = {fold(column.name): column for column in part.merged}
        for name, mine, theirs in self.binder.shared(part, right, written):
            on += equalities(mine, theirs)
            merged[fold(name)] = merged_column(name, mine, theirs, written.kind)
        source = self.attach(part, tuple(on))
        if source is None or self.kind in (TableJoinKind.SEMI, TableJoinKind.ANTI):
            return part
        shown = [Visible(n, ColumnRef(source, column_of(alias, n)), kind) for n, kind in self.table.columns]
        tables = {**part.tables, alias: NamedColumns(alias, shown)}
        return replace(part, tables=tables, merged=tuple(merged.values()))

    def _refused(self, part: Part, message: str, hint: str) -> Part:
        self.binder.report(message, self.item.at, hint, Refused)
        self.binder.missing.add(fold(self.alias))
        return part

    def attach(self, part: Part, on: tuple[Predicate, ...]) -> str | None:
        """The one stream that the table is joined with, from now on with its columns; None, and a mistake, if none."""
        kind = self.kind
        assert kind is not None
        named = sorted({ref.alias for p in on for ref in p.columns} - {self.alias})
        if len(named) != 1:
            told = f"a table is joined with one stream, and this condition names {', '.join(named) or 'none'}"
            hint = f"write JOIN {self.table.name} ON and compare columns of one stream; other conditions stand in WHERE"
            self._refused(part, told, hint)
            return None
        (alias,) = named
        source = self.binder.sources.by_alias[alias]
        equal = [
            r.column for p in on if isinstance(p, Comparison) and p.op is Op.EQ for r in p.columns if r.alias != alias
        ]
        asked = {"alias": self.alias, "own": alias, "on": conjunction(on)}
        stream = joined_with(source.stream, self.table, kind, **asked, equal=equal)
        why = None if is_total(stream.tables[-1]) else obstacle(source)
        rejects = any(rejects_null(p) and any(ref.alias == alias for ref in p.columns) for p in on)
        if source.below is not None:
            why = f"{alias} is a query within the query"
        elif not (rejects if kind is TableJoinKind.LEFT else alias in certain(part.tree)):
            why = f"{alias} may be absent"
        if why is not None:
            hint = f"join {self.table.name} where its stream stands, or LEFT JOIN it by its PRIMARY KEY"
            self._refused(part, f"{self.table.name} cannot be joined here: {why}", hint)
            return None
        self.binder.sources.by_alias[alias] = replace(source, stream=stream)
        return alias
