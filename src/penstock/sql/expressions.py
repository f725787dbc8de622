"""Scalar expressions: columns found, the rest left to Spark.

Nothing here decides what an expression means; it finds the columns, refuses what cannot stand in a continuous query
(subqueries, window functions, generators, parameters, aggregates out of place), and keeps the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeGuard

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import QueryMistake, Refused
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.sql.aggregate_calls import SPARK_AGGREGATES
from penstock.sql.declared_fields import wrong_field
from penstock.sql.refused_words import GENERATORS
from penstock.sql.scope import Resolved, Scope, Visible
from penstock.sql.spark_functions import SPARK_FUNCTIONS
from penstock.sql.terms import NAME_META, TERM_META, term_of
from penstock.sql.tree import Code, Name, QueryText, Stretch
from penstock.sql.words import place_of, spelt, stretch_of, tokens_of, unwrapped

_REFUSED: tuple[tuple[type[exp.Expr], str, str], ...] = (
    (
        exp.Query,
        "a subquery",
        "EXISTS and IN take one, as a condition of WHERE; of tables it may be a value, but in the ON of a table: there "
        "write (SELECT … FROM t WHERE x > (SELECT …)) AS t",
    ),
    (
        exp.Window,
        "a window function",
        "the first rows are ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) AS rn, and WHERE rn <= 3 around it; else "
        "aggregate with GROUP BY window(ts, '5 minutes'), and join what that gives",
    ),
    (exp.WithinGroup, "WITHIN GROUP", "it stands after percentile_cont and listagg, in SELECT and HAVING"),
    (exp.Filter, "FILTER", "it stands after an aggregate, in SELECT and HAVING"),
    (exp.UDTF, "a table function", "derive a column in CREATE STREAM instead"),
    (exp.Explode, "a table function", "derive a column in CREATE STREAM instead"),
    (exp.QueryTransform, "TRANSFORM … USING", "call a function instead, Spark's or your own (--function NAME)"),
    (exp.Placeholder, "a parameter", "write the value"),
    (exp.Parameter, "a parameter", "write the value"),
    (exp.SessionParameter, "a parameter", "write the value"),
    (exp.Star, "*", "name the columns"),
    (exp.Distinct, "DISTINCT", "it stands after SELECT, and in aggregates: count(DISTINCT x)"),
)

_SYMMETRIC = "Spark has none: write x BETWEEN least(a, b) AND greatest(a, b)"
_ASKED_ELSEWHERE = (
    "it stands in WHERE and among the items of SELECT, of a query that is none of EXISTS or IN itself; "
    "elsewhere name it in a query in FROM: (SELECT *, EXISTS (SELECT …) AS met FROM s) AS x, and ask x.met"
)
_WINDOWS = ("window", "session_window", "window_time")
_WINDOWS_ELSEWHERE = {
    f"{name}{end}": f"Spark has {window}; its ends are .start and .end."
    for name, window in (
        ("tumble", "window(ts, '5 minutes')"),
        ("hop", "window(ts, '1 hour', '5 minutes')"),
        ("session", "session_window(ts, '5 minutes')"),
    )
    for end in ("", "_start", "_end", "_rowtime")
}
"""What other systems call windows of time, and what to write."""
_LENGTH = re.compile(r"\s*(?:interval\s+)?-?\d+\s+(?:week|day|hour|minute|(?:milli|micro)?second)s?\b", re.IGNORECASE)
"""How the text of a fixed length begins."""
"""Functions that make groups, not values; `window(ts, length)` itself never comes here."""


def bind_expression(code: Code, scope: Scope) -> Expression | None:
    """The expression with its columns resolved; None, and mistakes, if it cannot stand."""
    return bind_node(code.node, code.tokens, scope)


def bind_node(node: exp.Expr, tokens: tuple[Token, ...], scope: Scope) -> Expression | None:
    """As bind_expression, for a part of an expression that has its own tokens."""
    found = resolved_columns(node, stretch_of(tokens), scope)
    if found is None:
        return None
    return Expression(spelt(scope.source.text, tokens, found.replaced), found.columns, term_of(node, found.by_node))


@dataclass
class ResolvedColumns:
    """The columns that an expression names."""

    by_node: dict[int, Resolved] = field(default_factory=dict)
    """By the identity of sqlglot's node."""

    @property
    def replaced(self) -> dict[int, str]:
        """What takes the place of a token, by its start."""
        return {start: text for found in self.by_node.values() for start, text in found.replaced.items()}

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """Each once, in order."""
        return tuple(sorted({ref for found in self.by_node.values() for ref in found.column.columns}))


