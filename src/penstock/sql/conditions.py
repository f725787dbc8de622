"""Conditions: a conjunction becomes the predicates that the analyses understand.

Understood are comparisons of two columns, of a column and a constant, IN with constants, a bare BOOLEAN column, and
time differences `x.ts - y.ts op i`, `x.ts op y.ts ± i`, each also with BETWEEN; in a query also NOT over one of them
that has an opposite, and over an OR of such; `<>` and NOT IN with constants, IS [NOT] NULL. Any other condition on
one stream is opaque: Spark evaluates it. Any other condition, on several streams or on none, is residual: it is tested
on rows that have met, and nothing is purged by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Refused
from penstock.model.expressions import Call, ColumnRef, Constant, Expression, Literal, is_random
from penstock.model.predicates import (
    PART,
    Bound,
    Comparison,
    Difference,
    NoneOf,
    NullTest,
    OneOf,
    Op,
    Opaque,
    Predicate,
    Residual,
    aliases_of,
)
from penstock.model.spans import Span, Unit
from penstock.model.term_types import common_type, type_of
from penstock.model.types import DataType, Kind
from penstock.records import record
from penstock.sql.constants import constant_of, number_of, span_of, span_or_none, sum_of_spans
from penstock.sql.cursor import UNITS
from penstock.sql.expressions import bind_column, bind_node, note_scalars, resolved_columns, visible_column
from penstock.sql.scope import Scope
from penstock.sql.shared_columns import equalities
from penstock.sql.terms import term_of
from penstock.sql.tree import Code, QueryText, Stretch
from penstock.sql.words import spelt, stretch_of, tokens_of, unwrapped, unwrapped_tokens

_OPS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_OPENING, _CLOSING = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)
_ASKED_IN_WHERE = (
    "it is a condition of WHERE; where an outer join asks it in ON, that of a query on its side: "
    "LEFT JOIN (SELECT * FROM s WHERE EXISTS (SELECT …)) AS x ON …"
)


@record
class WrittenExists:
    """An EXISTS or an IN with a query, as it stands in WHERE."""

    query: QueryText
    negated: bool
    at: Stretch
    compared: tuple[tuple[exp.Expr, tuple[Token, ...]], ...] = ()
    """What stands before IN, each with its tokens."""
    takes_unknown: bool = False
    """Whether a member counts that may be equal, since NULL is compared: as NOT IN has it."""
    is_value: bool = False
    """Whether it stands for a value, so that what is neither true nor false is not as good as false."""
    null_of: str | None = None
    """Of NOT IN, where it asks for a member of which nobody knows: for a NULL INSIDE, or any beside a NULL OUTSIDE."""

    @property
    def members(self) -> bool:
        """Whether it is an IN."""
        return bool(self.compared)


@dataclass
class Conjuncts:
    """A condition, bound: its predicates with their places, and its EXISTS."""

    predicates: list[tuple[Predicate, Stretch]] = field(default_factory=list)
    existences: list[WrittenExists] = field(default_factory=list)


def bind_condition(code: Code | None, scope: Scope, *, may_exist: bool = False, reads_not: bool = True) -> Conjuncts:
    """The conjuncts of a condition; mistakes are left in the source.

    `reads_not`: whether NOT over a comparison is read as the opposite one. A constraint keeps its own words.
    """
    bound = Conjuncts()
    if code is not None:
        for node in conjuncts_of(code.node):
            _bind_conjunct(node, tokens_of(node, code.tokens), scope, bound, may_exist=may_exist, reads_not=reads_not)
    return bound


def bind_decided(code: Code, scope: Scope, *, denied: bool, holds: bool) -> Conjuncts:
    """What is known of rows of which a condition, or with `denied` NOT of it, holds; or of which it does not.

    What does not hold is false or unknown.
    """
    if holds and not denied:
        return bind_condition(code, scope)
    if holds and (opposite := _denied(unwrapped(code.node), spelt(scope.source.text, code.tokens), scope)):
        return Conjuncts([(predicate, code.at) for predicate in opposite])
    expression = bind_node(code.node, code.tokens, scope)
    if expression is None:
        return Conjuncts()
    if is_random(expression.term):
        text = f"{spelt(scope.source.text, code.tokens)} gives another answer each time that it is asked"
        hint = "compare a column that the stream carries"
        scope.source.report(Refused, f"{text}, and here it is asked twice", code.at, hint=hint)
        return Conjuncts()
    whole = _decided(expression, denied=denied, holds=holds)
    if len({ref.alias for ref in expression.columns}) == 1:
        return Conjuncts([(Opaque(whole, whole.text), code.at)])
    found = _residual(code.node, code.tokens, expression, "", scope)
    skeleton = _decided(replace(expression, term=found.skeleton), denied=denied, holds=holds).term
    return Conjuncts([(Residual(whole, whole.text, found.parts, skeleton), code.at)])


def _decided(expression: Expression, *, denied: bool, holds: bool) -> Expression:
    text, term = expression.text, expression.term
    if denied:
        text, term = f"NOT ({text})", Call("not", (term,))
    if not holds:
        text, term = f"NOT coalesce({text}, FALSE)", Call("not", (Call("coalesce", (term, Literal(False))),))
    return Expression(text, expression.columns, term)


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conjuncts from left to right; not by recursion, as a long condition is as deep as it is long."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = unwrapped(waiting.pop())
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found


def _bind_conjunct(
    node: exp.Expr, tokens: tuple[Token, ...], scope: Scope, bound: Conjuncts, *, may_exist: bool, reads_not: bool
) -> None:
    at = stretch_of(tokens)
    exists = None if _is_answered(node, scope) else existence_of(node, tokens, at)
    if exists is not None:
        if may_exist:
            bound.existences.append(exists)
        else:
            what = "IN (SELECT …)" if exists.members else "EXISTS"
            scope.source.report(Refused, f"{what} is not in Penstock's language here", at, hint=_ASKED_IN_WHERE)
        return
    text = spelt(scope.source.text, tokens)
    note_scalars(node, at, scope)
    understood = _understood(node, text, scope)
    if understood is None and reads_not and isinstance(node, exp.Not):
        understood = _denied(unwrapped(node.this), text, scope)
    if understood is not None:
        bound.predicates += [(predicate, at) for predicate in understood]
        return
    expression = bind_node(node, tokens, scope)
    if expression is None:
        return
    if (kind := type_of(expression.term, scope.type_of)) is not None and kind.kind is not Kind.BOOLEAN:
        scope.report(f"{text} is {kind}, which is no truth value", at, "a condition compares, or is BOOLEAN")
        return
    if len({ref.alias for ref in expression.columns}) == 1:
        bound.predicates.append((Opaque(expression, text), at))
    elif _is_always_true(node):
        return
    elif "" in scope.tables:
        scope.report("this condition names no column", at, "a condition is about the columns of a stream")
    else:
        bound.predicates.append((_residual(node, tokens, expression, text, scope), at))


def _is_answered(node: exp.Expr, scope: Scope) -> bool:
    """Whether what a condition asks is a column here."""
    while isinstance(node, exp.Not) and id(node) not in scope.asked:
        node = unwrapped(node.this)
    return id(node) in scope.asked


def _residual(node: exp.Expr, tokens: tuple[Token, ...], expression: Expression, text: str, scope: Scope) -> Residual:
    """A condition on several streams or on none, taken apart: what in it is about one stream alone stands by itself."""
    found: list[tuple[exp.Expr, Expression]] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        own = tokens_of(part, ())
        whole = bind_node(part, own, scope) if own and part is not node else None
        if whole is not None and len({ref.alias for ref in whole.columns}) == 1:
            if bind_column(part, scope) is None:
                found.append((part, whole))
        else:
            waiting += part.iter_expressions()
    standing = {id(part): Call(PART, (Literal(number),)) for number, (part, _) in enumerate(found)}
    columns = resolved_columns(node, stretch_of(tokens), scope)
    assert columns is not None
    skeleton = term_of(node, columns.by_node, standing=standing)
    return Residual(expression, text, tuple(part for _, part in found), skeleton)


def existence_of(node: exp.Expr, tokens: tuple[Token, ...], at: Stretch) -> WrittenExists | None:
    """What a condition asks that is an EXISTS or an IN with a query; None if it is none."""
    negated = False
    while isinstance(node, exp.Not):
        node, negated = unwrapped(node.this), not negated
    inner = node.this if isinstance(node, exp.Exists) else node.args.get("query") if isinstance(node, exp.In) else None
    inner = inner.this if isinstance(inner, exp.Subquery) else inner
    query = inner.meta.get("query") if isinstance(inner, exp.Query) else None
    if not isinstance(query, QueryText):
        return None
    compared = _compared_with(node, tokens) if isinstance(node, exp.In) else ()
    return WrittenExists(query, negated, at, compared, takes_unknown=negated and bool(compared))


def _compared_with(node: exp.In, tokens: tuple[Token, ...]) -> tuple[tuple[exp.Expr, tuple[Token, ...]], ...]:
    """What stands before IN: an expression, or several in parentheses."""
    first = next((n for n, token in enumerate(tokens) if token.token_type is TokenType.IN), len(tokens))
    before = tokens[:first]
    while before and before[0].text.upper() == "NOT":
        before = before[1:]
    while before and before[-1].text.upper() == "NOT":
        before = before[:-1]
    left, own = unwrapped(node.this), unwrapped_tokens(before)
    if not isinstance(left, exp.Tuple):
        return ((left, before),)
    parts, depth = [list[Token]()], 0
    for token in own:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if token.token_type is TokenType.COMMA and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) != len(left.expressions):
        return ((left, before),)  # `x::STRUCT<a: INT, b: INT>`: no column is compared with such a one
    return tuple((unwrapped(part), tuple(tokens)) for part, tokens in zip(left.expressions, parts, strict=True))


def _is_always_true(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    return isinstance(node, exp.EQ) and isinstance(node.this, exp.Literal) and node.this == node.expression


def _understood(node: exp.Expr, text: str, scope: Scope) -> list[Predicate] | None:
    if _is_answered(node, scope):
        return _flag(node, text, scope)
    match node:
        case exp.Between():
            low = _compared(node.this, Op.GE, node.args["low"], text, scope)
            high = _compared(node.this, Op.LE, node.args["high"], text, scope)
            if low is None or high is None or node.args.get("symmetric"):
                return None
            return [low, high]
        case exp.In():
            return _one_of(node, text, scope)
        case exp.NEQ() | exp.Not(this=exp.In() | exp.Paren() | exp.EQ()) if found := _none_of(node, text, scope):
            return found
        case exp.Is() | exp.Not(this=exp.Is()):
            return _null_test(node, text, scope)
        case exp.Column() | exp.Not():
            return _flag(node, text, scope)
        case exp.EQ() if found := _equal_windows(node, text, scope):
            return found
        case _ if type(node) in _OPS:
            predicate = _compared(node.this, _OPS[type(node)], node.expression, text, scope)
            return None if predicate is None else [predicate]
        case _:
            return None


def _equal_windows(node: exp.EQ, text: str, scope: Scope) -> list[Predicate] | None:
    """Two windows, which are equal if both their ends are."""
    one, other = visible_column(node.this, scope), visible_column(node.expression, scope)
    if one is None or other is None or one.ends is None or other.ends is None:
        return None
    return [replace(predicate, text=text) for predicate in equalities(one, other)]


def _denied(node: exp.Expr, text: str, scope: Scope) -> list[Predicate] | None:
    """What NOT says of a condition, where that is a conjunction of comparisons; NULL makes both sides unknown."""
    match node:
        case exp.Or():
            sides = [_denied(unwrapped(side), text, scope) for side in (node.this, node.expression)]
            return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
        case exp.Not():
            return _understood(unwrapped(node.this), text, scope)
        case exp.NEQ():
            op: Op | None = Op.EQ
        case _:
            op = _OPS[type(node)].denied if type(node) in _OPS else None
    predicate = None if op is None else _compared(node.this, op, node.expression, text, scope)
    return None if predicate is None else [predicate]


def _none_of(node: exp.Expr, text: str, scope: Scope) -> list[Predicate] | None:
    """`<>`, NOT IN, and NOT over what says that a column equals one of some constants."""
    inner = unwrapped(node.this) if isinstance(node, exp.Not) else node
    if isinstance(inner, exp.In) and inner is not node:
        said: Predicate | None = next(iter(_one_of(inner, "", scope) or ()), None)
    elif isinstance(inner, exp.NEQ if inner is node else exp.EQ):
        said = _compared(inner.this, Op.EQ, inner.expression, "", scope)
    else:
        return None
    match said:
        case Bound(column=ref, constant=constant):
            return [NoneOf(ref, (constant,), text)]
        case OneOf(column=ref, constants=constants):
            return [NoneOf(ref, constants, text)]
        case _:
            return None


def _null_test(node: exp.Expr, text: str, scope: Scope) -> list[Predicate] | None:
    """`column IS [NOT] NULL`."""
    is_null = not isinstance(node, exp.Not)
    inner = node if is_null else node.this
    ref = bind_column(inner.this, scope) if isinstance(inner.expression, exp.Null) else None
    return None if ref is None else [NullTest(ref, is_null, text)]


def _one_of(node: exp.In, text: str, scope: Scope) -> list[Predicate] | None:
    ref = bind_column(node.this, scope)
    kind = scope.type_of(ref) if ref is not None else None
    choices = node.expressions
    if ref is None or kind is None or not choices or node.args.get("query") is not None:
        return None
    constants: list[Constant] = []
    for choice in choices:
        constant = constant_of(choice, kind)
        if constant is None:
            return None
        constants.append(constant)
    return [OneOf(ref, tuple(dict.fromkeys(constants)), text)]


def _flag(node: exp.Expr, text: str, scope: Scope) -> list[Predicate] | None:
    """A BOOLEAN column standing alone."""
    truth = True
    while isinstance(node, exp.Not) and id(node) not in scope.asked:
        node, truth = unwrapped(node.this), not truth
    ref = bind_column(node, scope)
    kind = scope.type_of(ref) if ref is not None else None
    if ref is None or kind is None or kind.kind is not Kind.BOOLEAN:
        return None
    return [Bound(ref, Op.EQ, Constant("true" if truth else "false", truth), text)]


def _compared(left: exp.Expr, op: Op, right: exp.Expr, text: str, scope: Scope) -> Predicate | None:
    first, second = bind_column(left, scope), bind_column(right, scope)
    if first is not None and second is not None:
        kinds = scope.type_of(first), scope.type_of(second)
        # Spark may well convert; between two streams, types that it compares only as texts are reported as a mistake.
        mixed = kinds[0] is not None and kinds[1] is not None and not kinds[0].compares_with(kinds[1])
        converted = mixed and (first.alias == second.alias or common_type(kinds) is not None)
        return None if converted else Comparison(first, op, second, text)
    for ref, comparison, other in ((first, op, right), (second, op.mirrored, left)):
        kind = scope.type_of(ref) if ref is not None else None
        constant = constant_of(other, kind) if kind is not None else None
        if ref is not None and constant is not None:
            return Bound(ref, comparison, constant, text)
    return _difference(left, op, right, text, scope)


@record
class _Sum:
    """Columns added and taken away, and a length."""

    added: tuple[ColumnRef, ...] = ()
    taken: tuple[ColumnRef, ...] = ()
    spans: tuple[Span, ...] = ()

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(self.added + other.added, self.taken + other.taken, self.spans + other.spans)

    def negative(self) -> _Sum:
        return _Sum(self.taken, self.added, tuple(Span(-s.amount, s.unit) for s in self.spans))


def _sum(node: exp.Expr, scope: Scope) -> _Sum | None:
    node = unwrapped(node)
    span = span_of(node)
    if span is not None:
        return _Sum(spans=(span,))
    ref = bind_column(node, scope)
    if ref is not None:
        return _Sum(added=(ref,))
    if isinstance(node, exp.TimestampAdd):
        return _moved_time(node, scope)
    if isinstance(node, exp.TsOrDsAdd):
        return _moved_date(node, scope)
    if isinstance(node, exp.Add | exp.Sub):
        left, right = _sum(node.this, scope), _sum(node.expression, scope)
        if left is None or right is None:
            return None
        left, right = _in_days(left, right, scope), _in_days(right, left, scope)
        return left.plus(right if isinstance(node, exp.Add) else right.negative())
    return None


def _is_no_length(kind: DataType, other: DataType) -> bool:
    """Whether a difference is one that Spark works out, but no length on a clock: of prices, of a time and a DATE."""
    is_known = all(one.is_number or one.is_instant for one in (kind, other)) and common_type((kind, other)) is not None
    return is_known and not (kind.is_clock and kind.compares_with(other))


def _in_days(length: _Sum, moved: _Sum, scope: Scope) -> _Sum:
    """`day + 2`: a whole number beside a DATE is one of days."""
    is_date = len(moved.added) == 1 and not moved.taken and _is_date(moved.added[0], scope)
    if not is_date or length.added or length.taken or any(s.amount != int(s.amount) for s in length.spans):
        return length
    return _Sum(spans=tuple(Span(s.amount, s.unit or Unit.DAY) for s in length.spans))


def _moved_date(node: exp.TsOrDsAdd, scope: Scope) -> _Sum | None:
    """`date_add(day, 2)` and `date_sub(day, 2)` of a DATE; a TIMESTAMP would be cut to its day."""
    ref, by = bind_column(node.this, scope), unwrapped(node.expression)
    is_taken = isinstance(by, exp.Mul) and number_of(by.expression) == -1  # as sqlglot reads date_sub
    number = number_of(by.this if is_taken else by)
    if ref is None or not _is_date(ref, scope) or number is None or number != int(number):
        return None
    span = span_or_none(-number if is_taken else number, Unit.DAY)
    return None if span is None else _Sum(added=(ref,), spans=(span,))


def _is_date(ref: ColumnRef, scope: Scope) -> bool:
    kind = scope.type_of(ref)
    return kind is not None and kind.kind is Kind.DATE


def _moved_time(node: exp.TimestampAdd, scope: Scope) -> _Sum | None:
    """`timestampadd(MINUTE, 10, ts)`, by less than a day: whole days are days of a calendar to Spark."""
    ref, number, unit = bind_column(node.this, scope), number_of(node.expression), node.args.get("unit")
    kind = None if ref is None else scope.type_of(ref)
    if ref is None or kind is None or kind.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) or number is None:
        return None
    known = UNITS.get(unit.name.upper()) if isinstance(unit, exp.Expr) else None
    span = None if known is None or number != int(number) else span_or_none(number, known)
    is_short = span is not None and abs(span.ticks) < Unit.DAY.value
    return _Sum(added=(ref,), spans=(span,)) if span is not None and is_short else None


def _difference(left: exp.Expr, op: Op, right: exp.Expr, text: str, scope: Scope) -> Predicate | None:
    first, second = _sum(left, scope), _sum(right, scope)
    if first is None or second is None:
        return None
    total = first.plus(second.negative())
    if len(total.added) != 1 or len(total.taken) != 1 or not total.spans:
        return None
    spans = [s for s in total.spans if not s.fits_any_clock] or [total.spans[0]]
    if len({s.unit is None for s in spans}) > 1:
        return None
    minuend, subtrahend = total.added[0], total.taken[0]
    # The lengths move to the right side, and so change their sign.
    moved = [Span(-s.amount if s.amount else s.amount, s.unit) for s in spans]
    span = moved[0] if len(moved) == 1 else sum_of_spans(moved)
    if span is None:
        return None
    subtracted = any(len(side.added) + len(side.taken) > 1 for side in (first, second))
    whole_days = any(s.unit is not None and abs(s.ticks) >= Unit.DAY.value for s in spans)
    kind, other = scope.type_of(minuend), scope.type_of(subtrahend)
    if kind is not None and other is not None and _is_no_length(kind, other):
        return None
    is_by_calendar = kind is not None and kind.kind is Kind.TIMESTAMP and (subtracted or whole_days)
    difference = Difference(minuend, subtrahend, op, span, text, is_by_calendar)
    # Inside one stream it is an ordinary filter.
    return difference if len(aliases_of(difference)) == 2 else None
