"""Predicates: what the analyses understand, and what only Spark does.

A condition is a conjunction of these. Columns are named with their alias in a query, and with an empty alias in a
declaration, which is about its own stream. Each predicate keeps the user's own text, which plays no part in equality.

`Equalities` is the transitive closure: `x = y AND y = z` says `x = z` too. Every analysis reasons over these classes
and never over the predicates as written (ERRATA, SAFETY: Theorems 1 to 4 are wrong without it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from enum import StrEnum
from functools import cached_property

from penstock.model.expressions import UNREAD, Call, ColumnRef, Constant, Expression, Term, is_strict, with_columns
from penstock.model.spans import Span
from penstock.records import record


class Op(StrEnum):
    """A comparison."""

    EQ = "="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def mirrored(self) -> Op:
        """The same comparison read from the right."""
        return _MIRROR[self]

    @property
    def denied(self) -> Op | None:
        """The comparison that holds where this one is false; both are unknown where a side is NULL. `=` has none."""
        return _DENIED.get(self)


_MIRROR = {Op.EQ: Op.EQ, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_DENIED = {Op.LT: Op.GE, Op.LE: Op.GT, Op.GT: Op.LE, Op.GE: Op.LT}


@record
class Comparison:
    """Two columns compared."""

    left: ColumnRef
    op: Op
    right: ColumnRef
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@record
class _OfOneColumn:
    """What is said of one column alone."""

    column: ColumnRef

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.column,)


@record
class Bound(_OfOneColumn):
    """A column compared with a constant."""

    op: Op
    constant: Constant
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.column} {self.op} {self.constant.text}"


@record
class OneOf(_OfOneColumn):
    """A column that equals one of some constants."""

    constants: tuple[Constant, ...]
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(c.text for c in self.constants)})"


@record
class NoneOf(_OfOneColumn):
    """A column that has a value which is none of some constants: `<>`, NOT IN."""

    constants: tuple[Constant, ...]
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        if len(self.constants) == 1:
            return f"{self.column} <> {self.constants[0].text}"
        return f"{self.column} NOT IN ({', '.join(c.text for c in self.constants)})"


@record
class NullTest(_OfOneColumn):
    """`column IS NULL`, or `column IS NOT NULL`; never unknown."""

    is_null: bool
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.column} IS {'' if self.is_null else 'NOT '}NULL"


@record
class Difference:
    """`minuend - subtrahend op span`: two columns of one clock, at most or at least so far apart."""

    minuend: ColumnRef
    subtrahend: ColumnRef
    op: Op
    span: Span
    text: str = field(default="", compare=False)
    is_by_calendar: bool = field(default=False, compare=False)
    """Whether Spark counts it by the days of the session's zone: whole days added to a time, or times subtracted."""

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.minuend, self.subtrahend)

    def __str__(self) -> str:
        """As people write it: `p.ts <= o.ts + INTERVAL 1 HOUR`."""
        sign, span = ("-", replace(self.span, amount=-self.span.amount)) if self.span.amount < 0 else ("+", self.span)
        length = f"INTERVAL {_quoted_fraction(span)}" if span.unit else str(span)
        return f"{self.minuend} {self.op} {self.subtrahend} {sign} {length}"


def _quoted_fraction(span: Span) -> str:
    # Spark reads a fraction in an interval only inside quotes.
    number, _, unit = (text := span.spoken).partition(" ")
    return text if number.isdigit() else f"'{number}' {unit}"


@record
class Opaque:
    """A condition on one stream that only Spark evaluates."""

    expression: Expression
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return self.expression.columns

    def __str__(self) -> str:
        return self.expression.text


