"""Tables that are joined after the streams of FROM, since only WHERE says with which, or by columns of several.

`FROM s, t WHERE s.k = t.k` is a join by what WHERE says of the table: if that is about one stream, the table is joined
with it before it meets others (`tables`). Any other table is joined with the answer of the joins, which is then a block
of its own:

    SELECT … FROM a JOIN b ON c JOIN t ON d WHERE e AND f
      = SELECT … FROM (SELECT … FROM a JOIN b ON c WHERE e) AS x JOIN t ON d WHERE f

where e names no column of t, and f does.

Theorem: this is the same bag, if no join that follows names columns of t, and a condition may be moved from where t is
joined to the WHERE above (`Position.lifts`). For then a row of the streams is joined with t by its own columns alone;
that a later join drops, keeps or repeats the row before or after that makes no difference.

The block gives what the query around it may name, by the names that stand in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, Leaf, certain, leaves
from penstock.model.table import as_read
from penstock.sql.conditions import Conjuncts, WrittenExists, bind_condition
from penstock.sql.environment import Environment
from penstock.sql.from_parts import Part
from penstock.sql.joined_columns import JoinedColumns, named_in, named_of, with_columns
from penstock.sql.scope import NamedColumns, Scope
from penstock.sql.table_queries import reads_only_tables
from penstock.sql.tables import TableBinder
from penstock.sql.tree import Select, Stretch

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder
    from penstock.sql.selects import QueryBinder


class LateTables:
    """Joins the tables that are left over once FROM is bound."""

    def __init__(self, queries: QueryBinder, binder: FromBinder, select: Select, environment: Environment) -> None:
        self.queries = queries
        self.binder = binder
        self.select = select
        self.environment = environment
        self.waiting = list(binder.late_tables)
        self.block: Part | None = None
        """The joins as one block, if they had to be."""
        self._done: set[Stretch] = set()
        """The places of those conditions of WHERE that hold already: in the block, or as the ON of a table."""

    def joined(self, part: Part) -> Part | None:
        """The part with all tables; None, and mistakes, if they cannot be joined."""
        aliases = {fold(alias) for alias in (*part.tables, *(table.alias for table in self.waiting))}
        for table in [*self.waiting]:
            on = self._quietly(table, part)
            if on is not None and table.obstacle(part, on) is None:
                part = self._with(table, part, on)
        if not self.waiting and not self.binder.tables_last:
            return self._in_order(part)
        whole = self._as_block(part)
        if whole is None:
            self.binder.missing |= aliases
            return None
        for table in [*self.waiting]:
            whole = self._with(table, whole, self._on(table, whole))
        return self._in_order(whole)

    def _in_order(self, part: Part) -> Part:
        """The part with its tables in the order of FROM, which is that of `*`."""
        places = {fold(alias): place for place, alias in enumerate(self.binder.all_aliases)}
        aliases = sorted(part.tables, key=lambda alias: places.get(fold(alias), len(places)))
        return replace(part, tables={alias: part.tables[alias] for alias in aliases})

    def is_done(self, at: Stretch) -> bool:
        """Whether the condition of WHERE that stands there holds already."""
        return at in self._done

    def left(self, condition: Conjuncts) -> Conjuncts:
        """What is left of WHERE, bound over the part with all tables."""
        rest = [(predicate, at) for predicate, at in condition.predicates if at not in self._done]
        return Conjuncts(rest, [one for one in condition.existences if self.block is None or self._is_of_tables(one)])

    def pruned(self, query: Query) -> Query:
        """The query over a block that gives no column which nobody names."""
        if self.block is None:
            return query
        (source,) = query.sources
        assert isinstance(source.below, Query)
        below = with_columns(source.below, named_of(query, source, self.binder.asked))
        made = self.queries.stream_of(below, self.select.at)
        assert made is not None
        return replace(query, sources=(replace(source, stream=as_read(made, source.stream), below=below),))

    def _with(self, table: TableBinder, part: Part, on: tuple[Predicate, ...]) -> Part:
        if not table.has_on:
            self._done |= self._said_of(table, part).keys()
        self.waiting.remove(table)
        return table.joined_now(part, on)

    def _on(self, table: TableBinder, part: Part) -> tuple[Predicate, ...]:
        """Its own condition, or what WHERE says of it and of nothing that is joined later."""
        if table.has_on:
            return table.bound_on(part)
        return tuple(predicate for own in self._said_of(table, part).values() for predicate in own)

    def _said_of(self, table: TableBinder, part: Part) -> dict[Stretch, list[Predicate]]:
        later = {other.alias for other in self.waiting if other is not table}
        return {
            at: own
            for at, own in self._where(part).items()
            if (named := _aliases(own)) >= {table.alias} and not named & later
        }

    def _quietly(self, table: TableBinder, part: Part) -> tuple[Predicate, ...] | None:
        """The same; None if it names what is not there yet."""
        source = self.binder.source
        before = len(source.mistakes)
        on = self._on(table, part)
        if len(source.mistakes) == before:
            return on
        source.forget(before)
        return None

    def _where(self, part: Part) -> dict[Stretch, list[Predicate]]:
        """The conditions of WHERE by their places, with the tables that wait as if they were streams."""
        found: dict[Stretch, list[Predicate]] = {}
        for predicate, at in self._bound_where(part).predicates:
            found.setdefault(at, []).append(predicate)
        return found

    def _bound_where(self, part: Part) -> Conjuncts:
        source = self.binder.source
        before = len(source.mistakes)
        waiting = {table.alias: table.columns for table in self.waiting}
        scope = Scope(source, {**part.tables, **waiting}, merged=part.merged, missing=frozenset(self.binder.missing))
        found = bind_condition(self.select.where, scope, may_exist=True)
        source.forget(before)
        return found

    def _is_of_tables(self, written: WrittenExists) -> bool:
        return reads_only_tables(written.query, self.environment)

    # The joins as a block

    def _as_block(self, part: Part) -> Part | None:
        source, binder = self.binder.source, self.binder
        at = self.waiting[0].item.at if self.waiting else self.select.at
        if self.select.hints:
            late = self.waiting[0].alias if self.waiting else "the table that WHERE asks"
            told = f"{late} is joined after the streams, beside which there are no hints"
            source.report(Refused, told, at, hint="join it with one stream alone, or leave the hints out")
            return None
        waiting = {table.alias for table in self.waiting}
        conditions = {at: own for at, own in self._where(part).items() if not waiting & _aliases(own)}
        self._done |= conditions.keys()
        low = [predicate for own in conditions.values() for predicate in own]
        scope = part.scope(source, missing=frozenset(binder.missing))
        binder.known, binder.part = tuple(low), part
        written = [one for one in self._bound_where(part).existences if not self._is_of_tables(one)]
        existences = self.queries.existences(written, scope, binder, self.environment, certain(part.tree))
        outputs = JoinedColumns(self._names())
        for alias, table in part.tables.items():
            outputs.add(alias, table.columns)
        outputs.add("", part.merged)
        block = Block(part.tree, outputs.all, (*part.where, *low), (*part.existences, *existences))
        used = tuple(binder.sources.by_alias[alias] for alias in leaves(part.tree))
        alias = binder.sources.free_alias("joined")
        name = self.queries.free_name(alias)
        query = self.queries.built(name, used, block, at)
        if query is None:
            return None
        made = self.queries.stream_of(query, self.select.at)
        if made is None:
            return None
        binder.sources.by_alias = {}
        chosen = binder.sources.add(made, at, alias, None, below=query)
        tables = {key: NamedColumns(t.name, outputs.shown(t.columns, chosen)) for key, t in part.tables.items()}
        self.block = Part(Leaf(chosen), tables, tuple(outputs.shown(part.merged, chosen)))
        return self.block

    def _names(self) -> frozenset[str] | None:
        """The folded names that stand in the query; None if all may be named."""
        return None if any(t.written.natural for t in self.waiting) else named_in(self.select)


def _aliases(predicates: Iterable[Predicate]) -> set[str]:
    return {ref.alias for predicate in predicates for ref in predicate.columns}
