"""EXISTS and IN in the ON of a join: asked by WHERE, or a column of the side that they are about.

Theorem. What an inner join asks in ON may be asked by the WHERE above, where every join on the way keeps its rows apart
from each other (`Position.lifts`). What any other join asks is about one of its two sides: then whether it holds is a
column of that side, worked out below the join (`asked_values`), and ON compares that:

    a LEFT JOIN b ON b.k = a.k AND EXISTS (SELECT … WHERE … a.x …)
      = (SELECT a.*, EXISTS (…) AS answer FROM a) AS a LEFT JOIN b ON b.k = a.k AND a.answer

A condition that is no more than a question about a side of which ON may drop rows (the right of LEFT, SEMI and ANTI,
the left of RIGHT and SEMI, both of an inner join that cannot lift) is a WHERE of that side instead.

Not in the language: a question about both sides of such a join, beside windows (they are about the rows of one block),
beside a table that is joined late, and in the ON of a table that LEFT, SEMI or ANTI JOIN adds.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.names import quoted
from penstock.model.relation import certain, leaves
from penstock.sql.asked_conditions import AskedQuestion, formula_of, question_of, questions_in
from penstock.sql.asked_values import AskedValues
from penstock.sql.conditions import WrittenExists, conjuncts_of
from penstock.sql.environment import Environment
from penstock.sql.from_parts import AskedOfJoins, Part, Position
from penstock.sql.scope import Visible
from penstock.sql.table_queries import reads_only_tables
from penstock.sql.tree import Code, FromElements, FromJoin, FromPart, Select, SelectItem, Stretch, WrittenJoin
from penstock.sql.words import stretch_of, tokens_of

if TYPE_CHECKING:
    from penstock.sql.from_joins import JoinBinder

_LIFTED = {
    WrittenJoin.INNER: (True, True),
    WrittenJoin.LEFT: (True, False),
    WrittenJoin.RIGHT: (False, True),
    WrittenJoin.FULL: (False, False),
    WrittenJoin.SEMI: (True, False),
    WrittenJoin.ANTI: (True, False),
}
_DROPPED = {
    WrittenJoin.INNER: (True, True),
    WrittenJoin.LEFT: (False, True),
    WrittenJoin.RIGHT: (True, False),
    WrittenJoin.FULL: (False, False),
    WrittenJoin.SEMI: (True, True),
    WrittenJoin.ANTI: (False, True),
}
"""Whether ON may drop rows of the left side, and of the right one, before the two meet."""


def conjuncts(code: Code | None) -> list[Code]:
    """The conditions of an ON, or of a WHERE."""
    nodes = [] if code is None else conjuncts_of(code.node)
    return [_as_code(node, code) for node in nodes if code is not None]


def asks_in_joins(part: FromPart) -> bool:
    """Whether EXISTS or IN with a query stands in the ON of a join."""
    match part:
        case FromJoin(left=left, right=right):
            return asks_in_on(part) or asks_in_joins(left) or asks_in_joins(right)
        case FromElements(rows=rows):
            return asks_in_joins(rows)
        case _:
            return False


def asks_in_on(join: FromJoin) -> bool:
    """Whether it stands in the ON of this join."""
    return any(map(_asks, conjuncts(join.on)))


def with_questions_in_where(select: Select) -> Select:
    """The same query, what its inner joins ask in ON asked by WHERE, where that means the same."""
    if not select.words & {"exists", "in"} or not asks_in_joins(select.source):
        return select
    moved: list[Code] = []
    source = _without(select.source, moved)
    return replace(select, source=source, where=_all(conjuncts(select.where) + moved)) if moved else select


def _without(part: FromPart, moved: list[Code]) -> FromPart:
    match part:
        case FromElements(rows=rows):
            return replace(part, rows=_without(rows, moved))
        case FromJoin(kind=kind, left=left, right=right, on=on):
            lifts = _LIFTED[kind]
            left = _without(left, moved) if lifts[0] else left
            right = _without(right, moved) if lifts[1] else right
            own = conjuncts(on) if kind is WrittenJoin.INNER else []
            if asking := [code for code in own if _asks(code)]:
                moved += asking
                on = _all([code for code in own if not _asks(code)])
            return replace(part, left=left, right=right, on=on)
        case _:
            return part


class JoinQuestions:
    """What the ON of one join asks, about the side that it is about."""

    def __init__(self, joins: JoinBinder, written: FromJoin, environment: Environment, position: Position) -> None:
        self.joins = joins
        self.binder = joins.binder
        self.source = joins.source
        self.written = written
        self.environment = environment
        self.position = position
        self.columns: dict[int, Visible] = {}
        """What a question is in ON, by the identity of sqlglot's node."""

    def asked(self, left: Part, right: Part) -> tuple[Part, Part, Code | None] | None:
        """The two sides, with what is asked about them, and what is left of ON; None, and mistakes, if it cannot be."""
        self.binder.stop_inlining()
        own = conjuncts(self.written.on)
        sides = [left, right]
        columns: tuple[list[Code], list[Code]] = ([], [])
        filters: tuple[list[Code], list[Code]] = ([], [])
        rest: list[Code] = []
        for code in own:
            questions = [_as_code(node, code) for node, _ in questions_in(code.node)]
            places = [self._side(left, right, question) for question in questions]
            if None in places:
                return None
            found = [place for place in places if place is not None]
            is_one = len(found) == 1 and isinstance(formula_of(code.node, code), AskedQuestion)
            if is_one and _DROPPED[self.written.kind][found[0]]:
                filters[found[0]].append(code)
                continue
            rest.append(code)
            for place, question in zip(found, questions, strict=True):
                columns[place].append(question)
        for place in (0, 1):
            if not columns[place] and not filters[place]:
                continue
            side = self._answered(sides[place], columns[place], filters[place])
            if side is None:
                return None
            sides[place] = side
        return sides[0], sides[1], _all(rest)

    def _answered(self, side: Part, columns: list[Code], filters: list[Code]) -> Part | None:
        """A side as a block, with a column for each question, and without what a filter drops."""
        others = {a: s for a, s in self.binder.sources.by_alias.items() if a not in leaves(side.tree)}
        values, found = self._values(side, columns, filters)
        if found is not None and (found.where or found.existences):
            found = self.binder.as_block(found, self.written.at)
        self.binder.sources.by_alias = {**others, **self.binder.sources.by_alias}
        self.columns |= values.columns
        return found

    def _values(self, side: Part, columns: list[Code], filters: list[Code]) -> tuple[AskedValues, Part | None]:
        items = [SelectItem(code, None, None, code.at) for code in columns]
        words = self.binder.words
        if words is None or not items:
            items.append(SelectItem(None, None, None, self.written.at))
        at = Stretch(self.written.at.start, self.written.at.end)
        select = Select((), False, tuple(items), self.written, _all(filters), (), at, words=words or frozenset())
        values = AskedValues(self.binder.queries, self.binder, select, self.environment, None)
        return values, values.joined(side)

    # Which side a question is about

    def _side(self, left: Part, right: Part, question: Code) -> int | None:
        """0 for the left one, 1 for the right one; None, and mistakes, if it is neither."""
        written = question_of(question.node)
        assert written is not None
        if any(source.window is not None for source in self.binder.sources.by_alias.values()) or self.binder.has_range:
            self._refuse(written, "beside windows", "write it as a query in FROM, and its windows there")
            return None
        if self.binder.late_tables:
            table = quoted(self.binder.late_tables[0].alias)
            self._refuse(written, f"beside {table}, a table that is joined after the streams", "put it into WHERE")
            return None
        for place, side in enumerate((left, right)):
            if self._is_about(side, question) and self._is_plain(left, right, written):
                return place
        if self._is_plain(left, right, written, keeps=True):
            self._refuse(
                written,
                f"about both sides of {self.written.kind} JOIN",
                "ask about one side: EXISTS (SELECT … WHERE it names only that one); of both, join them first: "
                "(SELECT a.id, …, EXISTS (…) AS met FROM a JOIN b ON …) AS x, and LEFT JOIN that",
            )
        return None

    def _refuse(self, written: WrittenExists, where: str, hint: str) -> None:
        what = "IN (SELECT …)" if written.members else "EXISTS"
        told = f"{what} in ON, {where}, is not in Penstock's language"
        self.source.report(Refused, told, written.at, hint=hint)

    def _is_about(self, side: Part, question: Code) -> bool:
        """Whether a question can be asked about one side alone."""
        with _Trial(self):
            before = len(self.source.mistakes)
            values = self._values(side, [question], [])
            return values[1] is not None and len(self.source.mistakes) == before

    def _is_plain(self, left: Part, right: Part, written: WrittenExists, *, keeps: bool = False) -> bool:
        """Whether it can be asked beside both sides: each of its names means one thing there."""
        if reads_only_tables(written.query, self.environment) and not keeps:
            return True
        told = []
        with _Trial(self):
            before = len(self.source.mistakes)
            scope = self.joins.scope_of(left, right, WrittenJoin.INNER)
            there = certain(left.tree) | certain(right.tree)
            asked = replace(written, takes_unknown=False)
            with suppress(AskedOfJoins):
                self.binder.queries.existences([asked], scope, self.binder, self.environment, there)
            told = self.source.mistakes[before:]
        if keeps:
            self.source.say_again(told)
        return not told


