"""EXISTS and IN inside of other conditions: which rows to ask, so that each row is asked once.

A condition such as `p OR EXISTS (a) OR NOT EXISTS (b)` is made of AND, OR and NOT over plain conditions, which name no
subquery, and over questions: EXISTS and IN with a query. NOT is moved down to these. Then a condition is true iff the
formula is in which each of them stands for "holds", for AND and OR without NOT never turn an unknown into a truth. So a
row can be put into one of several **cases** by deciding one part after the other, until the formula is decided:

    p OR EXISTS (a)  =  p holds;  or p does not hold, and EXISTS (a) does

The cases have no row in common and together give each row once, by UNION ALL. Plain conditions are decided first: where
they suffice nothing is asked. Not decided: how a case is bound (`asked_values`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.records import record
from penstock.sql.aggregate_calls import words_of
from penstock.sql.conditions import WrittenExists, conjuncts_of, existence_of
from penstock.sql.tree import AggregateCall, Code, OverAggregates, Select
from penstock.sql.words import stretch_of, tokens_of, unwrapped


@record
class Plain:
    """A condition without a subquery that is asked; with `denied` NOT stands before it."""

    code: Code
    denied: bool

    @property
    def key(self) -> object:
        """The same for the same condition."""
        return words_of(self.code.tokens), self.denied


@record
class AskedQuestion:
    """EXISTS or IN, with the NOT before it."""

    written: WrittenExists
    words: tuple[str, ...]

    @property
    def key(self) -> object:
        """The same for the same question; EXISTS is the same with NOT, as it is never unknown."""
        return self.words, self.written.members and self.written.negated

    def answer(self, other: AskedQuestion, holds: bool) -> bool:
        """Whether it holds, where another one with its key does or not."""
        return holds if self.written.negated is other.written.negated else not holds


Atom = Plain | AskedQuestion


@record
class Both:
    """AND."""

    parts: tuple[Formula, ...]


@record
class Either:
    """OR."""

    parts: tuple[Formula, ...]


Formula = bool | Atom | Both | Either


@record
class Decided:
    """A part of a condition, and whether it holds; what does not is false or unknown."""

    atom: Atom
    holds: bool


Case = tuple[Decided, ...]


def question_of(node: exp.Expr) -> WrittenExists | None:
    """What a node asks, if it is an EXISTS or an IN with a query, or `x NOT IN (…)`: NOT before them is none of it."""
    is_not_in = isinstance(node, exp.Not) and isinstance(node.this, exp.In) and "tokens" not in node.this.meta
    if not is_not_in and not isinstance(node, exp.Exists | exp.In):
        return None
    tokens = tokens_of(node, ())
    return existence_of(node, tokens, stretch_of(tokens)) if tokens else None


def questions_in(node: exp.Expr) -> Iterator[tuple[exp.Expr, WrittenExists]]:
    """The questions in an expression, not those inside of subqueries."""
    for part in node.walk(prune=lambda part: isinstance(part, exp.Query) or question_of(part) is not None):
        written = question_of(part)
        if written is not None:
            yield part, written


def formula_of(node: exp.Expr, whole: Code, *, denied: bool = False) -> Formula | None:
    """A condition with NOT moved down; None if a question stands in it under something else than AND, OR and NOT.

    `whole` is what it stands in.
    """
    node = unwrapped(node)
    written = question_of(node)
    if written is not None:
        words, negated = words_of(tokens_of(node, ())), written.negated is not denied
        asked = replace(written, negated=negated, takes_unknown=negated and written.members)
        return AskedQuestion(asked, words)
    if not any(questions_in(node)):
        tokens = _tokens_within(node, whole)
        return Plain(Code(node, tokens, stretch_of(tokens)), denied) if tokens else None
    if isinstance(node, exp.Not):
        return formula_of(node.this, whole, denied=not denied)
    if not isinstance(node, exp.And | exp.Or):
        return None
    parts = [formula_of(part, whole, denied=denied) for part in (node.this, node.expression)]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    return Both(known) if isinstance(node, exp.And) is not denied else Either(known)


def _tokens_within(node: exp.Expr, whole: Code) -> tuple[Token, ...]:
    """The tokens of a condition; of a part of a chain of AND or OR, which has none of its own, from its first on."""
    own = tokens_of(node, ())
    if own or not isinstance(node, exp.And | exp.Or):
        return own
    left, right = _tokens_within(node.this, whole), _tokens_within(node.expression, whole)
    if not left or not right:
        return ()
    return tuple(token for token in whole.tokens if left[0].start <= token.start <= right[-1].start)


def asks_values(select: Select) -> bool:
    """Whether EXISTS or IN with a query stands in it anywhere but as a condition of WHERE joined by AND."""
    if not select.words & {"exists", "in"}:
        return False
    return any(asked_outside_where(select)) or any(is_asking(code) for code in conditions_of(select))


def asked_outside_where(select: Select) -> Iterator[tuple[exp.Expr, WrittenExists]]:
    """The questions that stand outside of WHERE."""
    codes = [*select.group_by, *_codes(None, select.having)]
    for item in select.items:
        numbers = item.number
        codes += [*_codes(item.code, item.over)] if numbers is None else [*numbers.partition]
        codes += [] if numbers is None else [by.code for by in numbers.ordering]
    for code in codes:
        yield from questions_in(code.node)


def _codes(code: Code | None, over: OverAggregates | None) -> Iterator[Code]:
    if over is None:
        yield from () if code is None else (code,)
        return
    yield over.around
    for call in over.calls:
        match call:
            case AggregateCall():
                yield from (*call.arguments, *(item.code for item in call.ordering))
                yield from () if call.where is None else (call.where,)
            case Code():
                yield call


def conditions_of(select: Select) -> Iterator[Code]:
    """The conditions of WHERE."""
    if select.where is not None:
        for node in conjuncts_of(select.where.node):
            tokens = tokens_of(node, select.where.tokens)
            yield Code(node, tokens, stretch_of(tokens))


def is_asking(code: Code) -> bool:
    """Whether a condition of WHERE is more than one question, and holds one."""
    found = formula_of(code.node, code)
    return not isinstance(found, AskedQuestion) and any(questions_in(code.node))


def cases_of(formula: Formula) -> Iterator[Case]:
    """The cases in which a condition holds, disjoint and together all."""
    if isinstance(formula, bool):
        yield from ((),) if formula else ()
        return
    atoms = list(_atoms(formula))
    atom = next((atom for atom in atoms if isinstance(atom, Plain)), atoms[0])
    for holds in (True, False):
        for rest in cases_of(_with(formula, atom, holds)):
            yield (Decided(atom, holds), *rest)


def _atoms(formula: Formula) -> Iterator[Atom]:
    match formula:
        case Both(parts=parts) | Either(parts=parts):
            for part in parts:
                yield from _atoms(part)
        case Plain() | AskedQuestion():
            yield formula


def _with(formula: Formula, atom: Atom, holds: bool) -> Formula:
    """A formula in which an atom is decided, as short as that makes it."""
    match formula:
        case AskedQuestion() if isinstance(atom, AskedQuestion) and formula.key == atom.key:
            return formula.answer(atom, holds)
        case Plain() if isinstance(atom, Plain) and formula.key == atom.key:
            return holds
        case Both(parts=parts):
            return _shortened(Both, [_with(part, atom, holds) for part in parts], of_none=True)
        case Either(parts=parts):
            return _shortened(Either, [_with(part, atom, holds) for part in parts], of_none=False)
        case _:
            return formula


def _shortened(kind: type[Both] | type[Either], parts: list[Formula], *, of_none: bool) -> Formula:
    """AND without what is true, or OR without what is false; `of_none` is what it is of nothing."""
    if any(part is (not of_none) for part in parts):
        return not of_none
    left = tuple(part for part in parts if part is not of_none)
    if not left:
        return of_none
    return left[0] if len(left) == 1 else kind(left)
