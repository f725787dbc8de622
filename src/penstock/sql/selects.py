"""A query, bound: a SELECT with the streams of its FROM, its conditions and its outputs, over the blocks below it.

`QueryBinder` binds the queries of one script. Each becomes one block, a `Query`; what FROM, EXISTS or IN name and
cannot be inlined (`inlining`) becomes a block below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import QueryMistake, Refused
from penstock.model.clauses import Scalar, Source, Top, Union
from penstock.model.derived_columns import with_derived_columns
from penstock.model.expressions import Expression
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.names import fold
from penstock.model.problem import InvalidModel, Problem
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, certain, leaves
from penstock.model.stream import Stream
from penstock.model.table import with_table_joins
from penstock.sql.asked_conditions import asks_values
from penstock.sql.asked_in_joins import with_questions_in_where
from penstock.sql.asked_values import ASKED, AskedValues
from penstock.sql.block_streams import Declared, block_stream, with_names, with_window_ends
from penstock.sql.conditions import WrittenExists, bind_condition
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.first_rows import (
    bind_partition,
    first_rows,
    folded,
    numbered_in,
    refuse_beside_groups,
    refuse_unlimited,
)
from penstock.sql.from_clause import FromBinder
from penstock.sql.from_parts import AskedOfJoins, Part, Sources
from penstock.sql.group_columns import GroupColumns, Outputs
from penstock.sql.hints import bind_hints
from penstock.sql.inlining import is_one_of_several_times
from penstock.sql.joined_columns import named_in
from penstock.sql.late_tables import LateTables
from penstock.sql.made_times import made_times
from penstock.sql.outputs import OutputBinder
from penstock.sql.row_limits import numbers_of
from penstock.sql.scope import Scope
from penstock.sql.set_operations import SetBinder
from penstock.sql.source import SourceText
from penstock.sql.subqueries import SubqueryBinder
from penstock.sql.table_values import scalars_of
from penstock.sql.time_windows import WindowReader, is_distinct_by_window
from penstock.sql.tree import (
    Element,
    FromItem,
    FromQuery,
    QueryBody,
    QueryText,
    Select,
    SetOperation,
    Stretch,
    Values,
)
from penstock.sql.twin_streams import read_apart


class QueryBinder:
    """Binds the queries of one script; `declared` is for what is declared of views."""

    def __init__(self, source: SourceText, declared: Declared, taken: set[str], limits: Mapping[int, int]) -> None:
        self.source = source
        self.declared = declared
        self._taken = taken
        """Folded names of streams, views and sinks, which no block of another name may have."""
        self._sets = SetBinder(self)
        self._asked: list[tuple[Query, Stream]] = []
        """The blocks that EXISTS and IN ask."""
        self._anonymous: dict[int, NamedQuery] = {}
        self._moved: list[Select] = []
        """What is known by its identity, and is to live as long."""
        self._limits = dict(limits)
        """How many rows of a partition are wanted, by the identity of the SELECT that numbers them."""

    def anonymous(self, written: FromQuery, named: NamedQuery) -> NamedQuery:
        """A query in FROM, the same each time that it is looked at."""
        return self._anonymous.setdefault(id(written), named)

    def bind(self, text: QueryText, environment: Environment, name: str, sink: str | None) -> Query | None:
        """The query; None, and mistakes, if it cannot be."""
        body: QueryBody = text
        while isinstance(body, QueryText):
            environment, body = environment.within(body.common), body.body
        if isinstance(body, SetOperation):
            return self._sets.bind(body, environment, name, sink)
        if isinstance(body, Values):
            return self._sets.values(body, environment, name, sink)
        return self._select(body, environment, name, sink)

    def built(
        self, name: str, sources: tuple[Source, ...], block: Block, at: Stretch, sink: str | None = None
    ) -> Query | None:
        """The query, if its columns can be compared."""
        try:
            return self.select(name, sources, block, at, sink=sink)
        except InvalidModel as invalid:
            for problem in invalid.problems:
                self.source.report(QueryMistake, problem.message, at, hint=problem.hint)
            return None

    def select(
        self,
        name: str,
        sources: tuple[Source, ...],
        block: Block,
        at: Stretch,
        *,
        sink: str | None = None,
        hints: Hints = NO_HINTS,
    ) -> Query | None:
        """The query over streams as they are read; InvalidModel where it breaks a rule, None where it said so."""
        read = read_apart(sources, block, self.free_name, lambda below: self.stream_of(below, at))
        if read is None:
            return None
        return Query.select(name, *with_derived_columns(*with_table_joins(*read)), sink=sink, hints=hints)

    def block(self, named: NamedQuery) -> tuple[Query | Union, Stream] | None:
        """A named query as a block of its own, or several; None, and mistakes, if it cannot be."""
        before = len(self.source.mistakes)
        if named.block is None and not named.is_wrong and (rows := self._sets.all_rows(named)) is not None:
            environment, bodies, at = rows
            name = named.name.text if named.is_view else self.free_name(named.name.text)
            named.block = self._sets.union(bodies, environment, name, at, named=named)
            named.is_wrong = named.block is None
        elif named.block is None and not named.is_wrong:
            query = self.bound(named)
            query = None if query is None else with_window_ends(query)
            stream = (
                None if query is None else self.stream_of(query, named.name.at, named.elements, is_view=named.is_view)
            )
            if query is None or stream is None:
                named.is_wrong = True
            else:
                named.block = query, stream
        if named.is_wrong:
            named.say(self.source, before)
        return named.block

    def bound(self, named: NamedQuery) -> Query | None:
        """A named query by itself."""
        name = named.name.text if named.is_view else self.free_name(named.name.text)
        query = self.bind(named.query, named.environment, name, None)
        if query is not None and query.hints != NO_HINTS:
            self.source.report(
                Refused,
                f"hints inside {named.name.text} are not in Penstock's language",
                named.query.at,
                hint="hints stand in the outermost SELECT",
            )
            return None
        return None if query is None else with_names(query, named.columns, self.source)

    def stream_of(
        self, query: Query, at: Stretch, elements: tuple[Element, ...] = (), *, is_view: bool = False
    ) -> Stream | None:
        """The answer of a block as a stream, of which something may be declared where it is a view."""
        stream = block_stream(query, elements=elements, at=at, source=self.source, known=self.declared)
        return stream if is_view or stream is None else replace(stream, is_nameless=True)

    def asked_once(self, query: Query, stream: Stream) -> tuple[Query, Stream]:
        """A block that is asked; the one that is there already where another case of a query asks the same."""
        same = (one for one in self._asked if replace(query, name=one[0].name) == one[0])
        known = next(same, None)
        if known is None:
            self._asked.append((query, stream))
        return known or (query, stream)

    def free_name(self, wanted: str) -> str:
        """A name for a block that nothing else has."""
        name, number = wanted, 1
        while fold(name) in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(fold(name))
        return name

    @property
    def taken_names(self) -> frozenset[str]:
        """The folded names that something has."""
        return frozenset(self._taken)

    def give_back(self, known: frozenset[str]) -> None:
        """Free the names of cases that were taken since only these were: what had them is forgotten."""
        self._taken -= {name for name in self._taken - known if name.startswith(ASKED)}

    def existences(
        self,
        written: list[WrittenExists],
        around: Scope,
        binder: FromBinder,
        environment: Environment,
        there: frozenset[str],
    ) -> tuple[Existence, ...]:
        """What EXISTS and IN ask, each with its own scope inside the one around it."""
        subqueries = SubqueryBinder(self, binder, environment, there)
        return tuple(existence for one in written for existence in subqueries.existences(one, around))

    def _select(self, select: Select, environment: Environment, name: str, sink: str | None) -> Query | None:
        select = self._asked_by_where(select)
        if is_distinct_by_window(select):
            # Each row once: the groups of all columns, which windows close.
            select = replace(select, distinct=False, groups_by_all=True)
        before = len(self.source.mistakes)
        if (whole := self._folded(select, environment, name, sink)) is not None:
            return whole
        told = self.source.mistakes[before:]
        self.source.forget(before)
        try:
            query = self._bound_select(select, environment, name, sink, tables_last=False)
        except AskedOfJoins:
            self.source.forget(before)
            query = self._bound_select(select, environment, name, sink, tables_last=True)
        if query is None and len(self.source.mistakes) == before:
            # A query below is wrong, which was told when it was first looked at.
            for mistake in told:
                self.source.add(mistake)
        return query

    def _asked_by_where(self, select: Select) -> Select:
        """A query that asks in WHERE what its inner joins ask in ON; its rows are limited alike."""
        moved = with_questions_in_where(select)
        if moved is not select and id(select) in self._limits:
            self._limits[id(moved)] = self._limits[id(select)]
            self._moved.append(moved)
        return moved

    def late_tables(self, binder: FromBinder, select: Select, environment: Environment) -> LateTables | None:
        """What joins tables after the streams; None if there are none to join so."""
        needed = bool(binder.late_tables) or binder.tables_last
        return LateTables(self, binder, select, environment) if needed else None

    def _bound_select(
        self, select: Select, environment: Environment, name: str, sink: str | None, *, tables_last: bool
    ) -> Query | None:
        before = len(self.source.mistakes)
        sources = Sources()
        binder = FromBinder(self.source, sources, self, tables_last=tables_last)
        part, late, asked = self._whole_from(binder, select, environment)
        missing = frozenset(binder.missing)
        answers = None if asked is None else asked.columns
        # Where FROM is wrong, which is told, nothing is said of a value of tables.
        outer = Scope(self.source, {}, missing=missing, asked=answers, scalars=lambda _query, _beside: None)
        if part is not None:
            scalars = scalars_of(binder, part, environment)
            outer = part.scope(self.source, missing=missing, scalars=scalars, hidden=environment.outside, asked=answers)
        condition = bind_condition(select.where, outer, may_exist=True) if asked is None else asked.left(outer)
        condition = condition if late is None or asked is not None else late.left(condition)
        where = binder.predicates(condition)
        binder.known, binder.part = where, part
        existences = self.existences(
            condition.existences, outer, binder, environment, frozenset() if part is None else certain(part.tree)
        )
        output_binder = OutputBinder(outer)
        outputs = output_binder.outputs(select)
        if output_binder.gives_windows and select.distinct:
            # Each row once: the groups of all columns, which windows close.
            self.source.forget(before)
            once = replace(select, distinct=False, groups_by_all=True)
            return self._bound_select(once, environment, name, sink, tables_last=tables_last)
        where = (*where, *output_binder.timed)
        group_by = output_binder.group_by(select)
        having = output_binder.having(select.having, group_by)
        hints = bind_hints(select.hints, outer)
        partition = self._partition(select, outer)
        if part is None or missing or len(self.source.mistakes) > before:
            binder.report_windows()
            return None
        groups = outputs.of_groups(having, select.at if select.having is None else select.having.around.at)
        top: Top | None = None
        if partition is not None:
            group_by, top = partition
            columns, shown = first_rows(groups.columns, group_by, top.ordering)
            groups = GroupColumns(columns, groups.at, shown)
        try:
            block = Block(
                part.tree,
                groups.columns,
                (*part.where, *where),
                (*part.existences, *existences),
                select.distinct,
                group_by,
                groups.shown,
                having,
                top,
                output_binder.grouping_sets(select, group_by),
            )
            used = tuple(sources.by_alias[alias] for alias in leaves(part.tree))
            query = self.select(name, used, block, select.at, sink=sink, hints=hints)
            if query is None or (late is None and asked is None):
                return query
            return asked.pruned(query) if asked is not None else late.pruned(query) if late is not None else query
        except InvalidModel as invalid:
            for problem in invalid.problems:
                at, hint = _place(problem, select, outputs, groups, sources), problem.hint
                if self.source.text[at.start : at.end].endswith("*"):
                    hint = "name the columns instead of *"
                self.source.report(QueryMistake, problem.message, at, hint=hint)
            return None

    def _whole_from(
        self, binder: FromBinder, select: Select, environment: Environment
    ) -> tuple[Part | None, LateTables | None, AskedValues | None]:
        """FROM with all that is joined to it, and what joins tables late, or values that are asked for, if any does."""
        binder.words = named_in(select)
        is_grouped = bool(select.group_by or select.groups_by_all or select.distinct)
        binder.groups = is_grouped or bool(numbers_of(select))
        part = binder.bind(select.source, environment, select.where)
        late = self.late_tables(binder, select, environment)
        part = late.joined(part) if part is not None and late is not None else part
        asked = AskedValues(self, binder, select, environment, late) if asks_values(select) else None
        part = asked.joined(part) if part is not None and asked is not None else part
        if part is not None and binder.groups and late is None and asked is None:
            part = self._with_merged_times(part, binder, select)
        return part, late, asked

    def _with_merged_times(self, part: Part, binder: FromBinder, select: Select) -> Part:
        """FROM; as a block where rows are grouped and USING made a column of several times, which has a clock there."""
        scope = part.scope(self.source)
        made = made_times(select, scope, WindowReader(scope))
        if made and not select.hints:
            return binder.as_block(part, select.at, made) or part
        merged = [column.value.term for column in part.merged if isinstance(column.value, Expression)]
        if not any(is_one_of_several_times(term, scope, binder.sources) for term in merged) or select.hints:
            return part
        return binder.as_block(part, select.at) or part

    def _folded(self, select: Select, environment: Environment, name: str, sink: str | None) -> Query | None:
        """A query that asks no more of a numbered one than its first rows, as one with it."""
        item, numbered = select.source, [*numbered_in(select, environment)]
        if (
            not isinstance(item, FromItem | FromQuery)
            or len(numbered) != 1
            or id(numbered[0].select) not in self._limits
        ):
            return None
        named = environment.look(item.stream.text) if isinstance(item, FromItem) else None
        if isinstance(named, NamedQuery) and (named.columns or named.is_declared):
            return None
        if isinstance(item, FromQuery) and item.columns:
            return None
        text = named.query if isinstance(named, NamedQuery) else item.query if isinstance(item, FromQuery) else None
        around = named.environment if isinstance(named, NamedQuery) else environment
        query = None if text is None else self.bind(text, around, name, sink)
        return None if query is None else folded(select, query, numbered[0], item)

    def _partition(self, select: Select, scope: Scope) -> tuple[tuple[Scalar, ...], Top] | None:
        """What the rows of a SELECT are numbered by; None if they are not, or it cannot be."""
        numbers = numbers_of(select)
        for item in numbers:
            has_groups = bool(select.group_by or select.groups_by_all or select.having or select.distinct)
            if has_groups or len(numbers) > 1:
                refuse_beside_groups(item, scope)
                return None
            if item.alias is None or id(select) not in self._limits:
                refuse_unlimited(item, scope)
                return None
            assert item.number is not None
            found = bind_partition(item.number, scope)
            return None if found is None else (found[0], Top(self._limits[id(select)], found[1]))
        return None


def _place(problem: Problem, select: Select, outputs: Outputs, groups: GroupColumns, sources: Sources) -> Stretch:
    subject = problem.subject
    if subject.kind == "source":
        return sources.places.get(subject.name, select.at)
    if subject.kind == "predicate" and subject.name in sources.places_of_conditions:
        return sources.places_of_conditions[subject.name]
    keys = tuple(code.at for code in select.group_by)
    places = {"output": groups.at, "shown": outputs.at, "group": keys}.get(subject.kind, ())
    if subject.index < len(places):
        return places[subject.index]
    return Stretch(select.at.start, select.at.start + len("SELECT"))