@record
class Residual:
    """A condition on several streams, or on none, that is no comparison of two columns.

    It rules rows out but closes nothing: it is tested on rows that have met, by the core or by Spark.
    """

    expression: Expression
    text: str = field(default="", compare=False)
    parts: tuple[Expression, ...] = field(default=(), compare=False, repr=False)
    """What in it is about one stream alone, as far as it can be taken out."""
    skeleton: Term = field(default=Call(UNREAD, ()), compare=False, repr=False)
    """Its term with `PART(n)` in place of each of them."""

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return self.expression.columns

    def __str__(self) -> str:
        return self.expression.text


PART = "part"
"""The function that stands for a part of a condition on several streams; its argument is the number of the part."""

Predicate = Comparison | Bound | OneOf | NoneOf | NullTest | Difference | Opaque | Residual


def aliases_of(predicate: Predicate) -> frozenset[str]:
    """The streams of the query that a predicate is about."""
    return frozenset(ref.alias for ref in predicate.columns)


def written(predicate: Predicate) -> str:
    """The predicate in the user's own words."""
    return predicate.text or str(predicate)


def rejects_null(predicate: Predicate) -> bool:
    """Whether it is false or unknown as soon as one of its columns is NULL; an opaque one where its term is strict."""
    match predicate:
        case NullTest(is_null=is_null):
            return not is_null
        case Opaque(expression=expression) | Residual(expression=expression):
            return is_strict(expression.term)
        case _:
            return True


def renamed(predicate: Predicate, name: Callable[[ColumnRef], ColumnRef]) -> Predicate:
    """The predicate over other columns; the text of an opaque one stays as it stands, for nobody reads it."""
    match predicate:
        case Comparison():
            return replace(predicate, left=name(predicate.left), right=name(predicate.right))
        case Difference():
            return replace(predicate, minuend=name(predicate.minuend), subtrahend=name(predicate.subtrahend))
        case Bound() | OneOf() | NoneOf() | NullTest():
            return replace(predicate, column=name(predicate.column))
        case Opaque(expression=expression) | Residual(expression=expression):
            columns = tuple(map(name, expression.columns))
            moved = replace(expression, columns=columns, term=with_columns(expression.term, name))
            return replace(predicate, expression=moved)


def conjunct(predicate: Predicate) -> str:
    """The predicate as one of several; one that may hold an OR is in parentheses."""
    return f"({predicate})" if isinstance(predicate, Opaque | Residual) else str(predicate)


def conjunction(predicates: tuple[Predicate, ...]) -> str:
    """The predicates as one condition."""
    return str(predicates[0]) if len(predicates) == 1 else " AND ".join(conjunct(p) for p in predicates)


@record
class Equalities:
    """The equivalence classes of columns under a set of predicates; each class sorted, the classes too."""

    classes: tuple[tuple[ColumnRef, ...], ...]

    @classmethod
    def of(cls, predicates: Iterable[Predicate]) -> Equalities:
        """Close the equalities among the predicates; other predicates are passed over."""
        parent: dict[ColumnRef, ColumnRef] = {}

        def root(ref: ColumnRef) -> ColumnRef:
            while parent.setdefault(ref, ref) != ref:
                parent[ref] = parent[parent[ref]]
                ref = parent[ref]
            return ref

        for predicate in predicates:
            if isinstance(predicate, Comparison) and predicate.op is Op.EQ:
                parent[root(predicate.left)] = root(predicate.right)
        members: dict[ColumnRef, list[ColumnRef]] = {}
        for ref in parent:
            members.setdefault(root(ref), []).append(ref)
        return cls(tuple(sorted(tuple(sorted(refs)) for refs in members.values())))

    @cached_property
    def _index(self) -> dict[ColumnRef, int]:
        return {ref: number for number, refs in enumerate(self.classes) for ref in refs}

    def class_of(self, ref: ColumnRef) -> tuple[ColumnRef, ...]:
        """All columns that equal this one, itself included."""
        number = self._index.get(ref)
        return (ref,) if number is None else self.classes[number]

    def equal(self, left: ColumnRef, right: ColumnRef) -> bool:
        """Whether the two must be equal."""
        return left == right or right in self.class_of(left)