class _Trial:
    """What is bound within is forgotten, with its mistakes."""

    def __init__(self, questions: JoinQuestions) -> None:
        self.binder = questions.binder
        self.queries = questions.binder.queries
        self.source = questions.source

    def __enter__(self) -> None:
        sources = self.binder.sources
        self.known = len(self.source.mistakes), set(self.binder.missing), self.binder.part, self.binder.known
        self.sources = dict(sources.by_alias), dict(sources.places), dict(sources.places_of_conditions)
        self.reserved = set(sources.reserved)
        self.names = self.queries.taken_names

    def __exit__(self, *_: object) -> None:
        sources = self.binder.sources
        mistakes, self.binder.missing, self.binder.part, self.binder.known = self.known
        self.source.forget(mistakes)
        sources.by_alias, sources.places, sources.places_of_conditions = self.sources
        sources.reserved = self.reserved
        self.queries.give_back(self.names)


def _asks(code: Code) -> bool:
    return any(questions_in(code.node))


def _as_code(node: exp.Expr, within: Code) -> Code:
    tokens = tokens_of(node, within.tokens)
    return Code(node, tokens, stretch_of(tokens))


def _all(codes: Iterable[Code]) -> Code | None:
    """Some conditions, joined by AND."""

    def both(one: Code, other: Code) -> Code:
        for code in (one, other):
            code.node.meta.setdefault("tokens", code.tokens)
        tokens = (*one.tokens, *other.tokens)
        return Code(exp.And(this=one.node, expression=other.node), tokens, one.at)

    found = list(codes)
    return reduce(both, found) if found else None
