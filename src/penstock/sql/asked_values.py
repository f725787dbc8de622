"""EXISTS and IN beside OR, and as a value: `SELECT EXISTS (…) AS paid`, `WHERE vip OR EXISTS (…)`, in CASE, in FILTER.

The joins of FROM then are a block of their own, a UNION ALL of cases that have no row in common (`asked_conditions`).
In each of them every question is decided, by EXISTS or NOT EXISTS as conditions of its WHERE. Where its answer is a
value that the query around names, it is a column of the block: TRUE in one case, FALSE in another.

    SELECT o.id, EXISTS (a) AS paid FROM o
      = SELECT x.id, x.paid FROM (SELECT o.id, TRUE AS paid FROM o WHERE EXISTS (a)
                                  UNION ALL SELECT o.id, FALSE FROM o WHERE NOT EXISTS (a)) AS x

Theorem: this is the same bag. A row is in exactly one case in which WHERE holds, and EXISTS is never unknown. IN is,
where NULL is compared: that is a case of its own, in which no member is equal and one is not known to differ.

What is kept for a question is kept once for each case that asks it; a block that it asks is one for all cases. Not in
the language: hints beside it, questions in the ON of a join, and more than a dozen cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.clauses import Output, Source, Union
from penstock.model.expressions import Cast, ColumnRef, Expression, Literal
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, Leaf, certain, leaves
from penstock.model.stream import Stream
from penstock.model.table import as_read
from penstock.model.types import DataType, Kind
from penstock.records import record
from penstock.sql.aggregate_calls import CALL, words_of
from penstock.sql.asked_conditions import (
    AskedQuestion,
    Both,
    Case,
    Decided,
    Formula,
    Plain,
    asked_outside_where,
    cases_of,
    conditions_of,
    formula_of,
    is_asking,
    questions_in,
)
from penstock.sql.block_streams import declared_stream
from penstock.sql.conditions import Conjuncts, WrittenExists, bind_condition, bind_decided
from penstock.sql.environment import Environment
from penstock.sql.from_parts import Part, appending
from penstock.sql.joined_columns import JoinedColumns, named_in, named_of, with_columns
from penstock.sql.late_tables import LateTables
from penstock.sql.members import AskedOfNull
from penstock.sql.scope import NamedColumns, Scope, Visible
from penstock.sql.table_queries import reads_only_tables
from penstock.sql.table_values import scalars_of
from penstock.sql.tree import Code, Select
from penstock.sql.unions import common_event_time
from penstock.sql.words import tokens_of

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder
    from penstock.sql.selects import QueryBinder

ASKED = "asked"
"""How the names begin of what unites cases, and of these."""
_MOST_CASES = 12
_AROUND_GROUPS = (
    "ask it around the groups: SELECT g.k FROM (SELECT k, count(*) AS n FROM … GROUP BY …) AS g WHERE g.n IN (SELECT …)"
)
_TOO_MANY = "put some of them into a query in FROM, each as a column: (SELECT *, EXISTS (…) AS met FROM …) AS x"


@record
class _Value:
    """A question whose answer is a column."""

    name: str
    nodes: tuple[exp.Expr, ...]
    written: WrittenExists
    may_be_unknown: bool
    """Whether NULL may be compared, of which a case is made."""

    @property
    def answers(self) -> tuple[bool | None, ...]:
        return (True, False, None) if self.may_be_unknown else (True, False)

    def asked(self, answer: bool | None) -> Iterator[WrittenExists]:
        """What rows are asked that have such an answer."""
        is_in = self.written.members
        if answer is not None:
            negated = self.written.negated is answer
            yield replace(
                self.written, negated=negated, takes_unknown=is_in and negated, is_value=not self.may_be_unknown
            )
        else:
            yield replace(self.written, negated=True, takes_unknown=False)
            yield replace(self.written, negated=False, takes_unknown=True)


class AskedValues:
    """Makes the joins of a FROM a block in which all is answered that the query asks inside of expressions."""

    def __init__(
        self,
        queries: QueryBinder,
        binder: FromBinder,
        select: Select,
        environment: Environment,
        late: LateTables | None,
    ) -> None:
        self.queries = queries
        self.binder = binder
        self.source = binder.source
        self.select = select
        self.environment = environment
        self.late = late
        self.above: list[Code] = []
        """The conditions of WHERE that are left for the query around."""
        self.columns: dict[int, Visible] = {}
        """What a question is in the query around, by the identity of sqlglot's node."""
        self._plain: list[Code] = []
        self._formula: Formula = True
        self._places: list[Code] = []
        self._cases_of_rows: list[tuple[Query, Stream]] = []
        self._unknown: set[int] = set()
        """What is asked by IN, and may compare NULL: by the identity of the queries."""

    def joined(self, part: Part) -> Part | None:
        """The part that the block is; None, and mistakes, if it cannot be."""
        found = self._with_unknown(part)
        if found is None:
            self.binder.missing |= {fold(alias) for alias in part.tables}
            # What is wrong with them is told.
            nothing = Visible("answer", ColumnRef("", "answer"), DataType.of(Kind.BOOLEAN))
            self.columns = {id(node): nothing for value in self._read_values() for node in value.nodes}
        return found

    def _with_unknown(self, part: Part) -> Part | None:
        """The same, with a case of its own of each IN as a value that turns out to compare NULL."""
        known, sources = len(self.source.mistakes), dict(self.binder.sources.by_alias)
        while True:
            try:
                return self._joined(part)
            except AskedOfNull as asked:
                self._unknown.add(id(asked.query))
                self.source.forget(known)
                self.binder.sources.by_alias = dict(sources)

    def _joined(self, part: Part) -> Part | None:
        self._plain, self._places, self.above = [], [], []
        self._read_where()
        values = list(self._read_values())
        cases = list(islice(self._cases(values), _MOST_CASES + 1))
        at = self.select.at if not values else values[0].written.at
        at = self._places[0].at if self._places else at
        if len(cases) == 1 and not values:
            # NOT (p OR EXISTS (…)): no more than conditions joined by AND.
            kept = self._conditions(part, *cases[0])
            return None if kept is None else replace(part, where=kept[0], existences=kept[1])
        of_groups = [
            value for value in values if any(CALL in part.meta for part in value.nodes[0].find_all(exp.Column))
        ]
        for value in of_groups:
            told = "IN (SELECT …) of an aggregate is not in Penstock's language here"
            self.source.report(Refused, told, value.written.at, hint=_AROUND_GROUPS)
        if of_groups:
            return None
        if self.select.hints:
            told = "EXISTS or IN as a value, or beside OR, has no hints beside it"
            self.source.report(Refused, told, at, hint="leave the hints out, or join it to the rest by AND")
            return None
        if len(cases) > _MOST_CASES:
            told = f"these questions by EXISTS and IN make more than {_MOST_CASES} cases"
            self.source.report(Refused, told, at, hint=_TOO_MANY)
            return None
        columns = JoinedColumns(named_in(self.select))
        for alias, table in part.tables.items():
            columns.add(alias, table.columns)
        columns.add("", part.merged)
        alias = self.binder.sources.free_alias(ASKED)
        name = self.queries.free_name(alias)
        members: list[tuple[Query, Stream]] = []
        before = dict(self.binder.sources.by_alias)
        for number, (case, answers) in enumerate(cases, start=1):
            self.binder.sources.by_alias = dict(before)
            own = self.queries.free_name(f"{name}_{number}")
            outputs = (*columns.all, *(_output(value, answer) for value, answer in answers))
            query = self._case(part, case, answers, outputs, own)
            stream = None if query is None else self.queries.stream_of(query, at)
            if query is None or stream is None:
                return None
            members.append((query, stream))
        self.binder.sources.by_alias = {}
        united = self._united(members, name)
        if united is None:
            return None
        below, stream = united
        self._cases_of_rows = members
        chosen = self.binder.sources.add(stream, at, alias, None, below=below)
        tables = {key: NamedColumns(t.name, columns.shown(t.columns, chosen)) for key, t in part.tables.items()}
        for value in values:
            shown = Visible(value.name, ColumnRef(chosen, value.name), DataType.of(Kind.BOOLEAN))
            self.columns |= {id(node): shown for node in value.nodes}
        return Part(Leaf(chosen), tables, tuple(columns.shown(part.merged, chosen)))

    def _united(self, members: list[tuple[Query, Stream]], name: str) -> tuple[Union, Stream] | None:
        """The cases as one stream."""
        _, stream = members[0]
        whole = declared_stream(
            name,
            stream.columns,
            common_event_time(members),
            elements=(),
            at=self.select.at,
            source=self.source,
            known=self.queries.declared,
        )
        if whole is None:
            return None
        union = Union(tuple(Source(own, own.name, below=below) for below, own in members), of_cases=True)
        return union, replace(whole, is_nameless=True)

    def pruned(self, query: Query) -> Query:
        """The query over cases that give no column which nobody names."""
        if not self._cases_of_rows:
            return query
        (source,) = query.sources
        names = named_of(query, source, self.binder.asked)
        cases = [with_columns(case, names) for case, _ in self._cases_of_rows]
        streams = [self.queries.stream_of(case, self.select.at) for case in cases]
        members = [(case, own) for case, own in zip(cases, streams, strict=True) if own is not None]
        united = self._united(members, source.stream.name)
        assert united is not None
        below, stream = united
        made = appending(replace(source, stream=as_read(stream, source.stream), below=below))
        return replace(query, sources=(made,))

    def left(self, scope: Scope) -> Conjuncts:
        """What is left of WHERE for the query around."""
        bound = [bind_condition(code, scope) for code in self.above]
        return Conjuncts([predicate for one in bound for predicate in one.predicates])

    # What is asked

    def _read_where(self) -> None:
        formulas: list[Formula] = []
        for code in conditions_of(self.select):
            if self.late is not None and self.late.is_done(code.at):
                continue
            if not is_asking(code):
                self._plain.append(code)
                continue
            self._places.append(code)
            formula = formula_of(code.node, code)
            if formula is None:
                self.above.append(code)
            else:
                formulas.append(formula)
        self._formula = Both(tuple(formulas)) if formulas else True

    def _read_values(self) -> Iterator[_Value]:
        found: dict[tuple[str, ...], list[tuple[exp.Expr, WrittenExists]]] = {}
        asked = (*asked_outside_where(self.select), *(pair for code in self.above for pair in questions_in(code.node)))
        for node, written in asked:
            found.setdefault(words_of(tokens_of(node, ())), []).append((node, written))
        for number, pairs in enumerate(found.values(), start=1):
            written = pairs[0][1]
            unknown = written.members and (
                id(written.query) in self._unknown or reads_only_tables(written.query, self.environment)
            )
            yield _Value(f"answer_{number}", tuple(node for node, _ in pairs), written, unknown)

    def _cases(self, values: list[_Value]) -> Iterator[tuple[Case, Answers]]:
        for case in cases_of(self._formula):
            for answers in _answered(values):
                yield case, answers

    # A case

    def _conditions(
        self, part: Part, case: Case, answers: Answers
    ) -> tuple[tuple[Predicate, ...], tuple[Existence, ...]] | None:
        """What rows of a case keep; None, and mistakes, if it cannot be."""
        binder, before = self.binder, len(self.source.mistakes)
        scalars = scalars_of(binder, part, self.environment)
        missing = frozenset(binder.missing)
        scope = part.scope(self.source, missing=missing, scalars=scalars, hidden=self.environment.outside)
        plain = [bind_condition(code, scope, may_exist=True) for code in self._plain]
        # What WHERE asks by AND alone is asked below the tables that are joined late, if there are any.
        bound = plain if self.late is None else [self.late.left(one) for one in plain]
        for decided in case:
            match decided:
                case Decided(atom=AskedQuestion(written=written), holds=holds):
                    bound.append(Conjuncts([], [written if holds else replace(written, negated=not written.negated)]))
                case Decided(atom=Plain(code=code, denied=denied), holds=holds):
                    bound.append(bind_decided(code, scope, denied=denied, holds=holds))
        bound += [Conjuncts([], list(value.asked(answer))) for value, answer in answers]
        where = binder.predicates(Conjuncts([predicate for one in bound for predicate in one.predicates]))
        binder.known, binder.part = where, part
        asked = [existence for one in bound for existence in one.existences]
        existences = self.queries.existences(asked, scope, binder, self.environment, certain(part.tree))
        if len(self.source.mistakes) > before:
            return None
        return (*part.where, *where), (*part.existences, *existences)

    def _case(self, part: Part, case: Case, answers: Answers, outputs: tuple[Output, ...], name: str) -> Query | None:
        kept = self._conditions(part, case, answers)
        if kept is None:
            return None
        used = tuple(self.binder.sources.by_alias[alias] for alias in leaves(part.tree))
        return self.queries.built(name, used, Block(part.tree, outputs, *kept), self.select.at)


Answers = tuple[tuple[_Value, bool | None], ...]


def _answered(values: Iterable[_Value]) -> Iterator[Answers]:
    """Every choice of answers."""
    return product(*([(value, answer) for answer in value.answers] for value in values))


def _output(value: _Value, answer: bool | None) -> Output:
    if answer is None:
        term = Cast(Literal(None), DataType.of(Kind.BOOLEAN))
        return Output(value.name, Expression("CAST(NULL AS BOOLEAN)", (), term))
    return Output(value.name, Expression(str(answer).upper(), (), Literal(answer)))
