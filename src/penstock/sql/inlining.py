"""Queries in FROM, inlined: made part of the query around them.

A query in FROM is **inlined** where that changes nothing: its streams, conditions and columns become those of the query
around it, so that all that is promised of its streams still counts. Else it is a block of its own, whose answer is a
stream. Theorem: inlining gives the same bag if

- the query is one SELECT without DISTINCT, groups, aggregates, hints, and nothing is declared of it, nor names it;
- its columns are columns, or deterministic expressions, which may be worked out wherever they are used;
- on the side of an outer join that may be absent, such an expression is NULL where its columns are (it is strict and
  has a column): an absent row has no literal in it;
- none of these is one of several times (`coalesce(a.ts, b.ts)`) where the query around groups or joins: that is a
  column of a block, and has a clock there;
- its WHERE can be moved: to the WHERE above, where every join on the way keeps its rows apart from each other (INNER,
  and the preserved side of LEFT and RIGHT); else to the filter of its one stream, or to the ON of its inner join;
- windows mean the same: [RANGE] and [ROWS] are about the rows of one block. A stream with a window inside is inlined
  only where FROM holds nothing else and WHERE has no EXISTS or IN; [RANGE] on the query itself, or anywhere in the FROM
  around it, asks for its one event time, so it is inlined if it is one stream that keeps its own; [ROWS]: a block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.model.clauses import Output, RowsWindow, Source, TimeWindow
from penstock.model.expressions import ColumnRef, Expression, Term, is_strict
from penstock.model.lineage import chosen_among
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, Join, JoinKind, Leaf, certain
from penstock.model.term_types import type_of
from penstock.model.window_columns import window_end, window_of
from penstock.sql.asked_conditions import asks_values
from penstock.sql.asked_in_joins import asks_in_joins
from penstock.sql.conditions import bind_condition
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_parts import Part, Position, Sources, items_of
from penstock.sql.outputs import OutputBinder
from penstock.sql.scope import NamedColumns, Scope, Visible
from penstock.sql.table_values import scalars_of
from penstock.sql.tree import FromItem, FromJoin, FromQuery, QueryText, Select

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

Wanted = tuple[str, str | None]
"""The alias that a source is to have in the model, and the alias of the query that it is inlined from, if any."""


class CannotInline(Exception):
    """The query must be a block."""


class Inliner:
    """Makes a query a part of the FROM that it stands in."""

    def __init__(self, binder: FromBinder) -> None:
        self.binder = binder
        self.source = binder.source
        self.sources = binder.sources

    def part(self, named: NamedQuery, item: FromItem | FromQuery, position: Position, wanted: Wanted) -> Part | None:
        """The part that it is; None, and mistakes, if it is wrong. Raises CannotInline where it must be a block."""
        alias, inside = wanted
        environment, select = plain_select(named)
        if select is None or named.is_declared or isinstance(item.window, RowsWindow):
            raise CannotInline
        if asks_values(select) or asks_in_joins(select.source):
            raise CannotInline
        if not position.is_alone and any(inner.window for inner in items_of(select.source)):
            raise CannotInline
        within = f"{inside}_{alias}" if inside else alias
        is_nameless = isinstance(item, FromQuery) and item.alias is None
        # What has no name goes by the name of the stream in it, which the user wrote.
        single = None if is_nameless or isinstance(select.source, FromJoin) else wanted
        here = replace(position, is_alone=position.is_alone and item.window is None)
        known = len(self.binder.missing)
        part = self.binder.part_of(select.source, here, environment, within, single)
        if part is None or len(self.binder.missing) > known:
            return None
        if position.is_one and not isinstance(part.tree, Leaf):
            raise CannotInline
        missing = frozenset(self.binder.missing)
        scope = part.scope(self.source, missing=missing, scalars=scalars_of(self.binder, part, environment))
        condition = bind_condition(select.where, scope, may_exist=True)
        self.binder.part = part
        existences = self.binder.queries.existences(
            condition.existences, scope, self.binder, environment, certain(part.tree)
        )
        before = len(self.source.mistakes)
        output_binder = OutputBinder(scope)
        outputs = output_binder.outputs(select)
        if len(self.source.mistakes) > before:
            raise CannotInline
        where = (*self.binder.predicates(condition), *output_binder.timed)
        there = frozenset() if position.may_be_absent else certain(part.tree)
        columns = [
            self._visible(output.name, output.value if isinstance(output, Output) else output, scope, position, there)
            for output in outputs.answer
        ]
        columns = self._named(columns, named)
        part = self._with_conditions(part, where, existences, position)
        part = self._with_window(part, item, columns)
        return replace(part, tables={alias: NamedColumns(alias, columns)}, merged=())

    def _visible(self, name: str, value: object, scope: Scope, position: Position, there: frozenset[str]) -> Visible:
        """A column of the query; `there` are the streams of which each row of the query around has a tuple."""
        match value:
            case ColumnRef():
                known = scope.visible(value) or Visible(name, value)
                return Visible(name, value, scope.type_of(value), ends=known.ends, made=known.made)
            case Expression(columns=columns, term=term, deterministic=True):
                if position.may_be_absent and not (columns and is_strict(term)):
                    raise CannotInline
                is_asked = self.binder.groups or len(self.binder.all_aliases) > 1
                if is_asked and is_one_of_several_times(term, scope, self.sources):
                    raise CannotInline
                # Of a stream that may be absent a window may be NULL, and groups by window() would leave that out.
                window = window_of(term) if there.issuperset(ref.alias for ref in columns) else None
                whole = None if window is None or window.end is not None else window
                ends = None if whole is None else (window_end(whole, "start"), window_end(whole, "end"))
                return Visible(name, value, type_of(term, scope.type_of), ends=ends, window=window, made=whole)
            case _:
                raise CannotInline

    def _named(self, columns: list[Visible], named: NamedQuery) -> list[Visible]:
        given = [name.text for name in named.columns] or [column.name for column in columns]
        if len(given) != len(columns) or len({fold(name) for name in given}) < len(given):
            raise CannotInline  # The block says what is wrong.
        return [replace(column, name=name) for column, name in zip(columns, given, strict=True)]

    def _with_conditions(
        self, part: Part, where: tuple[Predicate, ...], existences: tuple[Existence, ...], position: Position
    ) -> Part:
        """The part with the WHERE of the query that it comes from, moved to where it means the same."""
        if position.lifts:
            return replace(part, where=(*part.where, *where), existences=(*part.existences, *existences))
        if existences:
            raise CannotInline
        match part.tree:
            case Leaf(alias=alias):
                own = self.sources.by_alias[alias]
                self.sources.by_alias[alias] = replace(own, where=(*own.where, *where))
                return part
            case Join(kind=JoinKind.INNER) as join:
                return replace(part, tree=replace(join, on=(*join.on, *where)))
            case _ if where:
                raise CannotInline
        return part

    def _with_window(self, part: Part, item: FromItem | FromQuery, columns: list[Visible]) -> Part:
        """The part with the [RANGE] of the query, which is about its event time."""
        if item.window is None and not self.binder.has_range:
            return part
        if not isinstance(part.tree, Leaf):
            raise CannotInline
        own = self.sources.by_alias[part.tree.alias]
        kept = [column for column in columns if column.value == own.event_time]
        if (own.event_time is not None and len(kept) != 1) or (item.window is not None and own.window is not None):
            raise CannotInline
        if item.window is not None:
            self.sources.by_alias[part.tree.alias] = replace(own, window=item.window)
            self.sources.places[part.tree.alias] = item.at
        return part


def is_one_of_several_times(term: Term, scope: Scope, sources: Sources) -> bool:
    """Whether it is one of several times or windows of streams."""
    refs = chosen_among(term)
    if len({ref.alias for ref in refs}) < 2:
        return False
    return all(scope.ends_of(ref) is not None or _is_time(sources.by_alias[ref.alias], ref.column) for ref in refs)


def _is_time(source: Source, column: str) -> bool:
    """Whether a column may have a clock: that of a stream, or one that a block gives of such."""
    if source.stream.is_clock(column) or not isinstance(source.below, Query):
        return source.stream.is_clock(column)
    query = source.below
    output = next((output for output in query.answer if output.name == column), None)
    match output.value if isinstance(output, Output) else None:
        case ColumnRef() as ref:
            return _is_time(query.by_alias[ref.alias], ref.column)
        case Expression(term=term) if refs := chosen_among(term):
            return all(_is_time(query.by_alias[ref.alias], ref.column) for ref in refs)
        case TimeWindow(end=end):
            return end is not None
        case _:
            return False


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
