"""Predicates: what the analyses understand, and what only Spark does.

A condition is a conjunction of these. Columns are named with their alias in a query, and with an empty alias in a
declaration, which is about its own stream. Each predicate keeps the user's own text, which plays no part in equality.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from penstock.model.names import quoted
from penstock.model.spans import Span


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


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column of one stream of a query; the alias is empty inside a declaration."""

    alias: str
    column: str

    def __str__(self) -> str:
        return f"{quoted(self.alias)}.{quoted(self.column)}" if self.alias else quoted(self.column)


Value = bool | int | Decimal | str | dt.date | dt.datetime
"""A constant, in the domain of the column that it is compared with."""


@dataclass(frozen=True)
class Constant:
    """A literal: its text, and its value."""

    text: str
    value: Value


@dataclass(frozen=True)
class Expression:
    """A scalar expression that only Spark evaluates: its text with every column resolved, and those columns."""

    text: str
    columns: tuple[ColumnRef, ...]
    deterministic: bool = False
    """True only where every function in it is known to give the same value for the same arguments."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Bound:
    """A column compared with a constant."""

    column: ColumnRef
    op: Op
    constant: Constant
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.column,)

    def __str__(self) -> str:
        return f"{self.column} {self.op} {self.constant.text}"


@dataclass(frozen=True)
class OneOf:
    """A column that equals one of some constants."""

    column: ColumnRef
    constants: tuple[Constant, ...]
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.column,)

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(c.text for c in self.constants)})"


@dataclass(frozen=True)
class Difference:
    """`minuend - subtrahend op span`: two columns of one clock, at most or at least so far apart."""

    minuend: ColumnRef
    subtrahend: ColumnRef
    op: Op
    span: Span
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.minuend, self.subtrahend)

    def __str__(self) -> str:
        span = f"INTERVAL {_signed(self.span)}" if self.span.unit else str(self.span)
        return f"{self.minuend} - {self.subtrahend} {self.op} {span}"


def _signed(span: Span) -> str:
    # Spark reads a sign or a fraction in an interval only inside quotes.
    number, _, unit = str(span).partition(" ")
    return f"{number} {unit}" if number.isdigit() else f"'{number}' {unit}"


@dataclass(frozen=True)
class Opaque:
    """A condition on at most one stream that only Spark evaluates."""

    expression: Expression
    text: str = field(default="", compare=False)
    excluded: tuple[Constant, ...] = field(default=(), compare=False)
    """Where it says that its one column is none of some constants (`<>`, NOT IN) and no more than that: these."""

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return self.expression.columns

    def __str__(self) -> str:
        return self.expression.text


Predicate = Comparison | Bound | OneOf | Difference | Opaque


def aliases_of(predicate: Predicate) -> frozenset[str]:
    """The streams of the query that a predicate is about."""
    return frozenset(ref.alias for ref in predicate.columns)


def written(predicate: Predicate) -> str:
    """The predicate in the user's own words."""
    return predicate.text or str(predicate)


def rejects_null(predicate: Predicate) -> bool:
    """Whether it is false or unknown as soon as one of its columns is NULL; an opaque one may not be."""
    return not isinstance(predicate, Opaque)


def conjunct(predicate: Predicate) -> str:
    """The predicate as one of several; one that may hold an OR is in parentheses."""
    return f"({predicate})" if isinstance(predicate, Opaque) else str(predicate)


def conjunction(predicates: tuple[Predicate, ...]) -> str:
    """The predicates as one condition."""
    return str(predicates[0]) if len(predicates) == 1 else " AND ".join(conjunct(p) for p in predicates)
