"""FROM, bound: streams, queries in parentheses or by name, and how they are joined.

A query in FROM is inlined where that changes nothing (`inlining`); else it is a block of its own, whose answer is a
stream. What joins what is for `from_joins`, tables for `tables`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Mistake, QueryMistake, Refused
from penstock.model.clauses import RangeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.query_rules import predicate_problem, window_problems
from penstock.model.relation import Block, Leaf, leaves
from penstock.sql.block_streams import window_ends, windows_made
from penstock.sql.conditions import Conjuncts
from penstock.sql.elements import with_elements
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_joins import JoinBinder
from penstock.sql.from_parts import AskedOfJoins, Part, Position, Sources, alias_of, items_of
from penstock.sql.inlining import CannotInline, Inliner, Wanted
from penstock.sql.joined_columns import JoinedColumns
from penstock.sql.scope import NamedColumns, Visible
from penstock.sql.source import SourceText
from penstock.sql.table_queries import table_of
from penstock.sql.tables import TableBinder
from penstock.sql.tree import (
    Code,
    FromElements,
    FromItem,
    FromJoin,
    FromPart,
    FromQuery,
    Name,
    Stretch,
)

if TYPE_CHECKING:
    from penstock.sql.selects import QueryBinder


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
        self.joins = JoinBinder(self)
        self._inlining = 0
        """How many queries deep the part of FROM stands that is being bound."""
        self.all_aliases: tuple[str, ...] = ()
        self.has_range = False
        self.groups = False
        """Whether its SELECT groups rows, numbers them, or gives each once."""
        self.words: frozenset[str] | None = None
        """The folded names that stand in its SELECT; None if all may be named."""

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
        return self.part_of(
            written, Position(is_alone=len(items) == 1 and not looks_elsewhere), environment, self.inside
        )

    def partner(self, written: FromPart, environment: Environment, inside: str) -> Part | None:
        """The one thing that EXISTS, IN or a SEMI JOIN looks into; None if it is more than one source."""
        return self.part_of(written, Position(lifts=False), environment, inside)

    def part_of(
        self,
        part: FromPart,
        position: Position,
        environment: Environment,
        inside: str | None,
        wanted: Wanted | None = None,
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
                return self.joins.joined(part, position, environment, inside)
            case FromElements(rows=rows):
                here = replace(position, is_one=not isinstance(rows, FromJoin))
                found = self.part_of(rows, here, environment, inside, wanted)
                return None if found is None else self._with_elements(found, part)

    def attached(
        self, table: TableBinder, part: Part, on: tuple[Predicate, ...], text: str | None = None
    ) -> str | None:
        """The stream that is joined with a table of which WHERE, or an expression, asks something."""
        if table.obstacle(part, on) is not None:
            self.stop_inlining()
            if not self.tables_last:
                raise AskedOfJoins
        return table.attach(part, on, text)

    def as_block(
        self, part: Part, at: Stretch, more: tuple[Visible, ...] = (), time: Visible | None = None
    ) -> Part | None:
        """A part of FROM as a block of its own, whose columns go by the same names; None if it cannot be one.

        `more` are columns that it is to give beside these, and so is `time`, which is its event time.
        """
        aliases = leaves(part.tree)
        used = tuple(self.sources.by_alias[alias] for alias in aliases)
        if any(source.window is not None for source in used) or self.has_range:
            return None
        outputs = JoinedColumns(None if self.is_inlining else self.words)
        for alias, table in part.tables.items():
            outputs.add(alias, table.columns)
        outputs.add("", part.merged)
        outputs.add("", more if time is None else (*more, time), are_named=True)
        alias = self.sources.free_alias("joined")
        block = Block(part.tree, outputs.all, part.where, part.existences)
        query = self.queries.built(self.queries.free_name(alias), used, block, at)
        made = None if query is None else self.queries.stream_of(query, at)
        if query is None or made is None:
            return None
        made = made if time is None else replace(made, event_time=outputs.name_of(time))
        self.sources.by_alias = {name: own for name, own in self.sources.by_alias.items() if name not in aliases}
        chosen = self.sources.add(made, at, alias, None, below=query)
        tables = {key: NamedColumns(t.name, outputs.shown(t.columns, chosen)) for key, t in part.tables.items()}
        merged, times = (tuple(outputs.shown(columns, chosen)) for columns in (part.merged, more))
        return Part(Leaf(chosen), tables, merged, made=times)

    @property
    def is_inlining(self) -> bool:
        """Whether what is being bound is a query that would be inlined."""
        return self._inlining > 0

    def stop_inlining(self) -> None:
        """Where what is being bound is a query that would be inlined, have it be a block instead."""
        if self.is_inlining:
            raise CannotInline

    def _with_elements(self, part: Part, written: FromElements) -> Part:
        found = with_elements(self, part, written)
        if found is None:
            self.missing.add(fold(written.alias.text) if written.alias is not None else written.function)
        return found or part

    # Streams and queries

    def _item(
        self, item: FromItem, position: Position, environment: Environment, inside: str | None, wanted: Wanted | None
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
        wanted: Wanted | None,
    ) -> Part | None:
        alias = item.alias.text if item.alias is not None else named.name.text
        if table_of(named, self.queries) is not None:
            self._refuse_table(item)
        if named.is_wrong:
            named.say(self.source, len(self.source.mistakes))
        if named.is_wrong or named.table is not None:
            self.missing.add(fold(alias))
            return None
        kept, known = len(self.source.mistakes), (dict(self.sources.by_alias), dict(self.sources.places))
        try:
            part = self._inlined(named, item, position, wanted or (alias, inside))
        except CannotInline:
            self.source.forget(kept)
            self.sources.by_alias, self.sources.places = known
            part = self._block(named, item, wanted or (alias, inside))
        if part is None:
            self.missing.add(fold(alias))
            return None
        (table,) = part.tables.values()
        return replace(part, tables={alias: table})

    def _inlined(
        self, named: NamedQuery, item: FromItem | FromQuery, position: Position, wanted: Wanted
    ) -> Part | None:
        self._inlining += 1
        try:
            return Inliner(self).part(named, item, position, wanted)
        finally:
            self._inlining -= 1

    def _block(self, named: NamedQuery, item: FromItem | FromQuery, wanted: Wanted) -> Part | None:
        made = self.queries.block(named)
        if made is None:
            return None
        query, stream = made
        chosen = self.sources.add(stream, item.at, *wanted, window=item.window, below=query)
        columns = NamedColumns.of(chosen, stream, window_ends(query), windows_made(query))
        return Part(
            Leaf(chosen),
            {chosen: columns},
        )

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
