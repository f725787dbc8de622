"""FROM, bound: streams, queries in parentheses or by name, and how they are joined.

A query in FROM is **inlined** where that changes nothing: its streams, conditions and columns become those of the query
around it, so that all that is promised of its streams still counts. Else it is a block of its own, whose answer is a
stream. Theorem: inlining gives the same bag if

- the query is one SELECT without DISTINCT, groups, aggregates, hints, and nothing is declared of it;
- its columns are columns, or deterministic expressions, which may be worked out wherever they are used;
- on the side of an outer join that may be absent, such an expression is NULL where its columns are (it is strict and
  has a column): an absent row has no literal in it;
- its WHERE can be moved: to the WHERE above, where every join on the way keeps its rows apart from each other (INNER,
  and the preserved side of LEFT and RIGHT); else to the filter of its one stream, or to the ON of its inner join;
- windows mean the same: [RANGE] and [ROWS] are about the rows of one block. A stream with a window inside is inlined
  only where FROM holds nothing else and WHERE has no EXISTS or IN; [RANGE] on the query itself, or anywhere in the FROM
  around it, asks for its one event time, so it is inlined if it is one stream that keeps its own; [ROWS]: a block.

SEMI and ANTI JOIN are EXISTS and NOT EXISTS above the joins; like a WHERE, they can be moved there, or the part of FROM
is to be written as a query.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Mistake, QueryMistake, Refused
from penstock.model.clauses import Output, RangeWindow, RowsWindow, Union
from penstock.model.expressions import ColumnRef, Expression, is_strict
from penstock.model.names import fold, quoted
from penstock.model.predicates import Predicate
from penstock.model.query_rules import predicate_problem, window_problems
from penstock.model.relation import Existence, Join, JoinKind, Leaf, certain, leaves
from penstock.model.table import column_of
from penstock.model.term_types import type_of
from penstock.sql.block_streams import window_ends
from penstock.sql.conditions import Conjuncts, bind_condition
from penstock.sql.elements import with_elements
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_parts import Part, Position, Sources, alias_of, items_of
from penstock.sql.outputs import OutputBinder
from penstock.sql.scope import NamedColumns, Scalars, Scope, Visible
from penstock.sql.shared_columns import all_columns, equalities, merged_column
from penstock.sql.source import SourceText
from penstock.sql.table_queries import names_of_others, reads_only_tables, table_of
from penstock.sql.tables import TableBinder, table_side
from penstock.sql.tree import (
    Code,
    FromElements,
    FromItem,
    FromJoin,
    FromPart,
    FromQuery,
    Name,
    QueryText,
    Select,
    Stretch,
    WrittenJoin,
)

if TYPE_CHECKING:
    from penstock.sql.selects import QueryBinder

_KINDS = {
    WrittenJoin.INNER: JoinKind.INNER,
    WrittenJoin.LEFT: JoinKind.LEFT,
    WrittenJoin.RIGHT: JoinKind.RIGHT,
    WrittenJoin.FULL: JoinKind.FULL,
}


_Wanted = tuple[str, str | None]
"""The alias that a source is to have in the model, and the alias of the query that it is inlined from, if any."""


class _CannotInline(Exception):
    """The query must be a block."""


class AskedOfJoins(Exception):
    """What WHERE asks of a table is about the answer of the joins, so these must be a block (`late_tables`)."""


class FromBinder:
    """Binds the FROM of one SELECT."""

    def __init__(
        self,
        source: SourceText,
        sources: Sources,
        queries: QueryBinder,
        *,
        inside: str | None = None,
        tables_last: bool = False,
    ) -> None:
        self.source = source
        self.sources = sources
        self.queries = queries
        self.inside = inside
        """Not None where the aliases of this FROM give way to those of a query around it."""
        self.tables_last = tables_last
        """Whether what WHERE asks of tables is asked of the answer of the joins."""
        self.known: tuple[Predicate, ...] = ()
        """The conditions of its WHERE that are understood."""
        self.missing: set[str] = set()
        """Folded aliases of streams that are unknown or wrong: what is said of them is passed over."""
        self.late_tables: list[TableBinder] = []
        """The tables that are joined after the streams."""
        self.asked: set[ColumnRef] = set()
        """The columns that conditions of tables name."""
        self.part: Part | None = None
        """The part of FROM that the WHERE which is being bound is about."""
        self._inlining = 0
        """How many queries deep the part of FROM stands that is being bound."""
        self.all_aliases: tuple[str, ...] = ()
        self.has_range = False

    def report(self, message: str, at: Stretch, hint: str | None = None, kind: type[Mistake] = QueryMistake) -> None:
        """Remember a mistake of the query."""
        self.source.report(kind, message, at, hint=hint)

    def bind(self, written: FromPart, environment: Environment, where: Code | None) -> Part | None:
        """The whole FROM of a query, whose WHERE may look into other streams."""
        items = items_of(written)
        self.all_aliases = tuple(alias_of(item) for item in items)
        if self.inside is None:
            self.sources.reserved |= {fold(alias) for alias in self.all_aliases}
        self.has_range = any(isinstance(item.window, RangeWindow) for item in items)
        looks_elsewhere = where is not None and where.node.find(exp.Query) is not None
        return self._part(written, Position(is_alone=len(items) == 1 and not looks_elsewhere), environment, self.inside)

    def partner(self, written: FromPart, environment: Environment, inside: str) -> Part | None:
        """The one thing that EXISTS, IN or a SEMI JOIN looks into; None if it is more than one source."""
        return self._part(written, Position(lifts=False), environment, inside)

    def _part(
        self,
        part: FromPart,
        position: Position,
        environment: Environment,
        inside: str | None,
        wanted: _Wanted | None = None,
    ) -> Part | None:
        """`inside`: the alias of the query that this is inlined from; `wanted`: for a single stream, its alias."""
        match part:
            case FromItem():
                return self._item(part, position, environment, inside, wanted)
            case FromQuery():
                name = part.alias or Name(alias_of(part), part.at)
                named = self.queries.anonymous(part, NamedQuery(name, part.query, environment, part.columns))
                return self._query(named, part, position, inside, wanted)
            case FromJoin():
                return self._join(part, position, environment, inside)
            case FromElements(rows=rows):
                here = replace(position, is_one=not isinstance(rows, FromJoin))
                found = self._part(rows, here, environment, inside, wanted)
                return None if found is None else self._with_elements(found, part)

    def scalars(self, part: Part, environment: Environment) -> Scalars:
        """What makes a column of a subquery over tables that gives one value."""

        def scalar(query: QueryText, beside: AbstractSet[str]) -> Visible | None:
            alias = Name(self.sources.free_alias("subquery"), query.at)
            is_of_tables = reads_only_tables(query, environment)
            if is_of_tables and (outside := names_of_others(query, part.tables)):
                hint = "join what it gives: LEFT JOIN (SELECT k, max(x) AS most FROM t GROUP BY k) AS m ON m.k = s.k"
                self.report(f"this subquery names {outside[0]}, which stands around it", query.at, hint, Refused)
                return None
            table = table_of(NamedQuery(alias, query, environment), self.queries) if is_of_tables else None
            if is_of_tables and table is None:
                return None
            if table is None or () not in table.keys or len(table.columns) != 1:
                hint = "it reads tables and gives one row: (SELECT max(x) FROM t); streams are joined in FROM"
                self.report("this subquery is not known to give one value", query.at, hint, Refused)
                return None
            item = FromQuery(query, None, alias, (), query.at)
            written = FromJoin(WrittenJoin.LEFT, item, item, None, query.at)
            made = TableBinder(self, written, item, table, WrittenJoin.LEFT)
            there = certain(part.tree)
            made.beside = next((a for a in (*sorted(beside), *leaves(part.tree)) if a in there), None)
            source = self.attached(made, part, ())
            ((name, kind),) = table.columns
            return None if source is None else Visible(name, ColumnRef(source, column_of(alias.text, name)), kind)

        return scalar

    def attached(
        self, table: TableBinder, part: Part, on: tuple[Predicate, ...], text: str | None = None
    ) -> str | None:
        """The stream that is joined with a table of which WHERE, or an expression, asks something."""
        if table.obstacle(part, on) is not None:
            self.stop_inlining()
            if not self.tables_last:
                raise AskedOfJoins
        return table.attach(part, on, text)

    def stop_inlining(self) -> None:
        """Where what is being bound is a query that would be inlined, have it be a block instead."""
        if self._inlining:
            raise _CannotInline

    def _with_elements(self, part: Part, written: FromElements) -> Part:
        found = with_elements(self, part, written)
        if found is None:
            self.missing.add(fold(written.alias.text) if written.alias is not None else written.function)
        return found or part

    # Streams and queries

    def _item(
        self, item: FromItem, position: Position, environment: Environment, inside: str | None, wanted: _Wanted | None
    ) -> Part | None:
        found = environment.look(item.stream.text)
        alias = item.alias.text if item.alias is not None else item.stream.text
        if found is None:
            if environment.table(item.stream.text) is not None:
                self._refuse_table(item)
            elif not environment.is_declared(item.stream.text):
                hint = self.source.guess(item.stream.text, environment.names)
                self.report(f"unknown stream {item.stream.text}", item.stream.at, hint)
            # The mistakes of a stream that is wrong itself are reported where it is declared.
            self.missing.add(fold(alias))
            return None
        if isinstance(found, NamedQuery):
            return self._query(found, item, position, inside, wanted)
        if item.alias is None:
            alias = found.name
        chosen = self.sources.add(found, item.at, *(wanted or (alias, inside)), window=item.window)
        return Part(Leaf(chosen), {alias: NamedColumns.of(chosen, found)})

    def _refuse_table(self, item: FromItem | FromQuery) -> None:
        told = f"{alias_of(item)} is a table, and a query reads streams"
        self.report(told, item.at, "join it with a stream: stream JOIN table ON …", Refused)

    def _query(
        self,
        named: NamedQuery,
        item: FromItem | FromQuery,
        position: Position,
        inside: str | None,
        wanted: _Wanted | None,
    ) -> Part | None:
        alias = item.alias.text if item.alias is not None else named.name.text
        if table_of(named, self.queries) is not None:
            self._refuse_table(item)
        if named.is_wrong or named.table is not None:
            self.missing.add(fold(alias))
            return None
        kept, known = len(self.source.mistakes), (dict(self.sources.by_alias), dict(self.sources.places))
        try:
            part = self._inlined(named, item, position, wanted or (alias, inside))
        except _CannotInline:
            self.source.forget(kept)
            self.sources.by_alias, self.sources.places = known
            part = self._block(named, item, wanted or (alias, inside))
        if part is None:
            self.missing.add(fold(alias))
            return None
        (table,) = part.tables.values()
        return replace(part, tables={alias: table})

    def _inlined(
        self, named: NamedQuery, item: FromItem | FromQuery, position: Position, wanted: _Wanted
    ) -> Part | None:
        self._inlining += 1
        try:
            return self._as_part(named, item, position, wanted)
        finally:
            self._inlining -= 1

    def _as_part(
        self, named: NamedQuery, item: FromItem | FromQuery, position: Position, wanted: _Wanted
    ) -> Part | None:
        alias, inside = wanted
        environment, select = plain_select(named)
        if select is None or named.elements or isinstance(item.window, RowsWindow):
            raise _CannotInline
        if not position.is_alone and any(inner.window for inner in items_of(select.source)):
            raise _CannotInline
        within = f"{inside}_{alias}" if inside else alias
        single = None if isinstance(select.source, FromJoin) else wanted
        here = replace(position, is_alone=position.is_alone and item.window is None)
        known = len(self.missing)
        part = self._part(select.source, here, environment, within, single)
        if part is None or len(self.missing) > known:
            return None
        if position.is_one and not isinstance(part.tree, Leaf):
            raise _CannotInline
        scope = part.scope(self.source, missing=frozenset(self.missing), scalars=self.scalars(part, environment))
        condition = bind_condition(select.where, scope, may_exist=True)
        self.part = part
        existences = self.queries.existences(condition.existences, scope, self, environment, certain(part.tree))
        before = len(self.source.mistakes)
        outputs = OutputBinder(scope).outputs(select)
        if len(self.source.mistakes) > before:
            raise _CannotInline
        columns = [
            self._visible(output.name, output.value if isinstance(output, Output) else output, scope, position)
            for output in outputs.answer
        ]
        columns = self._named(columns, named)
        part = self._with_conditions(part, self.predicates(condition), existences, position)
        part = self._with_window(part, item, columns)
        return replace(part, tables={alias: NamedColumns(alias, columns)}, merged=())

    def _visible(self, name: str, value: object, scope: Scope, position: Position) -> Visible:
        match value:
            case ColumnRef():
                return Visible(name, value, scope.type_of(value), ends=scope.ends_of(value))
            case Expression(columns=columns, term=term, deterministic=True):
                if position.may_be_absent and not (columns and is_strict(term)):
                    raise _CannotInline
                return Visible(name, value, type_of(term, scope.type_of))
            case _:
                raise _CannotInline

    def _named(self, columns: list[Visible], named: NamedQuery) -> list[Visible]:
        given = [name.text for name in named.columns] or [column.name for column in columns]
        if len(given) != len(columns) or len({fold(name) for name in given}) < len(given):
            raise _CannotInline  # The block says what is wrong.
        return [replace(column, name=name) for column, name in zip(columns, given, strict=True)]

    def _with_conditions(
        self, part: Part, where: tuple[Predicate, ...], existences: tuple[Existence, ...], position: Position
    ) -> Part:
        """The part with the WHERE of the query that it comes from, moved to where it means the same."""
        if position.lifts:
            return replace(part, where=(*part.where, *where), existences=(*part.existences, *existences))
        if existences:
            raise _CannotInline
        match part.tree:
            case Leaf(alias=alias):
                own = self.sources.by_alias[alias]
                self.sources.by_alias[alias] = replace(own, where=(*own.where, *where))
                return part
            case Join(kind=JoinKind.INNER) as join:
                return replace(part, tree=replace(join, on=(*join.on, *where)))
            case _ if where:
                raise _CannotInline
        return part

    def _with_window(self, part: Part, item: FromItem | FromQuery, columns: list[Visible]) -> Part:
        """The part with the [RANGE] of the query, which is about its event time."""
        if item.window is None and not self.has_range:
            return part
        if not isinstance(part.tree, Leaf):
            raise _CannotInline
        own = self.sources.by_alias[part.tree.alias]
        kept = [column for column in columns if column.value == own.event_time]
        if (own.event_time is not None and len(kept) != 1) or (item.window is not None and own.window is not None):
            raise _CannotInline
        if item.window is not None:
            self.sources.by_alias[part.tree.alias] = replace(own, window=item.window)
            self.sources.places[part.tree.alias] = item.at
        return part

    def _block(self, named: NamedQuery, item: FromItem | FromQuery, wanted: _Wanted) -> Part | None:
        made = self.queries.block(named)
        if made is None:
            return None
        query, stream = made
        chosen = self.sources.add(stream, item.at, *wanted, window=item.window, below=query)
        return Part(
            Leaf(chosen),
            {chosen: NamedColumns.of(chosen, stream, {} if isinstance(query, Union) else window_ends(query))},
        )

    # Joins

    def _join(self, written: FromJoin, position: Position, environment: Environment, inside: str | None) -> Part | None:
        if (side := table_side(written, environment, self.queries)) is not None:
            item, table = side
            is_left = item is written.left
            other, here = written.right if is_left else written.left, position.sides(written.kind)[is_left]
            # Columns of several streams meet a table only as those of one query.
            part = self._part(other, replace(here, is_one=not isinstance(other, FromJoin)), environment, inside)
            if part is None:
                return None
            late = len(self.late_tables)
            part = TableBinder(self, written, item, table).joined(part, position)
            if len(self.late_tables) > late and self._inlining:
                del self.late_tables[late:]
                raise _CannotInline
            return part
        positions = position.sides(written.kind)
        is_filter = written.kind in (WrittenJoin.SEMI, WrittenJoin.ANTI)
        left = self._part(written.left, positions[0], environment, inside)
        right = self._part(written.right, positions[1], environment, inside)
        if left is None or right is None:
            return left or right
        self._refuse_twins(left, right, written)
        scope = self.scope_of(left, right)
        on = list(self.predicates(bind_condition(written.on, scope)))
        merged = {fold(column.name): column for column in (*left.merged, *right.merged)}
        for name, mine, theirs in self.shared(left, right, written):
            on += equalities(mine, theirs)
            merged[fold(name)] = merged_column(name, mine, theirs, written.kind)
        lifted = (*left.where, *right.where), (*left.existences, *right.existences)
        columns = tuple(merged.values())
        if is_filter:
            return self._filtered(left, right, tuple(on), written, position)
        tree = Join(_KINDS[written.kind], left.tree, right.tree, tuple(on))
        return Part(tree, {**left.tables, **right.tables}, columns, *lifted)

    def _refuse_twins(self, left: Part, right: Part, written: FromJoin) -> None:
        known = set(map(fold, left.tables))
        for alias in right.tables:
            if fold(alias) in known:
                item = next(i for i in reversed(items_of(written.right)) if fold(alias_of(i)) == fold(alias))
                at = item.alias.at if item.alias is not None else item.at
                self.report(f"{alias} stands twice in the query", at, "give each its own alias: stream AS a")

    def scope_of(self, left: Part, right: Part) -> Scope:
        """What ON sees."""
        seen = {**left.tables, **right.tables}
        known = set(map(fold, seen))
        hidden = {
            fold(alias): "ON sees the two sides of its own join; put the condition into WHERE"
            for alias in self.all_aliases
            if fold(alias) not in known
        }
        for table in self.late_tables:
            hidden[fold(table.alias)] = "it is joined after the streams; put the condition into WHERE"
        merged = (*left.merged, *right.merged)
        return Scope(self.source, seen, merged=merged, hidden=hidden, missing=frozenset(self.missing))

    def _filtered(
        self, left: Part, right: Part, on: tuple[Predicate, ...], written: FromJoin, position: Position
    ) -> Part:
        kind = f"{written.kind} JOIN"
        if not isinstance(right.tree, Leaf) or right.where or right.existences:
            self.report(
                f"{kind} takes one stream or one query", written.at, "write a query: (SELECT … FROM …)", Refused
            )
            return left
        if not position.lifts:
            self.stop_inlining()
            hint = f"write it as a query of its own: (SELECT … FROM … {kind} …) AS x"
            self.report(f"{kind} cannot stand on this side of an outer join", written.at, hint, Refused)
            return left
        partner = self.sources.by_alias[right.tree.alias]
        existence = Existence(partner, written.kind is WrittenJoin.ANTI, on)
        return replace(left, existences=(*left.existences, existence))

    def shared(self, left: Part, right: Part, written: FromJoin) -> list[tuple[str, Visible, Visible]]:
        """The columns of USING, or those that NATURAL finds in both sides."""
        if written.natural:
            theirs = {fold(column.name) for column in all_columns(right)}
            names = [(c.name, written.at) for c in all_columns(left) if fold(c.name) in theirs]
        else:
            names = [(name.text, name.at) for name in written.using]
        found = []
        for text, at in names:
            mine, other = (self._one(side, text, at) for side in (left, right))
            if mine is not None and other is not None:
                found.append((mine.name, mine, other))
        return found

    def _one(self, side: Part, name: str, at: Stretch) -> Visible | None:
        found = [column for column in all_columns(side) if fold(column.name) == fold(name)]
        if len(found) != 1:
            what = "ambiguous" if found else "not there"
            place = ", ".join(quoted(alias) for alias in side.tables)
            hint = None if found else self.source.guess(name, [column.name for column in all_columns(side)])
            self.report(f"column {name} is {what} on the side of {place}", at, hint)
            return None
        return found[0]

    # Conditions

    def predicates(self, condition: Conjuncts) -> tuple[Predicate, ...]:
        """The predicates of a condition that can stand; the others are reported."""
        kept = []
        for predicate, at in condition.predicates:
            problem = predicate_problem(predicate, self.sources.by_alias)
            if problem is not None:
                self.report(problem.message, at, problem.hint)
            else:
                kept.append(predicate)
                self.sources.places_of_conditions[str(predicate)] = at
        return tuple(kept)

    def report_windows(self) -> None:
        """What is wrong with the windows, where the query cannot be built for other reasons."""
        for source in self.sources.by_alias.values():
            for problem in window_problems(source):
                self.report(problem.message, self.sources.places[source.alias], problem.hint)


def plain_select(named: NamedQuery, *, may_repeat: bool = False) -> tuple[Environment, Select | None]:
    """The SELECT that a query is, and what names mean in it; None if it is more than columns of joined, kept rows.

    `may_repeat`: whether it does not matter how often a row is given, so that DISTINCT says nothing.
    """
    environment, body = named.environment, named.query
    inner: QueryText | Select | object = body
    while isinstance(inner, QueryText):
        environment, inner = environment.within(inner.common), inner.body
    if not isinstance(inner, Select) or inner.hints or (inner.distinct and not may_repeat):
        return environment, None
    if inner.group_by or inner.groups_by_all or inner.having is not None:
        return environment, None
    made = any(item.over is not None or (item.code and item.code.node.find(exp.Window)) for item in inner.items)
    return environment, None if made else inner
