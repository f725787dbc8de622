"""Expressions as the model's terms: sqlglot's tree, with its hundred classes, as columns, literals, casts and calls.

A function goes by the name that the user wrote, in lower case, and its arguments come with sqlglot's `this` first, so
that of `date_trunc('DAY', ts)` the first is the time. A chain of AND or of OR is one call. What nests deeper than any
reasonable expression, or is of no form that is known here, is UNREAD: nothing is claimed of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain

from sqlglot import exp

from penstock.model.expressions import UNREAD, Call, Cast, Expression, Literal, Term
from penstock.model.types import DataType, Kind
from penstock.sql.constants import decimal_of, span_of
from penstock.sql.declared_fields import path_type
from penstock.sql.scope import Resolved
from penstock.sql.tree import Stretch, TypeText
from penstock.sql.types import data_type

NAME_META = "name_as_written"
"""Where the parser leaves the name of a function as the user wrote it."""

TERM_META = "term"
"""Where a name that stands for something else has the term of it."""

_DEEPEST = 100

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseNot: "~",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Escape: "escape",
    exp.Not: "not",
    exp.Neg: "-",
    exp.Xor: "xor",
    exp.Between: "between",
    exp.Case: "case",
    exp.If: "if",
}
_CUTS = frozenset(
    {"YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK", "DAY", "DD", "HOUR", "MINUTE", "SECOND"}
    | {"MILLISECOND", "MICROSECOND"}
)
"""The units that date_trunc and trunc cut to."""
_NULL_TESTS = {"isnull": "is null", "isnotnull": "is not null"}
_CHAINS: dict[type[exp.Expr], str] = {exp.And: "and", exp.Or: "or"}


def term_of(
    node: exp.Expr, columns: Mapping[int, Resolved], depth: int = 0, standing: Mapping[int, Term] | None = None
) -> Term:
    """The term of an expression whose columns were resolved, each by the identity of its node.

    `standing` gives what stands for some of its nodes, by their identity too.
    """

    def read(part: exp.Expr) -> Term:
        return term_of(part, columns, depth + 1, standing)

    if standing is not None and id(node) in standing:
        return standing[id(node)]
    if depth > _DEEPEST:
        return _unread(node, columns)
    match node:
        case exp.Paren():
            return read(node.this)
        case exp.Column() if TERM_META in node.meta:
            term: Term = node.meta[TERM_META]
            return term
        case exp.Subquery():
            return read(node.this)
        case exp.Column() | exp.Select() | exp.Exists() | exp.In() | exp.Not() if id(node) in columns:
            found = columns[id(node)]
            value = found.column.value
            term = value.term if isinstance(value, Expression) else value
            return _typed(node, Call("field", (term,)), columns) if found.has_fields else term
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            return _typed(node, Call("field", (read(node.this),)), columns)
        case exp.Bracket():
            return _typed(node, Call("[]", tuple(map(read, _children(node)))), columns)
        case exp.Struct() if all(isinstance(part, exp.PropertyEQ) for part in node.expressions):
            pairs = ((Literal(part.name), read(part.expression)) for part in node.expressions)
            return Call("named_struct", tuple(chain.from_iterable(pairs)))
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Var():
            return _literal(node)
        case exp.Interval():
            # Of one unit alone, as Spark's type of it goes by its units.
            span = span_of(node) if isinstance(node.args.get("unit"), exp.Var) else None
            parts = (read(node.this),) if isinstance(node.this, exp.Expr) else ()
            return Literal(span) if span is not None else Call("interval", parts)
        case exp.Cast():
            return Cast(read(node.this), _type(node.to))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return Call("is null", (read(node.this),))
        case exp.Not(this=exp.Is(expression=exp.Null())):
            return Call("is not null", (read(node.this.this),))
        case exp.Is(expression=exp.Boolean(this=truth)):
            return Call("<=>", (read(node.this), Literal(bool(truth))))
        case exp.NullSafeNEQ():
            return Call("not", (Call("<=>", (read(node.this), read(node.expression))),))
        case exp.Anonymous(expressions=[only]) if (test := _NULL_TESTS.get(_name(node))) is not None:
            return Call(test, (read(only),))
        case exp.In() if node.expressions:
            return Call("in", tuple(read(part) for part in (node.this, *node.expressions)))
        case exp.Neg():
            inner = read(node.this)
            if isinstance(inner, Literal) and isinstance(inner.value, int | Decimal):
                return Literal(-inner.value)
            return Call("-", (inner,))
        case exp.And() | exp.Or():
            return Call(_CHAINS[type(node)], tuple(read(part) for part in _links(node)))
        case _ if type(node) in _OPERATORS:
            return Call(_OPERATORS[type(node)], tuple(map(read, _children(node))))
        case exp.TsOrDsAdd() if _name(node) in ("date_add", "dateadd"):
            return Call("date_add", (read(node.this), read(node.expression)))  # of days
        case exp.DateAdd() | exp.TimestampAdd():
            return Call("timestampadd", tuple(map(read, _children(node))))
        case exp.DateTrunc() | exp.TimestampTrunc() if str(node.args["unit"].name).upper() not in _CUTS:
            return _unread(node, columns)  # sqlglot takes a column there for the name of a unit
        case _ if isinstance(node, exp.Func) or NAME_META in node.meta:
            return Call(_name(node), tuple(map(read, _children(node))))
        case _:
            return _unread(node, columns)


def _typed(node: exp.Expr, term: Term, columns: Mapping[int, Resolved]) -> Term:
    """A field or an element, as what its declared type says it is: a cast to that changes nothing."""
    kind = path_type(node, columns)
    return term if kind is None else Cast(term, kind)


def _unread(node: exp.Expr, columns: Mapping[int, Resolved]) -> Term:
    named = [columns[id(part)] for part in node.find_all(exp.Column, exp.Select) if id(part) in columns]
    return Call(UNREAD, tuple(dict.fromkeys(ref for found in named for ref in found.column.columns)))


def _literal(node: exp.Expr) -> Term:
    match node:
        case exp.Boolean():
            return Literal(bool(node.this))
        case exp.Literal() if not node.is_string:
            return _number(node.name)
        case exp.Null():
            return Literal(None)
        case _:
            return Literal(node.name)


def _number(text: str) -> Term:
    if text.isdecimal():
        return Literal(int(text))
    number = decimal_of(text)
    if number is None:
        return Call(UNREAD, ())
    return Cast(Literal(number), DataType.of(Kind.DOUBLE)) if "e" in text.lower() else Literal(number)


def _type(node: exp.DataType) -> DataType | None:
    return data_type(TypeText(node, node.sql(dialect="spark"), Stretch(0, 0)))


def _links(node: exp.Expr) -> list[exp.Expr]:
    """The members of a chain from left to right; not by recursion, as a chain is as deep as it is long."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node.this, exp.Expr):
        yield node.this
    yield from (part for part in node.iter_expressions() if part is not node.this)


def _name(node: exp.Expr) -> str:
    """As the user wrote it; a few functions are no functions to sqlglot, such as from_utc_timestamp."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    written = node.meta.get(NAME_META)
    if isinstance(written, str):
        return written.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else UNREAD
