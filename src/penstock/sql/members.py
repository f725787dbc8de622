"""What IN compares: the values before it with the columns of its query, pair by pair, where NULL may be among them.

A member is **in the way** of `(e, …) NOT IN (SELECT c, …)` iff no pair of it is known to differ: each is equal, or has
a NULL on one side. So NOT IN is NOT EXISTS of such a member. To compare by keys it is asked in up to three of them:

- each pair is equal;
- some e is NULL, and each pair is equal or has a NULL;
- some c is NULL, and each pair is equal or has a NULL.

A member is in the way iff it is one of these, so a row stays iff none of them finds one. The last two are asked only
where such a NULL may be; a pair that can have none is compared by `=` there too. That NOT IN does not hold, as beside
OR, is one EXISTS of pairs that are equal or have a NULL.

Without a pair that is compared by keys the last two are tied to the row by what else the query compares with it. Where
nothing does, a single NULL to come would decide over all rows that wait: that is refused with what to write; so are a
value of a stream that may be absent, and what may be NULL and is of several streams, or of none.

Of IN as a value, `SELECT x IN (SELECT c …)`, unknown is an answer of its own: who binds it is told (`AskedOfNull`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.model.expressions import Call, ColumnRef, Expression, Literal, Term, has_value
from penstock.model.never_null import never_null
from penstock.model.predicates import PART, NullTest, Opaque, Predicate, Residual, aliases_of, rejects_null
from penstock.model.query_rules import predicate_problem
from penstock.records import record
from penstock.sql.conditions import WrittenExists
from penstock.sql.environment import Environment
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.scope import Scope
from penstock.sql.shared_columns import equality
from penstock.sql.tree import QueryText

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

INSIDE, OUTSIDE = "inside", "outside"

Value = ColumnRef | Expression


class AskedOfNull(Exception):
    """An IN that stands for a value may be unknown, so that rows of which it is are a case of their own."""

    def __init__(self, query: QueryText) -> None:
        super().__init__()
        self.query = query


@record
class _Pair:
    """A value before IN, and the column that it is compared with."""

    value: Value
    member: Value
    nulls: tuple[str, ...]
    """On which sides NULL may be."""

    @property
    def perhaps_equal(self) -> Predicate:
        """That the two are equal, or that nobody knows, as one is NULL."""
        return _perhaps_equal(self.value, self.member) if self.nulls else equality(self.value, self.member)


class MemberBinder:
    """Binds what the IN of one WHERE compare."""

    def __init__(self, binder: FromBinder, environment: Environment, there: frozenset[str]) -> None:
        self.binder = binder
        self.environment = environment
        self.there = there
        """The sources around that have a tuple in every row."""
        self.unknown: list[str] = []
        """On which sides NULL may be of the NOT IN that was bound last."""

    def add(self, written: WrittenExists, inside: list[Value], condition: list[Predicate], around: Scope) -> bool:
        """Add what IN compares to a condition; False, and mistakes, if it cannot be."""
        if not written.members:
            return True
        bound = [bind_column(node, around) or bind_node(node, tokens, around) for node, tokens in written.compared]
        outside = [value for value in bound if value is not None]
        if len(outside) != len(bound):
            return False
        if len(outside) != len(inside):
            self.binder.report(
                f"IN compares {len(outside)} with {len(inside)} columns",
                written.at,
                "the query selects as many as stand before IN",
            )
            return False
        pairs = [self._pair(value, other, condition) for value, other in zip(outside, inside, strict=True)]
        # Of a query over tables alone the types are asked: Spark evaluates it, NULLs and all.
        if not written.takes_unknown or self.environment.tables_are_streams:
            pairs = [_Pair(pair.value, pair.member, ()) for pair in pairs]
        elif written.null_of is not None:
            condition += _of_null(written.null_of, pairs)
            return True
        elif not self._may_be_unknown(written, pairs, condition):
            return False
        elif written.negated:
            self.unknown += [side for side in (OUTSIDE, INSIDE) if any(side in pair.nulls for pair in pairs)]
        for pair in pairs:
            predicate = equality(pair.value, pair.member)
            problem = predicate_problem(predicate, {**self.binder.sources.by_alias})
            if problem is not None:
                self.binder.report(problem.message, written.at, problem.hint)
                return False
            condition.append(predicate if written.negated else pair.perhaps_equal)
        return True

    def _pair(self, value: Value, other: Value, condition: list[Predicate]) -> _Pair:
        known, where = self.binder.known, tuple(condition)
        sides = (
            (OUTSIDE, self._has_value(value, known, is_there=self._is_there(value))),
            (INSIDE, self._has_value(other, where, is_there=True)),
        )
        return _Pair(value, other, tuple(place for place, is_known in sides if not is_known))

    def _is_there(self, value: Value) -> bool:
        named = (value,) if isinstance(value, ColumnRef) else value.columns
        return all(ref.alias in self.there for ref in named)

    def _may_be_unknown(self, written: WrittenExists, pairs: list[_Pair], condition: list[Predicate]) -> bool:
        """Whether it can be told what NULL does to it; False, and a mistake, if it cannot."""
        nulls = [(pair, place) for pair in pairs for place in pair.nulls]
        if not nulls:
            return True
        ties = [*condition, *(equality(pair.value, pair.member) for pair in pairs if not pair.nulls)]
        is_tied = any(len(aliases_of(p)) > 1 for p in ties) and all(self._is_there(pair.value) for pair in pairs)
        asked = [pair.value if place == OUTSIDE else pair.member for pair, place in nulls]
        if not is_tied or not all(map(_may_be_asked, asked)):
            self._refuse(written, next((v for v in asked if not _may_be_asked(v)), asked[0]))
            return False
        if written.is_value:
            raise AskedOfNull(written.query)
        return True

    def _has_value(self, value: Value, known: tuple[Predicate, ...], *, is_there: bool) -> bool:
        """Whether it is certain not to be NULL; `is_there`: whether its streams have a tuple in every row."""
        if isinstance(value, Expression):
            asked = Call("is not null", (value.term,))
            if value.deterministic and any(isinstance(p, Opaque) and p.expression.term == asked for p in known):
                return True
            return has_value(value.term, lambda ref: self._has_value(ref, known, is_there=is_there))
        if any(rejects_null(p) and value in p.columns for p in known):
            return True
        return is_there and never_null(self.binder.sources.by_alias[value.alias], value.column)

    def _refuse(self, written: WrittenExists, value: Value) -> None:
        told, instead = f"NOT IN with {value}, which may be NULL: one NULL keeps every row out", "NOT EXISTS"
        if written.is_value:
            told, instead = f"IN with {value}, which may be NULL: then it is neither true nor false", "EXISTS"
        declared = f" declare CHECK ({value.column} IS NOT NULL)," if isinstance(value, ColumnRef) else ""
        hint = f"add {value} IS NOT NULL to the WHERE that it stands in,{declared} or write {instead} (SELECT 1 …)"
        self.binder.report(told, written.at, hint, Refused)


def _may_be_asked(value: Value) -> bool:
    """Whether it can be asked whether it is NULL: a column, or what Spark can work out of one stream."""
    return isinstance(value, ColumnRef) or (value.deterministic and len({ref.alias for ref in value.columns}) == 1)


def _of_null(side: str, pairs: list[_Pair]) -> list[Predicate]:
    """What is asked of members of which nobody knows, since there is a NULL on this side."""
    asked = [pair.value if side == OUTSIDE else pair.member for pair in pairs if side in pair.nulls]
    return [_some_null(asked), *(pair.perhaps_equal for pair in pairs if len(pairs) > 1)]


def _some_null(values: list[Value]) -> Predicate:
    """That one of some values is NULL."""
    if len(values) == 1 and isinstance(values[0], ColumnRef):
        return NullTest(values[0], is_null=True)
    parts = [value for value in values if isinstance(value, Expression)]
    text = " OR ".join(f"{_text(value)} IS NULL" for value in values)
    whole = Expression(text, _columns(values), _or([Call("is null", (_term(value),)) for value in values]))
    if len({ref.alias for ref in whole.columns}) == 1:
        return Opaque(whole, text)
    return Residual(whole, text, tuple(parts), _or([Call("is null", (_standing(v, parts),)) for v in values]))


def _perhaps_equal(value: Value, other: Value) -> Predicate:
    parts = [side for side in (value, other) if isinstance(side, Expression)]
    one, two = _text(value), _text(other)
    text = f"{one} = {two} OR {one} IS NULL OR {two} IS NULL"
    whole = Expression(text, _columns([value, other]), _equal_or_null(_term(value), _term(other)))
    return Residual(whole, text, tuple(parts), _equal_or_null(_standing(value, parts), _standing(other, parts)))


def _equal_or_null(*sides: Term) -> Term:
    return _or([Call("=", sides), *(Call("is null", (side,)) for side in sides)])


def _or(terms: list[Call]) -> Call:
    return terms[0] if len(terms) == 1 else Call("or", tuple(terms))


def _term(value: Value) -> Term:
    return value if isinstance(value, ColumnRef) else value.term


def _standing(value: Value, parts: list[Expression]) -> Term:
    return value if isinstance(value, ColumnRef) else Call(PART, (Literal(parts.index(value)),))


def _text(value: Value) -> str:
    return str(value) if isinstance(value, ColumnRef) else f"({value.text})"


def _columns(values: list[Value]) -> tuple[ColumnRef, ...]:
    return tuple(sorted({ref for v in values for ref in ((v,) if isinstance(v, ColumnRef) else v.columns)}))
