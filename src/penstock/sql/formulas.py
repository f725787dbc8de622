"""An output column that is an expression over aggregates: `60 * count(*) AS an_hour`.

Its aggregates are read one by one, from their own tokens, and become columns of the groups; what stands around them is
handed to Spark as it was written. An expression of sums, differences, multiples and parts of aggregates is linear in
them: its terms are worked out here, so that an analysis that has limits of the aggregates has limits of it.

Not in the language: aggregates inside aggregates, and window(…) inside such an expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.clauses import AGGREGATES, Aggregate, Formula
from penstock.model.expressions import Term
from penstock.sql.constants import number_of
from penstock.sql.expressions import resolved_columns
from penstock.sql.scope import Scope
from penstock.sql.terms import term_of
from penstock.sql.tree import Code
from penstock.sql.words import spelt


def outer_aggregates(node: exp.Expr) -> list[exp.AggFunc]:
    """The aggregates inside an expression that are in no other."""
    walked = node.walk(prune=lambda part: isinstance(part, exp.Query | exp.AggFunc))
    return [part for part in walked if isinstance(part, exp.AggFunc)]


def aggregates_in(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The tokens of each aggregate, from its name to the parenthesis that ends it."""
    place = 0
    while place < len(tokens) - 1:
        is_name = tokens[place].token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        called = tokens[place + 1].token_type is TokenType.L_PAREN
        if is_name and called and tokens[place].text.lower() in AGGREGATES:
            depth, end = 1, place + 2
            while depth and end < len(tokens):
                kind = tokens[end].token_type
                depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
                end += 1
            yield tokens[place:end]
            place = end
        else:
            place += 1


def bind_formula(name: str, code: Code, read: list[tuple[Aggregate, Code]], scope: Scope) -> Formula | None:
    """The formula of which some aggregates, in their order, were read; None, and mistakes, if it cannot stand."""
    around = code.node.copy().transform(lambda node: exp.Null() if isinstance(node, exp.AggFunc) else node)
    found = resolved_columns(around, code.at, scope)
    if found is None:
        return None
    pieces = tuple(_pieces(code, read, found.replaced, scope.source.text))
    terms = _linear(code.node, iter([aggregate for aggregate, _ in read]))
    return Formula(name, pieces, found.columns, None if terms is None else _summed(terms), _term(code.node, scope))


def _term(node: exp.Expr, scope: Scope) -> Term:
    """The expression with its aggregates as calls; mistakes in them were reported where they were read."""
    before = len(scope.source.mistakes)
    columns = {
        id(part): scope.resolve(part) for part in node.find_all(exp.Column) if not isinstance(part.this, exp.Star)
    }
    scope.source.forget(before)
    return term_of(node, {place: found for place, found in columns.items() if found is not None})


def _pieces(
    code: Code, read: list[tuple[Aggregate, Code]], replaced: dict[int, str], text: str
) -> Iterator[str | Aggregate]:
    """The expression as it was written, its aggregates set apart."""
    begin = 0
    for aggregate, own in read:
        first = next(n for n, token in enumerate(code.tokens) if token.start == own.tokens[0].start)
        yield from _between(code.tokens, begin, first, replaced, text)
        yield aggregate
        begin = first + len(own.tokens)
    yield from _between(code.tokens, begin, len(code.tokens), replaced, text)


def _between(tokens: tuple[Token, ...], begin: int, end: int, replaced: dict[int, str], text: str) -> Iterator[str]:
    """The text of some tokens, with a blank where there was space before or after them."""
    if begin == end:
        return
    before = " " if begin and tokens[begin].start > tokens[begin - 1].end + 1 else ""
    after = " " if end < len(tokens) and tokens[end].start > tokens[end - 1].end + 1 else ""
    yield before + spelt(text, tokens[begin:end], replaced) + after


Linear = list[tuple[Aggregate | None, Fraction]]
"""Terms: a factor of an aggregate, or a number."""


def _linear(node: exp.Expr, aggregates: Iterator[Aggregate]) -> Linear | None:
    """The terms of an expression, whose aggregates come from left to right; None if it is not linear in them."""
    match node:
        case exp.Paren():
            return _linear(node.this, aggregates)
        case exp.Neg():
            return _scaled(_linear(node.this, aggregates), Fraction(-1))
        case exp.AggFunc():
            return [(next(aggregates), Fraction(1))]
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = _linear(node.this, aggregates), _linear(node.expression, aggregates)
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
