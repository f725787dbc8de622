"""How many rows of each partition the queries of a script ask for, before any of them is bound.

A query that numbers its rows, `ROW_NUMBER() OVER (…) AS rn`, may be read in several places: as a view, by WITH, in
FROM. Each place limits the numbers (`rn <= 3` in WHERE, joined to the rest by AND, or in the ON of a join that does not
keep the rows of that side), or it does not. The query keeps as many rows as the place that asks for most; it has no
limit where one of them has none.

Theorem: a row whose number is above the limit of a place is in no answer there. WHERE and such an ON keep no row of
which the number is above it, whatever else is joined: where another row is without a match for want of it, its number
is NULL, and WHERE keeps none of these either.

Not read: limits of a number that goes by another name (`AS n (a, b)`), and those in conditions of other kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from sqlglot import exp

from penstock.model.names import fold
from penstock.records import record
from penstock.sql.constants import number_of
from penstock.sql.from_parts import alias_of, items_of
from penstock.sql.tree import (
    Code,
    CreateView,
    FromElements,
    FromItem,
    FromJoin,
    FromPart,
    FromQuery,
    Insert,
    QueryBody,
    QueryText,
    Select,
    SelectItem,
    SetOperation,
    WrittenJoin,
)
from penstock.sql.words import unwrapped

_MOST = 2**62
"""No partition has as many rows."""
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
_LEFT_LIMITED = (WrittenJoin.INNER, WrittenJoin.RIGHT)
_RIGHT_LIMITED = (WrittenJoin.INNER, WrittenJoin.LEFT, WrittenJoin.SEMI, WrittenJoin.ANTI)
"""The joins that keep no row of that side which ON does not let through."""

Scope = Mapping[str, QueryText]
"""The queries that names mean, by their folded names."""


@record
class RowLimit:
    """The greatest number that a place asks for, and whether that is all that its WHERE asks."""

    most: int
    is_all: bool


def limits_in(statements: Iterable[object]) -> dict[int, int]:
    """How many rows of a partition are wanted, where that is limited, by the identity of the SELECT that numbers."""
    found: dict[int, list[int | None]] = {}
    views: dict[str, QueryText] = {}
    for statement in statements:
        if isinstance(statement, CreateView | Insert):
            _note(statement.query, views, found)
        if isinstance(statement, CreateView) and not statement.columns:
            views = {**views, fold(statement.name.text): statement.query}
    known = {key: [limit for limit in limits if limit is not None] for key, limits in found.items()}
    return {key: max(limits) for key, limits in known.items() if limits and len(limits) == len(found[key])}


def _note(body: QueryBody, scope: Scope, found: dict[int, list[int | None]]) -> None:
    match body:
        case QueryText(common=common, body=within):
            for one in common:
                _note(one.query, scope, found)
                named = {} if one.columns else {fold(one.name.text): one.query}
                scope = {**{name: query for name, query in scope.items() if name != fold(one.name.text)}, **named}
            _note(within, scope, found)
        case SetOperation(left=left, right=right):
            _note(left, scope, found)
            _note(right, scope, found)
        case Select() as select:
            for item in items_of(select.source):
                if isinstance(item, FromQuery):
                    _note(item.query, scope, found)
                inner = _select_of(item, scope)
                for number in () if inner is None else numbers_of(inner):
                    limit = limit_of(select, item, number)
                    is_renamed = isinstance(item, FromQuery) and bool(item.columns)
                    most = None if limit is None or limit.most < 1 or is_renamed else limit.most
                    found.setdefault(id(inner), []).append(most)
            for query in _subqueries(select):
                _note(query, scope, found)


def numbers_of(select: Select) -> list[SelectItem]:
    """The items that number rows."""
    return [item for item in select.items if item.number is not None]


def _select_of(item: FromItem | FromQuery, scope: Scope) -> Select | None:
    body: QueryBody | None = item.query if isinstance(item, FromQuery) else scope.get(fold(item.stream.text))
    while isinstance(body, QueryText):
        body = body.body
    return body if isinstance(body, Select) else None


def _subqueries(select: Select) -> Iterator[QueryText]:
    codes = [item.code for item in select.items if item.code is not None]
    codes += [*select.group_by, *_conditions(select.source)]
    codes += [] if select.where is None else [select.where]
    codes += [] if select.having is None else [select.having.around]
    for code in codes:
        for node in code.node.find_all(exp.Select):
            if isinstance(node.meta.get("query"), QueryText):
                yield node.meta["query"]


def _conditions(part: FromPart) -> Iterator[Code]:
    match part:
        case FromJoin(left=left, right=right, on=on):
            yield from _conditions(left)
            yield from _conditions(right)
            yield from () if on is None else (on,)
        case FromElements(rows=rows):
            yield from _conditions(rows)
        case _:
            return


def limit_of(select: Select, item: FromItem | FromQuery, number: SelectItem) -> RowLimit | None:
    """What a SELECT asks of the numbers of a query in its FROM; None where nothing limits them."""
    if number.alias is None:
        return None
    column = _Column(fold(number.alias.text), fold(alias_of(item)))
    asked = [column.limit(node) for node in _conjuncts(select.where)]
    known = [limit for limit in asked if limit is not None]
    is_all = len(known) == len(asked) and all(limit.is_all for limit in known)
    joined = (column.limit(node) for code in _limiting(select.source, item) for node in _conjuncts(code))
    known += [limit for limit in joined if limit is not None]
    return RowLimit(min(limit.most for limit in known), is_all) if known else None


def _limiting(part: FromPart, item: FromItem | FromQuery) -> Iterator[Code]:
    """The ONs that keep no row of an item which they do not let through."""
    if isinstance(part, FromElements):
        yield from _limiting(part.rows, item)
    if not isinstance(part, FromJoin):
        return
    is_left = any(one is item for one in items_of(part.left))
    if part.on is not None and part.kind in (_LEFT_LIMITED if is_left else _RIGHT_LIMITED):
        yield part.on
    yield from _limiting(part.left if is_left else part.right, item)


def _conjuncts(where: Code | None) -> Iterator[exp.Expr]:
    waiting = [] if where is None else [where.node]
    while waiting:
        node = unwrapped(waiting.pop())
        if isinstance(node, exp.And):
            waiting += [node.this, node.expression]
        else:
            yield node


@record
class _Column:
    """The column of the numbers, as it can be named."""

    name: str
    alias: str

    def limit(self, node: exp.Expr) -> RowLimit | None:
        """The greatest number that a condition lets through, and whether it lets through all up to it."""
        if isinstance(node, exp.Between) and self._is(node.this) and not node.args.get("symmetric"):
            low, high = (number_of(unwrapped(node.args[end])) for end in ("low", "high"))
            return None if low is None or high is None else RowLimit(_whole(high), low <= 1)
        if isinstance(node, exp.In) and self._is(node.this) and node.expressions:
            numbers = [number_of(unwrapped(one)) for one in node.expressions]
            known = {_whole(number) for number in numbers if number is not None and number == int(number)}
            is_all = {*range(1, len(known) + 1)} == known
            return RowLimit(max(known), is_all) if known and None not in numbers else None
        if not isinstance(node, exp.LTE | exp.LT | exp.EQ | exp.GTE | exp.GT):
            return None
        sides = (node.this, node.expression, type(node)), (node.expression, node.this, _MIRRORED.get(type(node)))
        for left, right, kind in sides:
            number = number_of(unwrapped(right))
            if not self._is(left) or number is None or kind not in (exp.LTE, exp.LT, exp.EQ):
                continue
            if kind is exp.EQ and number != int(number):
                return None
            most = _whole(number) - (kind is exp.LT and number == int(number))
            return RowLimit(most, kind is not exp.EQ or most == 1)
        return None

    def _is(self, node: exp.Expr) -> bool:
        node = unwrapped(node)
        if not isinstance(node, exp.Column) or fold(node.name) != self.name or len(node.parts) > 2:
            return False
        return not node.table or fold(node.table) == self.alias  # without an alias it is this one, or a mistake


def _whole(number: Decimal) -> int:
    return min(int(number), _MOST)