def resolved_columns(node: exp.Expr, at: Stretch, scope: Scope) -> ResolvedColumns | None:
    """The columns that an expression names; None, and mistakes, if one is wrong."""
    good = _refuse_what_cannot_stand(node, at, scope)
    found = ResolvedColumns()
    for column in _column_nodes(node, scope):
        resolved = scope.resolve(column)
        if resolved is None or not _has_its_fields(column, resolved, scope):
            good = False
        else:
            found.by_node[id(column)] = resolved
    for part in _asked_in(node, scope):
        answer, own = scope.asked[id(part)], tokens_of(part, ())
        gone = {token.start: "" for token in own}
        found.by_node[id(part)] = Resolved(answer, (), {**gone, own[0].start: answer.text})
    for subquery in subqueries_in(node) if good and scope.takes_scalars else ():
        query = subquery.meta["query"]
        value = scope.scalar(query, {ref.alias for ref in found.columns})
        if value is None:
            return None
        inside = {token.start: "" for token in subquery.meta["tokens_inside"]}
        found.by_node[id(subquery)] = Resolved(value, (), {**inside, query.at.start: value.text})
    return found if good else None


def _has_its_fields(node: exp.Column, resolved: Resolved, scope: Scope) -> bool:
    """Report a field that the type of a column does not have; True if there is none such."""
    column = resolved.column
    wrong = wrong_field(node, resolved.fields, column.type) if column.ends is None else None
    if wrong is None:
        return True
    start = node.meta.get("start") or node.parts[0].meta.get("start", wrong.name.at.start)
    before = scope.source.text[start : wrong.name.at.start].rstrip(" .)\n")
    text = f"{before} has no field {wrong.name.text}" if wrong.known else f"{before} is {wrong.of}, which has no fields"
    scope.report(text, wrong.name.at, scope.source.guess(wrong.name.text, wrong.known))
    return False


