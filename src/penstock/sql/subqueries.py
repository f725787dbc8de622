"""EXISTS, NOT EXISTS, IN and NOT IN with a query inside, each as one source that rows are to meet, or not to meet.

`e IN (SELECT c …)` as a condition of WHERE keeps a row iff some c equals e, so it is EXISTS with `c = e` added.
What NOT IN asks, where NULL may be compared, is for `members` to say.

A query over one stream, inlined or not, is that source, and all its conditions are those of the EXISTS. Any other is a
block: what its WHERE says of its own streams is the block's, what ties them to the rows around it is the EXISTS'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.clauses import Output
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.predicates import (
    Predicate,
    aliases_of,
    conjunct,
    conjunction,
)
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, Leaf, certain, leaves
from penstock.model.table import DeclaredTable
from penstock.sql.asked_in_joins import with_questions_in_where
from penstock.sql.conditions import WrittenExists, bind_condition
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.from_clause import FromBinder
from penstock.sql.from_parts import AskedOfJoins, Part, Sources, alias_of
from penstock.sql.inlining import plain_select
from penstock.sql.members import MemberBinder
from penstock.sql.outputs import OutputBinder
from penstock.sql.scope import NamedColumns, Scope, Visible
from penstock.sql.shared_columns import equality
from penstock.sql.table_queries import reads_only_tables, table_of
from penstock.sql.tables import TableBinder, table_named
from penstock.sql.tree import (
    FromItem,
    FromJoin,
    FromQuery,
    Name,
    QueryBody,
    QueryText,
    Select,
    SetOperation,
    WrittenJoin,
)

if TYPE_CHECKING:
    from penstock.sql.selects import QueryBinder

_NAME = "subquery"
_OF_GROUPS = (
    "group in a query in FROM, and ask that: EXISTS (SELECT 1 FROM (SELECT k, window(ts, '5 minutes').end AS until, "
    "count(*) AS n FROM t GROUP BY ALL) AS g WHERE g.k = s.k AND g.n > 2)"
)
_BY_ITSELF = (
    "a query that groups, unites or makes distinct stands by itself: compare what it gives, (a, b) IN (SELECT …)"
)
_OF_EITHER = (
    "write a query for each, the second without what the first gives: "
    "SELECT … WHERE EXISTS (a) UNION ALL SELECT … WHERE NOT EXISTS (a) AND EXISTS (b)"
)


class SubqueryBinder:
    """Binds the subqueries of one WHERE."""

    def __init__(
        self, queries: QueryBinder, binder: FromBinder, environment: Environment, there: frozenset[str]
    ) -> None:
        self.queries = queries
        self.there = there
        """The sources around that have a tuple in every row."""
        self.binder = binder
        self.source = binder.source
        self.environment = environment
        self.members = MemberBinder(binder, environment, there)

    def existences(self, written: WrittenExists, around: Scope) -> Iterator[Existence]:
        """What it asks: one thing, but of NOT IN over what may be NULL. None, and mistakes, if it cannot be asked."""
        self.members.unknown.clear()
        found = self._existence(written, around)
        if found is None:
            return
        yield found
        for null_of in tuple(self.members.unknown):
            if (unknown := self._existence(replace(written, null_of=null_of), around)) is not None:
                yield unknown

    def _existence(self, written: WrittenExists, around: Scope) -> Existence | None:
        named = NamedQuery(Name(_NAME, written.at), written.query, self.environment)
        environment, select = plain_select(named, may_repeat=True)
        is_one = select is not None and isinstance(select.source, FromItem | FromQuery) and not _has_subquery(select)
        if not is_one and reads_only_tables(written.query, self.environment):
            self._of_table_query(written, named, around)
            return None
        if select is None:
            return self._of_block(written, named, around)
        if isinstance(select.source, FromJoin) or _has_subquery(select):
            return self._of_joins(written, with_questions_in_where(select), environment, around)
        return self._of_one(written, select, environment, around)

    # One stream

    def _of_one(
        self, written: WrittenExists, select: Select, environment: Environment, around: Scope
    ) -> Existence | None:
        if isinstance(select.source, FromItem | FromQuery):
            table = table_named(select.source, environment, self.queries)
            if table is not None:
                self._of_table(written, select, select.source, table, around)
                return None
        part = self.binder.partner(select.source, environment, "")
        if part is None:
            return None
        if not isinstance(part.tree, Leaf):
            return self._of_joins(written, select, environment, around)
        alias = part.tree.alias
        inner = part.scope(self.source, around=around, missing=frozenset(self.binder.missing))
        items = self._items(select, inner, needed=written.members)
        before = len(self.source.mistakes)
        bound = bind_condition(select.where, inner)
        if any(not aliases_of(p) <= set(self.binder.sources.by_alias) for p, _ in bound.predicates):
            self._refuse_deep(written)
            return None
        condition = list(self.binder.predicates(bound))
        readable = len(self.source.mistakes) == before
        tied = items is not None and self.members.add(written, items, condition, around)
        if items is None or not tied:
            return None
        own = self.binder.sources.by_alias[alias]
        if readable and not any(alias in aliases_of(p) for p in condition):
            self._report_untied(alias, written)
        return Existence(own, written.negated, tuple(condition))

    def _of_table(
        self, written: WrittenExists, select: Select, item: FromItem | FromQuery, table: DeclaredTable, around: Scope
    ) -> None:
        """Rows that have a partner in a table, or none, are found by Spark before the stream meets any other."""
        part = self.binder.part
        kind = WrittenJoin.ANTI if written.negated else WrittenJoin.SEMI
        # The same table may be joined in FROM, or asked twice.
        own = replace(item, alias=Name(self.binder.sources.free_alias(alias_of(item)), item.at))
        tables = TableBinder(self.binder, FromJoin(kind, own, own, None, written.at), own, table, kind)
        inner = Scope(self.source, {alias_of(item): tables.columns}, around=around)
        before = len(self.source.mistakes)
        items = self._items(select, inner, needed=written.members)
        condition = [predicate for predicate, _ in bind_condition(select.where, inner).predicates]
        if items is None or part is None or len(self.source.mistakes) > before:
            return
        self._attach(written, tables, part, (condition, items), around)

    def _of_table_query(self, written: WrittenExists, named: NamedQuery, around: Scope) -> None:
        """The same of a query that Spark evaluates by itself."""
        table, part = table_of(named, self.queries), self.binder.part
        if table is None or part is None:
            return
        kind = WrittenJoin.ANTI if written.negated else WrittenJoin.SEMI
        alias = Name(self.binder.sources.free_alias(_NAME), written.at)
        item = FromQuery(written.query, None, alias, (), written.at)
        tables = TableBinder(self.binder, FromJoin(kind, item, item, None, written.at), item, table, kind)
        items = [ColumnRef(alias.text, name) for name, _ in table.columns] if written.members else []
        self._attach(written, tables, part, ([], items), around)

    def _attach(
        self,
        written: WrittenExists,
        tables: TableBinder,
        part: Part,
        asked: tuple[list[Predicate], Sequence[ColumnRef | Expression]],
        around: Scope,
    ) -> None:
        """The rows of a stream that have a partner in the table, or none: by conditions, and by what IN compares."""
        condition, items = asked
        outside = [bind_column(node, around) or bind_node(node, own, around) for node, own in written.compared]
        if None in outside:
            return
        if len(outside) != len(items):
            self.binder.report("IN compares as many columns as the query selects", written.at)
            return
        equal = [equality(one, other) for one, other in zip(outside, items, strict=True) if one is not None]
        text = None
        if written.takes_unknown:
            # A member that may be equal, since one of the two is NULL, is in the way as one that is.
            member = conjunction(tuple(equal))
            text = f"({member}) OR ({member}) IS NULL"
            text = " AND ".join([*map(conjunct, condition), f"({text})"]) if condition else text
        self.binder.attached(tables, part, (*condition, *equal), text)

    def _report_untied(self, alias: str, written: WrittenExists) -> None:
        if self.binder.missing:
            return  # It may be tied to what is not there.
        self.binder.report(
            f"nothing ties {alias} to the query around it",
            written.at,
            f"compare a column of {alias} with one of the outer streams in its WHERE",
        )

    def _items(self, select: Select, inner: Scope, *, needed: bool) -> list[ColumnRef | Expression] | None:
        """What is selected; EXISTS does not look at it, but its names must be right."""
        if needed:
            before = len(self.source.mistakes)
            outputs = OutputBinder(inner).outputs(select)
            values = [o.value for o in outputs.answer if isinstance(o, Output)]
            if len(self.source.mistakes) > before:
                return None
            return [v for v in values if isinstance(v, ColumnRef | Expression)]
        for item in select.items:
            if item.code is not None and not isinstance(item.code.node, exp.Literal):
                one = replace(select, items=(item,), where=None)
                OutputBinder(inner).outputs(one, need_names=False)
        return []

    # Blocks

    def _of_block(self, written: WrittenExists, named: NamedQuery, around: Scope) -> Existence | None:
        """A query that groups, unites or makes distinct: it stands by itself."""
        if not written.members and (refusal := _refused_in_exists(written.query)) is not None:
            self.binder.report(refusal[0], written.at, refusal[1], Refused)
            return None
        outside = {fold(alias): _BY_ITSELF for scope in around.chain() for alias in scope.tables}
        named = replace(named, environment=replace(named.environment, outside=outside))
        made = self.queries.block(named)
        if made is None:
            return None
        query, stream = made
        if isinstance(query, Query):
            query, stream = self.queries.asked_once(query, stream)
        alias = self.binder.sources.add(stream, written.at, stream.name, "", below=query)
        condition: list[Predicate] = []
        columns = [ColumnRef(alias, column.name) for column in stream.columns]
        if not self.members.add(written, list(columns), condition, around):
            return None
        if not condition:
            self._report_untied(alias, written)
            return None
        return Existence(self.binder.sources.by_alias[alias], written.negated, tuple(condition))

    def _of_joins(
        self, written: WrittenExists, select: Select, environment: Environment, around: Scope
    ) -> Existence | None:
        """A query over several streams, or with subqueries of its own."""
        before = len(self.source.mistakes)
        try:
            return self._of_bound_joins(written, select, environment, around, tables_last=False)
        except AskedOfJoins:
            self.source.forget(before)
            return self._of_bound_joins(written, select, environment, around, tables_last=True)

    def _of_bound_joins(
        self, written: WrittenExists, select: Select, environment: Environment, around: Scope, *, tables_last: bool
    ) -> Existence | None:
        before = len(self.source.mistakes)
        sources = Sources(reserved={fold(alias) for alias in self.binder.sources.by_alias})
        inner_binder = FromBinder(self.source, sources, self.queries, inside="", tables_last=tables_last)
        part = inner_binder.bind(select.source, environment, select.where)
        late = self.queries.late_tables(inner_binder, select, environment)
        part = late.joined(part) if part is not None and late is not None else part
        if part is None:
            self.binder.missing |= inner_binder.missing
            return None
        inner_binder.missing |= self.binder.missing
        inner = part.scope(self.source, around=around, missing=frozenset(inner_binder.missing))
        written_where = bind_condition(select.where, inner, may_exist=True)
        written_where = written_where if late is None else late.left(written_where)
        inner_binder.part = part
        nested = self.queries.existences(written_where.existences, inner, inner_binder, environment, certain(part.tree))
        items = self._items(select, inner, needed=written.members)
        if items is None or len(self.source.mistakes) > before:
            return None
        predicates = [p for p, _ in written_where.predicates]
        own = [p for p in predicates if aliases_of(p) <= set(sources.by_alias)]
        tying = [p for p in predicates if p not in own]
        if any(not aliases_of(p) <= set(sources.by_alias) for e in nested for p in e.condition):
            self._refuse_deep(written)
            return None
        shown = dict.fromkeys(ref for p in tying for ref in p.columns if ref.alias in sources.by_alias)
        if not tying and not written.members:
            self._report_untied(" and ".join(part.tables), written)
            return None
        name = self.queries.free_name(_NAME)
        outputs = [Output(f"{ref.alias}_{ref.column}", ref) for ref in shown]
        outputs += [Output(f"made_{n}", value) for n, value in enumerate(_made(part, select, set(shown)))]
        members = [Output(f"member_{n}", value) for n, value in enumerate(items)] if written.members else []
        used = tuple(sources.by_alias[alias] for alias in leaves(part.tree))
        where = (*part.where, *own)
        block = Block(part.tree, (*outputs, *members), where, (*part.existences, *nested))
        query = self.queries.built(name, used, block, written.at)
        query = late.pruned(query) if query is not None and late is not None else query
        if query is None:
            return None
        stream = self.queries.stream_of(query, written.at)
        if stream is None:
            return None
        query, stream = self.queries.asked_once(query, stream)
        alias = self.binder.sources.add(stream, written.at, stream.name, "", below=query)
        moved: Moved = {output.value: ColumnRef(alias, output.name) for output in outputs}
        tables = {
            name: NamedColumns(table.name, [_moved(column, moved) for column in table.columns])
            for name, table in part.tables.items()
        }
        scope = Scope(self.source, tables, around=around, merged=[_moved(column, moved) for column in part.merged])
        again = bind_condition(select.where, scope, may_exist=True)
        again = again if late is None else late.left(again)
        named = [(p, aliases_of(p) - {alias}) for p, _ in again.predicates]
        if any(others & sources.by_alias.keys() and not others <= sources.by_alias.keys() for _, others in named):
            told = "a window or a value of several streams ties EXISTS to the query around it as a whole"
            self.binder.report(told, written.at, "compare its parts: w.start, w.end", Refused)
            return None
        condition = [p for p, others in named if others and others.isdisjoint(sources.by_alias)]
        inside: list[ColumnRef | Expression] = [ColumnRef(alias, output.name) for output in members]
        if not self.members.add(written, inside, condition, around):
            return None
        return Existence(self.binder.sources.by_alias[alias], written.negated, tuple(condition))

    def _refuse_deep(self, written: WrittenExists) -> None:
        self.binder.report(
            "a query within EXISTS names a stream of the outermost query",
            written.at,
            "name the streams of the query right around it, or join its own to these: "
            "EXISTS (SELECT 1 FROM a JOIN b ON … WHERE …)",
            Refused,
        )


def _refused_in_exists(body: QueryBody) -> tuple[str, str] | None:
    """What EXISTS cannot ask, and what to write instead."""
    while isinstance(body, QueryText):
        body = body.body
    if isinstance(body, SetOperation):
        return f"{body.kind} inside EXISTS is not in Penstock's language", _OF_EITHER
    if isinstance(body, Select) and body.having is not None:
        return "HAVING inside EXISTS is not in Penstock's language", _OF_GROUPS
    if isinstance(body, Select) and body.group_by:
        return "GROUP BY inside EXISTS means nothing", "leave it out"
    if isinstance(body, Select) and any(item.over is not None for item in body.items):
        hint = "EXISTS (SELECT 1 FROM …) asks for a row; how many there are is for GROUP BY in a query in FROM"
        return "an aggregate inside EXISTS always gives a row", hint
    return None


Moved = Mapping[object, ColumnRef]
"""By what stands in the joins that EXISTS asks, the column of their block that gives it."""


def _made(part: Part, select: Select, tying: Set[ColumnRef]) -> Iterator[Expression]:
    """What the joins make of columns that tie them to the rows around: as a query in FROM gives it, or a FULL JOIN."""
    visible = (*(column for table in part.tables.values() for column in table.columns), *part.merged)
    named = (column for column in visible if fold(column.name) in select.words)
    values = (value for column in named for value in column.ends or (column.value,))
    made = (value for value in values if isinstance(value, Expression) and value.columns)
    yield from dict.fromkeys(value for value in made if set(value.columns) <= tying)


def _moved(column: Visible, moved: Moved) -> Visible:
    ends = column.ends and (moved.get(column.ends[0], column.ends[0]), moved.get(column.ends[1], column.ends[1]))
    return replace(column, value=moved.get(column.value, column.value), ends=ends, window=None)


def _has_subquery(select: Select) -> bool:
    return select.where is not None and select.where.node.find(exp.Query) is not None
