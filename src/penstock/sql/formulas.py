"""An output column that is an expression over aggregates: `60 * count(*) AS an_hour`; and the condition of HAVING.

Its aggregates become columns of the groups; what stands around them is handed to Spark as it was written. An expression
of sums, differences, multiples and parts of aggregates is linear in them: its terms are worked out here, so that an
analysis that has limits of the aggregates has limits of it.

HAVING may name outputs by their names: as in Spark a name there is a column that is grouped by, else an output, else a
column. What an output stands for then stands in its place.

A subquery over tables that gives one value is the same for all rows, so it is the largest of those of a group.

Not in the language: aggregates inside aggregates, and window(…) inside such an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.model.clauses import Aggregate, Formula, Piece, Scalar, columns_of
from penstock.model.expressions import ColumnRef, Term
from penstock.sql.aggregate_calls import CALL
from penstock.sql.constants import number_of
from penstock.sql.expressions import resolved_columns, subqueries_in
from penstock.sql.scope import Scope
from penstock.sql.terms import TERM_META, term_of
from penstock.sql.tree import Code
from penstock.sql.words import spelt

Value = Aggregate | Scalar | Formula
Named = Mapping[int, Value]
"""What stands in the place of a name, by the identity of its node."""


def bind_formula(
    name: str, code: Code, values: list[Value], scope: Scope, named: Named | None = None
) -> Formula | None:
    """The formula whose calls are these values, in their order; None, and mistakes, if it cannot stand."""
    instead: dict[int, Value] = dict(named or {})
    for node in code.node.find_all(exp.Column):
        if CALL in node.meta:
            instead[id(node)] = values[node.meta[CALL]]
        if id(node) in instead:
            node.meta[TERM_META] = _term(instead[id(node)])
    found = resolved_columns(code.node, code.at, scope)
    if found is None:
        return None
    places = {_start(n): (_end(n), _parts(instead[id(n)])) for n in code.node.find_all(exp.Column) if id(n) in instead}
    of_tables = set[ColumnRef]()
    for subquery in subqueries_in(code.node):
        value = found.by_node[id(subquery)].column.value
        inside = subquery.meta["tokens_inside"]
        places[inside[0].start] = (inside[-1].end, (Aggregate("max", value),))
        of_tables |= set(columns_of(value))
    pieces = tuple(_joined(_pieces(code.tokens, places, found.replaced, scope.source.text)))
    columns = {*(set(found.columns) - of_tables), *(ref for value in instead.values() for ref in _outside(value))}
    terms = _linear(code.node, values)
    term = term_of(code.node, found.by_node)
    return Formula(name, pieces, tuple(sorted(columns)), None if terms is None else _summed(terms), term)


def _parts(value: Value) -> tuple[Piece, ...]:
    return ("(", *value.pieces, ")") if isinstance(value, Formula) else (value,)


def _outside(value: Value) -> tuple[ColumnRef, ...]:
    """The columns that stand outside of aggregates and of keys that are no columns."""
    match value:
        case ColumnRef():
            return (value,)
        case Formula():
            return value.columns
        case _:
            return ()


def _term(value: Value) -> Term:
    match value:
        case ColumnRef():
            return value
        case Formula():
            return value.term
        case _:
            return ColumnRef("", str(value))


def _start(node: exp.Column) -> int:
    start: int = node.parts[0].meta["start"]
    return start


def _end(node: exp.Column) -> int:
    end: int = node.parts[-1].meta["end"]
    return end


def _pieces(
    tokens: tuple[Token, ...],
    places: Mapping[int, tuple[int, tuple[Piece, ...]]],
    replaced: dict[int, str],
    text: str,
) -> Iterator[Piece]:
    """The expression as it was written, what stands for something else set apart."""
    begin = 0
    for place, token in enumerate(tokens):
        if token.start in places and place >= begin:
            end, parts = places[token.start]
            yield from _between(tokens, begin, place, replaced, text)
            yield from parts
            begin = next(n + 1 for n in range(place, len(tokens)) if tokens[n].end == end)
    yield from _between(tokens, begin, len(tokens), replaced, text)


def _between(tokens: tuple[Token, ...], begin: int, end: int, replaced: dict[int, str], text: str) -> Iterator[str]:
    """The text of some tokens, with a blank where there was space before or after them."""
    if begin == end:
        return
    before = " " if begin and tokens[begin].start > tokens[begin - 1].end + 1 else ""
    after = " " if end < len(tokens) and tokens[end].start > tokens[end - 1].end + 1 else ""
    yield before + spelt(text, tokens[begin:end], replaced) + after


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Texts and columns side by side as one text."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str | ColumnRef):
            text += str(piece)
            continue
        if text:
            yield text
        yield piece
        text = ""
    if text:
        yield text


Linear = list[tuple[Aggregate | None, Fraction]]
"""Terms: a factor of an aggregate, or a number."""


def _linear(node: exp.Expr, values: list[Value]) -> Linear | None:
    """The terms of an expression; None if it is not linear in its aggregates."""
    match node:
        case exp.Paren():
            return _linear(node.this, values)
        case exp.Neg():
            return _scaled(_linear(node.this, values), Fraction(-1))
        case exp.Column() if CALL in node.meta:
            value = values[node.meta[CALL]]
            return [(value, Fraction(1))] if isinstance(value, Aggregate) else None
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = _linear(node.this, values), _linear(node.expression, values)
            if left is None or right is None:
                return None
            return _combined(node, left, right)
    number = number_of(node)
    return None if number is None else [(None, Fraction(number))]


def _combined(node: exp.Expr, left: Linear, right: Linear) -> Linear | None:
    if isinstance(node, exp.Add | exp.Sub):
        return [*left, *(_scaled(right, Fraction(1 if isinstance(node, exp.Add) else -1)) or [])]
    by_left, by_right = _constant(left), _constant(right)
    if isinstance(node, exp.Div):
        return _scaled(left, 1 / by_right) if by_right else None
    if by_right is not None:
        return _scaled(left, by_right)
    return None if by_left is None else _scaled(right, by_left)


def _scaled(terms: Linear | None, factor: Fraction) -> Linear | None:
    return None if terms is None else [(of, factor * by) for of, by in terms]


def _constant(terms: Linear) -> Fraction | None:
    return sum((by for _, by in terms), Fraction(0)) if all(of is None for of, _ in terms) else None


def _summed(terms: Linear) -> tuple[tuple[Aggregate, Fraction], ...]:
    found: dict[Aggregate, Fraction] = {}
    for aggregate, by in terms:
        if aggregate is not None:
            found[aggregate] = found.get(aggregate, Fraction(0)) + by
    return tuple(found.items())
