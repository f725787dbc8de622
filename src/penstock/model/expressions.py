"""Scalar expressions, typed when they are bound: what Spark evaluates, and what is known of it without Spark.

An expression keeps the text that Spark is handed, and beside it a **term**: the same thing as a tree of columns,
literals, casts and calls. Everything that an analysis or a rule wants to know of an expression it asks of the term,
never of the text. Operators are calls too, named by their sign; AND and OR take any number of arguments. What the
binder does not read is `Call(UNREAD, …)` over the columns in it, of which nothing is known.

A term answers two questions here. It is **deterministic** if every function in it is known to give the same value for
the same arguments. It is **strict** if it is NULL as soon as one of its columns is. Both are known to hold or not
known; which value an expression has only Spark says. That a term rises with its columns is asked in `monotone`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from penstock.model.functions import DETERMINISTIC, RANDOM, STRICT
from penstock.model.names import quoted
from penstock.model.spans import Span
from penstock.model.types import DataType
from penstock.records import record


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column of one stream of a query; the alias is empty inside a declaration."""

    alias: str
    column: str

    def __str__(self) -> str:
        return f"{quoted(self.alias)}.{quoted(self.column)}" if self.alias else quoted(self.column)


Value = bool | int | Decimal | str | dt.date | dt.datetime
"""A constant, in the domain of the column that it is compared with."""


@record
class Constant:
    """A literal: its text, and its value."""

    text: str
    value: Value


@record
class Literal:
    """A literal inside an expression; None is NULL. A number keeps its digits, a length of time its unit."""

    value: Value | Span | None


@record
class Cast:
    """`CAST(value AS type)`, `value :: type`, `DATE '…'`; the type is None where Spark has none of that name."""

    value: Term
    to: DataType | None


@record
class Call:
    """A function or an operator over its arguments; the name in lower case, as Spark's users write it."""

    function: str
    arguments: tuple[Term, ...]


Term = ColumnRef | Literal | Cast | Call

UNREAD = "?"
"""The function of a term that was not read."""


def parts_of(term: Term) -> Iterator[Term]:
    """A term and all that it is made of."""
    waiting: list[Term] = [term]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Cast(value=value):
                waiting.append(value)
            case Call(arguments=arguments):
                waiting += arguments
            case _:
                pass


def with_columns(term: Term, column: Callable[[ColumnRef], Term]) -> Term:
    """The term with something in place of each of its columns."""
    match term:
        case ColumnRef():
            return column(term)
        case Cast(value=value):
            return Cast(with_columns(value, column), term.to)
        case Call(arguments=arguments):
            return Call(term.function, tuple(with_columns(argument, column) for argument in arguments))
        case _:
            return term


def columns_in(term: Term) -> tuple[ColumnRef, ...]:
    """The columns of a term, each once, in order."""
    return tuple(sorted({part for part in parts_of(term) if isinstance(part, ColumnRef)}))


def is_deterministic(term: Term) -> bool:
    """Whether it is known to give the same value for the same columns."""
    return all(part.function in DETERMINISTIC for part in parts_of(term) if isinstance(part, Call))


def is_random(term: Term) -> bool:
    """Whether it is known to give another value each time."""
    return any(part.function in RANDOM for part in parts_of(term) if isinstance(part, Call))


def is_strict(term: Term) -> bool:
    """Whether it is known to be NULL as soon as one of its columns is."""
    return all(_gives_null(part) for part in parts_of(term) if isinstance(part, Call))


def has_value(term: Term, known: Callable[[ColumnRef], bool]) -> bool:
    """Whether it is certain not to be NULL, if that is known of some columns; little is claimed."""
    match term:
        case Literal(value=value):
            return value is not None
        case ColumnRef():
            return known(term)
        case Call(function="coalesce" | "nvl" | "ifnull", arguments=arguments):
            return any(has_value(argument, known) for argument in arguments)
        case Call(function="lower" | "upper" | "trim" | "concat" | "||", arguments=arguments):
            return all(has_value(argument, known) for argument in arguments)
        case _:
            return False


def _gives_null(call: Call) -> bool:
    # `1 IN (a, 1)` is true whatever a is: only what is looked for makes IN unknown.
    is_search = call.function == "in" and all(isinstance(other, Literal) for other in call.arguments[1:])
    return is_search or call.function in STRICT


@record
class Expression:
    """A scalar expression that only Spark evaluates: its text with every column resolved, those columns, its term."""

    text: str
    columns: tuple[ColumnRef, ...]
    term: Term = field(default=Call(UNREAD, ()), compare=False, repr=False)

    @cached_property
    def deterministic(self) -> bool:
        """True only where every function in it is known to give the same value for the same arguments."""
        return is_deterministic(self.term)

    def __str__(self) -> str:
        return self.text
