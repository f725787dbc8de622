"""Aggregates, bound: each as one of the few that the engine works out.

`f(x) FILTER (WHERE c)` is f over `CASE WHEN c THEN x END`, since no aggregate of the language counts a NULL;
`count_if(c)` counts `CASE WHEN c THEN 1 END`; `bool_and` and `bool_or` are the least and the greatest of truth values.
So whatever works out counts, sums and extremes works out these, and a printed query says what is done.
`approx_count_distinct` is counted exactly, `any_value` is the least value.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import Refused
from penstock.model.clauses import AGGREGATES, Aggregate
from penstock.model.expressions import Call, ColumnRef, Expression, Literal, Term
from penstock.model.types import Kind
from penstock.sql.constants import number_of
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.scope import Scope
from penstock.sql.tree import AggregateCall, Code, Stretch

_SAME = {"mean": "avg", "every": "bool_and", "any": "bool_or", "some": "bool_or"}
_SAME |= {"std": "stddev_samp", "stddev": "stddev_samp", "variance": "var_samp", "any_value": "min"}
"""Other names of an aggregate; of values any one of which will do, the least."""
_TRUTHS = {"bool_and": "min", "bool_or": "max"}
KNOWN_AGGREGATES = (*AGGREGATES, "count_if", *_TRUTHS, "approx_count_distinct")
"""What the language has, as a user writes it."""

_OF_DISTINCT = ("count", "sum", "avg", "min", "max")
_FIRST_ROW = (
    "ask for the row that it is of: "
    "SELECT … FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) AS rn FROM …) WHERE rn = 1"
)
_INSTEAD = dict.fromkeys(("max_by", "min_by", "first", "first_value", "last", "last_value"), _FIRST_ROW)
_INSTEAD |= dict.fromkeys(
    ("collect_list", "collect_set", "array_agg", "listagg", "string_agg"),
    "a list grows with its group: write the rows to the sink, and collect them where it is read",
)
_INSTEAD |= dict.fromkeys(
    ("percentile", "percentile_approx", "approx_percentile"), "median is the one that the language has"
)
"""What to write instead of an aggregate that the language has not."""

_CONDITIONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "in", "between", "like"})
_NULL_TESTS = frozenset({"is null", "is not null"})


def bind_aggregate(call: AggregateCall, scope: Scope) -> Aggregate | None:
    """The aggregate that a call means; None, and a mistake, if it cannot stand."""
    name = _SAME.get(call.name, call.name)
    if name not in KNOWN_AGGREGATES:
        refuse_aggregate(call.name, call.at, scope)
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
    # An extreme is the same of different values.
    return Aggregate(name, argument, call.distinct and name not in ("min", "max"))


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
