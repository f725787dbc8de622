"""Hints, bound."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import QueryMistake
from penstock.model.expressions import Call, Expression
from penstock.model.hints import EVICTION_POLICIES, NO_HINTS, Budget, ErrorAllowance, Hints, Monitoring
from penstock.sql.expressions import bind_expression, bind_node
from penstock.sql.scope import Scope
from penstock.sql.tree import Code, Hint, Stretch


def bind_hints(written: tuple[Hint, ...], scope: Scope) -> Hints:
    """The hints of a query; mistakes are left in the source."""
    made: dict[str, Any] = {}
    for hint in written:
        field = _FIELDS[hint.name]
        if field in made:
            scope.report(f"hint {hint.name} stands twice", hint.at)
            continue
        try:
            made[field] = _value(hint, scope)
            if hint.code is not None and made[field] is not None:
                made["value_factors"] = _factors(hint.code, scope)
        except ValueError as error:
            scope.source.report(QueryMistake, str(error), hint.at)
    try:
        return Hints(**made)
    except ValueError as error:
        at = Stretch(written[0].at.start, written[-1].at.end)
        scope.source.report(QueryMistake, str(error), at)
        return NO_HINTS


_FIELDS = {
    "BUDGET": "budget",
    "EVICT": "evict",
    "VALUE": "value",
    "ARCHIVE": "archive",
    "SHED": "shed_input",
    "ERROR": "error",
    "MONITOR": "monitor",
}


def _value(hint: Hint, scope: Scope) -> object:
    match hint.name:
        case "BUDGET":
            assert hint.number is not None
            if hint.number != hint.number.to_integral_value():
                raise ValueError("a budget is a whole number")
            return Budget(int(hint.number), hint.words[0])
        case "EVICT":
            if hint.words[0] not in EVICTION_POLICIES:
                raise ValueError(f"unknown policy {hint.words[0]}; these are: {', '.join(EVICTION_POLICIES)}")
            return hint.words[0]
        case "VALUE":
            assert hint.code is not None
            return bind_expression(hint.code, scope)
        case "ARCHIVE":
            if not hint.text:
                raise ValueError("ARCHIVE needs the path of a folder")
            return hint.text
        case "SHED":
            return True
        case "ERROR":
            assert hint.number is not None
            return ErrorAllowance(hint.number, bool(hint.words))
        case _:
            factor, probability, window = hint.numbers
            if window != window.to_integral_value():
                raise ValueError("W, a number of arrivals, is a whole number")
            return Monitoring(factor, probability, int(window))


def _factors(code: Code, scope: Scope) -> tuple[Expression, ...]:
    """What a VALUE is a product of, by stream; empty where it is no product or a factor is of several streams."""
    by_alias: dict[str, list[Expression]] = {}
    numbers = []
    for node, tokens in _multiplied(code.node, code.tokens):
        factor = bind_node(node, tokens, scope)
        aliases = {ref.alias for ref in factor.columns} if factor is not None else set()
        if factor is None or len(aliases) > 1:
            return ()
        if aliases:
            by_alias.setdefault(aliases.pop(), []).append(factor)
        else:
            numbers.append(factor)
    if not by_alias:
        return ()
    next(iter(by_alias.values())).extend(numbers)
    return tuple(_product(by_alias[alias]) for alias in sorted(by_alias))


def _product(factors: list[Expression]) -> Expression:
    columns = tuple(sorted({ref for factor in factors for ref in factor.columns}))
    text = factors[0].text if len(factors) == 1 else " * ".join(f"({factor.text})" for factor in factors)
    term = factors[0].term if len(factors) == 1 else Call("*", tuple(factor.term for factor in factors))
    return Expression(text, columns, term)


_OPENS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSES = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)


def _multiplied(node: exp.Expr, tokens: tuple[Token, ...]) -> list[tuple[exp.Expr, tuple[Token, ...]]]:
    """The factors of a product, with the tokens of each."""
    while isinstance(node, exp.Paren):
        node, tokens = node.this, tokens[1:-1]
    if not isinstance(node, exp.Mul):
        return [(node, tokens)]
    depth, last = 0, 0
    for place, token in enumerate(tokens):
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth == 0 and token.token_type is TokenType.STAR:
            last = place
    # Of equal operators the last one stands at the top of the tree.
    return [*_multiplied(node.this, tokens[:last]), *_multiplied(node.expression, tokens[last + 1 :])]
