"""Aggregates, bound: each as one of the few that the engine works out.

`f(x) FILTER (WHERE c)` is f over `CASE WHEN c THEN x END`, since no aggregate of the language counts a NULL;
`count_if(c)` counts `CASE WHEN c THEN 1 END`; `bool_and` and `bool_or` are the least and the greatest of truth values.
So whatever works out counts, sums and extremes works out these, and a printed query says what is done.
`approx_count_distinct` is counted exactly, `any_value` is the least value. `max_by(x, y) FILTER (WHERE c)` is by `CASE
WHEN c THEN y END`, since a row without a y is picked by nobody.

`percentile_cont(p) WITHIN GROUP (ORDER BY x)` is `percentile(x, p)`. `listagg(x, s)` and `string_agg` are the elements
of `collect_list(x)`, sorted, with s between them, and NULL where there are none. Where no order is asked for, Spark's
own is none that could be told.

`first(x)` and `last(x)` are of the rows of a stream in the order of their arrival, which is known where the stream
declares ARRIVES BY col: they are `min_by(x, col)` and `max_by(x, col)`. Elsewhere Spark itself does not say which.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.clauses import AGGREGATES, COLLECTS, GROUPINGS, PICKS, Aggregate, Formula
from penstock.model.expressions import UNREAD, Call, Cast, ColumnRef, Expression, Literal, Term
from penstock.model.types import DataType, Kind
from penstock.sql.aggregate_calls import words_of
from penstock.sql.constants import number_of
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.scope import Scope
from penstock.sql.tree import AggregateCall, Code, Stretch

_SAME = {"mean": "avg", "every": "bool_and", "any": "bool_or", "some": "bool_or"}
_SAME |= {
    "first_value": "first",
    "last_value": "last",
    "array_agg": "collect_list",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "any_value": "min",
}
"""Other names of an aggregate; of values any one of which will do, the least."""
_TRUTHS = {"bool_and": "min", "bool_or": "max"}
_BY_ARRIVAL = {"first": "min_by", "last": "max_by"}
KNOWN_AGGREGATES = (*AGGREGATES, "count_if", *_TRUTHS, "approx_count_distinct", *_BY_ARRIVAL, *GROUPINGS)
"""What the language has, as a user writes it."""

_OF_DISTINCT = ("count", "sum", "avg", "min", "max", *COLLECTS)
LISTS = ("listagg", "string_agg")
"""Aggregates that are a text of all values."""
_INSTEAD = {"percentile_disc": "write percentile_cont(0.9) WITHIN GROUP (ORDER BY x), which lies between two values"}
_INSTEAD |= dict.fromkeys(("percentile_approx", "approx_percentile"), "write percentile(x, 0.9), which is exact")
"""What to write instead of an aggregate that the language has not."""

_CONDITIONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "in", "between", "like"})
_NULL_TESTS = frozenset({"is null", "is not null"})


def bind_aggregate(call: AggregateCall, scope: Scope) -> Aggregate | Formula | None:
    """The aggregate that a call means, or what is made of one; None, and a mistake, if it cannot stand."""
    if call.name in LISTS:
        return _listed(call, scope)
    if call.name == "percentile_cont":
        return _continuous(call, scope)
    return _aggregate(call, scope)


def _aggregate(call: AggregateCall, scope: Scope) -> Aggregate | None:
    name = _SAME.get(call.name, call.name)
    if name not in KNOWN_AGGREGATES:
        refuse_aggregate(call.name, call.at, scope)
        return None
    if call.ordering:
        hint = "it is for percentile_cont(p) and listagg(x); rows of a group have no order: max_by(x, ts) is the last x"
        scope.source.report(
            Refused, f"WITHIN GROUP after {call.name} is not in Penstock's language", call.at, hint=hint
        )
        return None
    condition = bind_node(call.where.node, call.where.tokens, scope) if call.where is not None else None
    if call.where is not None and condition is None:
        return None
    if name == "count" and not call.distinct and _counts_rows(call):
        return Aggregate("count", None if condition is None else _where(condition, _ONE))
    if call.is_star:
        scope.report(f"{call.name}(*) means nothing", call.at, "name a column; only count takes *")
        return None
    if name == "approx_count_distinct" and len(call.arguments) == 2:
        call = replace(call, arguments=call.arguments[:1])  # how far it may be off: it is exact
    if name in GROUPINGS:
        return _of_sets(call, condition, scope)
    if name in _BY_ARRIVAL:
        return _by_arrival(call, _BY_ARRIVAL[name], condition, scope)
    if name in PICKS:
        return _picked(call, condition, scope)
    share = None
    if name == "percentile":
        share = number_of(call.arguments[1].node) if len(call.arguments) == 2 else None
        if share is None or not 0 <= share <= 1:
            hint = "write percentile(x, 0.9), once for each share"
            scope.report("percentile takes a column or expression and a share from 0 to 1", call.at, hint)
            return None
        call = replace(call, arguments=call.arguments[:1])
    if name == "count" and call.distinct and len(call.arguments) > 1:
        return _counted_together(call, condition, scope)
    if len(call.arguments) != 1:
        scope.report(f"{_written(call)} takes one argument", call.at)
        return None
    if call.distinct and name not in _OF_DISTINCT:
        scope.report(f"DISTINCT is for {', '.join(_OF_DISTINCT)}, not for {call.name}", call.at)
        return None
    argument = _argument(call.arguments[0], scope)
    if argument is None:
        return None
    if name == "count_if":
        counted = _where(_as_expression(argument), _ONE)
        return Aggregate("count", counted if condition is None else _where(condition, counted))
    if name in _TRUTHS:
        name, argument = _TRUTHS[name], _truth(argument, call, scope)
        if argument is None:
            return None
    if condition is not None:
        argument = _where(condition, _as_expression(argument))
    if name == "approx_count_distinct":
        return Aggregate("count", argument, True)
    if name in COLLECTS:
        return Aggregate("collect_set" if call.distinct else name, argument)
    # An extreme is the same of different values.
    return Aggregate(name, argument, call.distinct and name not in ("min", "max"), share=share)


def _continuous(call: AggregateCall, scope: Scope) -> Aggregate | None:
    """percentile_cont(p) WITHIN GROUP (ORDER BY x)."""
    share = number_of(call.arguments[0].node) if len(call.arguments) == 1 and len(call.ordering) == 1 else None
    if share is None or not 0 <= share <= 1 or call.distinct:
        hint = "write percentile_cont(0.9) WITHIN GROUP (ORDER BY x)"
        scope.report("percentile_cont takes a share from 0 to 1, and what to order by", call.at, hint)
        return None
    (by,) = call.ordering
    found = _aggregate(replace(call, name="median", arguments=(by.code,), ordering=()), scope)
    return None if found is None else replace(found, function="percentile", share=1 - share if by.descending else share)


def _listed(call: AggregateCall, scope: Scope) -> Formula | None:
    """listagg([DISTINCT] x [, between]) [WITHIN GROUP (ORDER BY x [DESC])]."""
    if not 1 <= len(call.arguments) <= 2 or call.is_star:
        hint = f"write {call.name}(x, ', ')"
        scope.report(f"{call.name} takes what is listed, and what stands between", call.at, hint)
        return None
    listed, *between = call.arguments
    if any(words_of(by.code.tokens) != words_of(listed.tokens) for by in call.ordering) or len(call.ordering) > 1:
        told = f"{call.name}(x) in the order of something else is not in Penstock's language"
        hint = "order by what is listed; or collect_list(struct(y, x)), and sort it: array_sort(…)"
        scope.source.report(Refused, told, call.at, hint=hint)
        return None
    separator = bind_node(between[0].node, between[0].tokens, scope) if between else Expression("''", (), Literal(""))
    name = "collect_set" if call.distinct else "collect_list"
    values = _aggregate(replace(call, name=name, distinct=False, arguments=(listed,), ordering=()), scope)
    if values is None or separator is None:
        return None
    if separator.columns:
        scope.report(f"what stands between the values of {call.name} is a constant", between[0].at)
        return None
    ascending = "false" if call.ordering and call.ordering[0].descending else "true"
    texts = ("CAST(sort_array(", f", {ascending}) AS ARRAY<STRING>)")
    joined = ("array_join(", texts[0], values, texts[1], f", {separator.text})")
    pieces = ("CASE WHEN size(", values, ") > 0 THEN ", *joined, " END")
    return Formula("", _joined_texts(pieces), term=Cast(Call(UNREAD, ()), DataType.of(Kind.STRING)))


def _joined_texts(pieces: tuple[str | Aggregate, ...]) -> tuple[str | Aggregate, ...]:
    """Texts side by side as one."""
    found: list[str | Aggregate] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return tuple(found)


def _counted_together(call: AggregateCall, condition: Expression | None, scope: Scope) -> Aggregate | None:
    """count(DISTINCT x, y), of which a NULL in one is none."""
    read = [_argument(argument, scope) for argument in call.arguments]
    values = [value for value in read if value is not None]
    if len(values) < len(read):
        return None
    if condition is not None:
        values[0] = _where(condition, _as_expression(values[0]))
    return Aggregate("count", values[0], True, tuple(values[1:]))


def _of_sets(call: AggregateCall, condition: Expression | None, scope: Scope) -> Aggregate | None:
    """grouping(key), grouping_id()."""
    many = 1 if call.name == "grouping" else 0
    if len(call.arguments) != many or call.distinct or condition is not None:
        takes = "one key" if many else "nothing: it is of all keys"
        scope.report(f"{call.name} takes {takes}", call.at, f"write {'grouping(a)' if many else 'grouping_id()'}")
        return None
    key = _argument(call.arguments[0], scope) if many else None
    return Aggregate(call.name, key) if key is not None or not many else None


def _picked(call: AggregateCall, condition: Expression | None, scope: Scope) -> Aggregate | None:
    """max_by(x, y)."""
    if len(call.arguments) != 2 or call.distinct:
        scope.report(f"{call.name} takes two arguments and no DISTINCT", call.at, f"write {call.name}(x, y)")
        return None
    value, by = (_argument(argument, scope) for argument in call.arguments)
    if value is None or by is None:
        return None
    return Aggregate(call.name, value, more=(by if condition is None else _where(condition, _as_expression(by)),))


def _by_arrival(call: AggregateCall, function: str, condition: Expression | None, scope: Scope) -> Aggregate | None:
    """first(x), last(x), each also with IGNORE NULLS or true as a second argument."""
    of_nulls = call.arguments[1].node if len(call.arguments) == 2 else None
    if not call.arguments or len(call.arguments) > 2 or call.distinct or not isinstance(of_nulls, exp.Boolean | None):
        scope.report(f"{_written(call)} takes one argument", call.at, f"write {call.name}(x) or {call.name}(x, true)")
        return None
    value = _argument(call.arguments[0], scope)
    if value is None:
        return None
    arrival = scope.arrival_of((value,) if isinstance(value, ColumnRef) else value.columns)
    if arrival is None:
        text = f"{call.name}(…) is of rows in an order that nothing defines"
        hint = f"write {function}(x, ts), or declare of its stream in which order it arrives: ARRIVES BY seq"
        scope.source.report(Refused, text, call.at, hint=hint)
        return None
    by: ColumnRef | Expression = arrival
    if call.ignores_nulls or (of_nulls is not None and of_nulls.this):
        own = _as_expression(value)
        is_there = Expression(f"({own.text}) IS NOT NULL", own.columns, Call("is not null", (own.term,)))
        by = _where(is_there, _as_expression(by))
    return Aggregate(function, value, more=(by if condition is None else _where(condition, _as_expression(by)),))


def refuse_aggregate(name: str, at: Stretch, scope: Scope) -> None:
    """Say that the language has no such aggregate."""
    hint = _INSTEAD.get(name, f"these are: {', '.join(KNOWN_AGGREGATES)}, count(DISTINCT x)")
    scope.source.report(Refused, f"the aggregate {name} is not in Penstock's language", at, hint=hint)


_ONE = Expression("1", (), Literal(1))


def _written(call: AggregateCall) -> str:
    return f"{call.name}(DISTINCT …)" if call.distinct else call.name


def _counts_rows(call: AggregateCall) -> bool:
    """count(*), count(1)."""
    return call.is_star or (len(call.arguments) == 1 and number_of(call.arguments[0].node) is not None)


def _argument(code: Code, scope: Scope) -> ColumnRef | Expression | None:
    column = bind_column(code.node, scope)
    return column if column is not None else bind_node(code.node, code.tokens, scope)


def _as_expression(value: ColumnRef | Expression) -> Expression:
    return Expression(str(value), (value,), value) if isinstance(value, ColumnRef) else value


def _where(condition: Expression, value: Expression) -> Expression:
    """The value where the condition holds, else NULL."""
    columns = tuple(sorted({*condition.columns, *value.columns}))
    term: Term = Call("case", (Call("if", (condition.term, value.term)),))
    return Expression(f"CASE WHEN {condition.text} THEN {value.text} END", columns, term)


def _truth(value: ColumnRef | Expression, call: AggregateCall, scope: Scope) -> ColumnRef | Expression | None:
    """A truth value, as it is, or such that Spark refuses what is none."""
    if isinstance(value, Expression):
        is_condition = isinstance(value.term, Call) and value.term.function in _CONDITIONS | _NULL_TESTS
        return value if is_condition else Expression(f"NOT (NOT ({value.text}))", value.columns, _twice_not(value.term))
    kind = scope.type_of(value)
    if kind is not None and kind.kind is not Kind.BOOLEAN:
        scope.report(f"{call.name}({value}): {kind} is no truth value", call.at, "compare it with something")
        return None
    return value


def _twice_not(term: Term) -> Term:
    return Call("not", (Call("not", (term,)),))