def subqueries_in(node: exp.Expr) -> list[exp.Select]:
    """The subqueries that stand for a value."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Select))
    return [part for part in found if isinstance(part, exp.Select) and _is_scalar(part)]


def _is_scalar(part: exp.Expr) -> bool:
    around = part.parent
    while isinstance(around, exp.Subquery | exp.Paren):
        around = around.parent
    return isinstance(part.meta.get("query"), QueryText) and not isinstance(around, exp.In | exp.Exists)


def bind_column(node: exp.Expr, scope: Scope) -> ColumnRef | None:
    """The column, if the node is just one; mistakes are left to bind_node."""
    node = unwrapped(node)
    if id(node) in scope.asked:
        asked = scope.asked[id(node)].value
        return asked if isinstance(asked, ColumnRef) else None
    if scope.takes_scalars and isinstance(node, exp.Subquery) and _is_scalar_of(node):
        return _scalar_column(node, scope)
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    before = len(scope.source.mistakes)
    resolved = scope.resolve(node)
    scope.source.forget(before)
    if resolved is None or resolved.has_fields or not isinstance(resolved.column.value, ColumnRef):
        return None
    return resolved.column.value


def visible_column(node: exp.Expr, scope: Scope) -> Visible | None:
    """The column that a node is, whatever it stands for; mistakes are left to bind_node."""
    node = unwrapped(node)
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or TERM_META in node.meta:
        return None
    before = len(scope.source.mistakes)
    resolved = scope.resolve(node)
    scope.source.forget(before)
    return None if resolved is None or resolved.has_fields else resolved.column


def _scalar_column(node: exp.Subquery, scope: Scope) -> ColumnRef | None:
    before = len(scope.source.mistakes)
    value = scope.scalar(subqueries_in(node)[0].meta["query"], frozenset())
    scope.source.forget(before)
    return value.value if value is not None and isinstance(value.value, ColumnRef) else None


def note_scalars(node: exp.Expr, at: Stretch, scope: Scope) -> None:
    """Find the values of subqueries beside the columns that an expression names; mistakes are left to who binds it."""
    if scope.takes_scalars and subqueries_in(node):
        before = len(scope.source.mistakes)
        resolved_columns(node, at, scope)
        scope.source.forget(before)


def _refuse_what_cannot_stand(node: exp.Expr, at: Stretch, scope: Scope) -> bool:
    """Report each part that no expression of the language may hold; True if there is none."""
    good = True

    def wrong(part: exp.Expr) -> bool:
        """What is inside a part that is refused is not looked at."""
        nonlocal good
        if scope.takes_scalars and isinstance(part, exp.Subquery | exp.Select) and _is_scalar_of(part):
            return True
        if id(part) in scope.asked:
            return True
        found = _refusal(part)
        if found is not None and scope.missing and isinstance(part, exp.Anonymous):
            pass  # A window of what is not there: that is reported.
        elif found is not None:
            construct, hint = found
            tokens = part.meta.get("tokens")
            place = part.meta.get("at") or (stretch_of(tokens) if tokens else place_of(part)) or at
            scope.source.report(Refused, f"{construct} is not in Penstock's language here", place, hint=hint)
        elif isinstance(part, exp.AggFunc) or (
            isinstance(part, exp.Anonymous) and part.name.lower() in SPARK_AGGREGATES
        ):
            name = part.sql_name().lower() if not isinstance(part, exp.Anonymous) else str(part.this)
            scope.report(
                f"the aggregate {name} cannot stand here",
                place_of(part) or at,
                "aggregates stand in SELECT and HAVING, each over rows: SELECT count(*) AS n, 100 * sum(x) AS total …",
            )
        elif (function := _unknown_function(part, scope)) is not None:
            close = _WINDOWS_ELSEWHERE.get(function.text.lower()) or scope.source.guess(function.text, SPARK_FUNCTIONS)
            own = f"name a function of your own by --function {function.text}"
            text = f"Spark has no function {function.text}"
            scope.source.report(QueryMistake, text, function.at, hint=own if close is None else f"{close} Else {own}")
        elif isinstance(part, exp.In) and not any(part.args.get(k) for k in ("expressions", "field")):
            scope.report("IN needs at least one value", at)
        else:
            return False
        good = False
        return True

    for _ in node.walk(prune=wrong):
        pass
    return good


def _unknown_function(part: exp.Expr, scope: Scope) -> Name | None:
    """The function that a part calls, where neither Spark nor the session has one of that name."""
    written = part.name if isinstance(part, exp.Anonymous) else part.meta.get(NAME_META)
    known = scope.source.own_functions
    if not isinstance(written, str) or known is None or isinstance(part.parent, exp.Dot):
        return None
    if written.lower() in SPARK_FUNCTIONS or fold(written) in known:
        return None
    return Name(written, Stretch(part.meta["start"], part.meta["end"] + 1)) if "start" in part.meta else None


def _is_scalar_of(part: exp.Expr) -> bool:
    while isinstance(part, exp.Subquery):
        part = part.this
    return isinstance(part, exp.Select) and _is_scalar(part)


def _is_aggregate(part: exp.Expr) -> TypeGuard[exp.Func]:
    unknown = isinstance(part, exp.Anonymous) and part.name.lower() in SPARK_AGGREGATES
    return unknown or isinstance(part, exp.AggFunc)


_DECLARED = "declare it: CREATE VIEW v (EVENT TIME t, ORDERED BY t WITHIN 1 MINUTE) AS SELECT … AS t"


def _refusal(part: exp.Expr) -> tuple[str, str] | None:
    """What SQL calls a part that the language leaves out, and what to write instead."""
    if isinstance(part, exp.In) and part.args.get("query") is not None:
        negated = "NOT " if isinstance(part.parent, exp.Not) else ""
        return f"{negated}IN (SELECT …)", _ASKED_ELSEWHERE
    if isinstance(part, exp.Exists) and isinstance(part.this, exp.Query):
        return "EXISTS", _ASKED_ELSEWHERE
    if isinstance(part, exp.Any | exp.All) and isinstance(part.this, exp.Query):
        return f"{type(part).__name__.upper()} (SELECT …)", (
            "Spark has none: for x = ANY (SELECT y …) write x IN (SELECT y …), else EXISTS (SELECT 1 … WHERE x > y)"
        )
    if isinstance(part, exp.Between) and part.args.get("symmetric"):
        return "BETWEEN SYMMETRIC", _SYMMETRIC
    written = str(part.meta.get(NAME_META) or part.name).lower() if isinstance(part, exp.Func) else ""
    if written in GENERATORS:
        return f"{written}(…)", GENERATORS[written]
    if written == "identifier":
        return "IDENTIFIER(…)", "write the name"
    if isinstance(part, exp.Anonymous) and part.name.lower() == "session_window":
        return _refused_session(part)
    if isinstance(part, exp.Anonymous) and any(a.name.lower() == "window_time" for a in part.find_all(exp.Anonymous)):
        return "window_time(…)", (
            "it is of a column of a query in FROM that is a window: SELECT window_time(w) AS t, … FROM "
            "(SELECT window(ts, '5 minutes') AS w, … FROM s GROUP BY window(ts, '5 minutes')) GROUP BY window_time(w)"
        )
    if isinstance(part, exp.Anonymous) and part.name.lower() in _WINDOWS and part.expressions:
        if isinstance(part.expressions[0], exp.Coalesce | exp.Greatest | exp.Least):
            return f"{part.name.lower()}(…) of one of several times", (
                "name it in a query in FROM, and its window around that: SELECT window(t, '5 minutes') AS w, … FROM "
                "(SELECT coalesce(a.ts, b.ts) AS t, … FROM …) AS x GROUP BY window(t, '5 minutes')"
            )
        if not isinstance(part.expressions[0], exp.Column):
            return f"{part.name.lower()}(…) of an expression", (
                f"a window is of a column: derive it of a stream, t TIMESTAMP AS (…) in CREATE STREAM, or {_DECLARED}"
            )
        if not all(isinstance(length, exp.Literal) and _LENGTH.match(length.name) for length in part.expressions[1:]):
            return f"this length of a {part.name.lower()}(…)", (
                "it is a number and a unit of fixed length in quotes, window(ts, '5 minutes'): WEEK and below, no month"
            )
    if isinstance(part, exp.Anonymous) and part.name.lower() in _WINDOWS:
        return f"this {part.name.lower()}(…)", (
            "window(ts, '5 minutes') stands alone, in GROUP BY and in SELECT; in a condition write "
            "date_trunc('HOUR', a.ts) = date_trunc('HOUR', b.ts), or how far two times may lie apart; of a time that "
            f"another query works out, {_DECLARED}"
        )
    return next(((construct, hint) for kind, construct, hint in _REFUSED if isinstance(part, kind)), None)


def _refused_session(part: exp.Anonymous) -> tuple[str, str]:
    """A session that is not of a column and a constant gap: of these none comes here but out of place."""
    alone = "session_window(ts, '5 minutes'), of a column and a length, stands alone, in GROUP BY and in SELECT"
    if len(part.expressions) == 2 and part.expressions[1].find(exp.Column) is not None:
        return (
            "session_window(…) with a gap that differs from row to row",
            "write a constant gap, session_window(ts, '5 minutes'); for several, one SELECT for each, with its rows "
            "in WHERE, and UNION ALL between them",
        )
    return "this session_window(…)", alone


def _column_nodes(node: exp.Expr, scope: Scope) -> list[exp.Column]:
    """The columns that an expression names, but names that stand for something else."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query) or id(part) in scope.asked)
    columns = (part for part in found if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star))
    return [column for column in columns if TERM_META not in column.meta]


def _asked_in(node: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """What in an expression asks, by EXISTS or IN, and is a column here."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query) or id(part) in scope.asked)
    return [part for part in found if id(part) in scope.asked]
