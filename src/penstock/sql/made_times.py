"""Windows of a time that a query works out of several columns, or of windows below: made a column first.

`window(coalesce(a.ts, b.ts), '1 minute')` over a FULL JOIN is a window of what each row has one of. As a column of a
block (`SELECT coalesce(a.ts, b.ts) AS t, … FROM …`) that has a clock, the least of theirs, which closes groups by a
window of it around. So the FROM of such a query becomes a block that gives that column too.

`window_time(w)` is the last moment of a window, its end less a microsecond, as Spark has it; and `window(w, d)` groups
windows by it. Where w is a window of a query in FROM, and is not held whole by what it is grouped by, that moment is
made a column in the same way.

Theorem: the bag of results does not change. The block gives the rows of FROM, before WHERE, with the columns that are
named; what is tested and grouped above it are the same values.

Not decided: a time that is worked out in other ways, of which nothing says how it goes with a clock: refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.model.clauses import SESSION, TIME, WINDOW
from penstock.model.expressions import Call, ColumnRef, Expression, Literal, Term
from penstock.model.lineage import CHOOSE
from penstock.model.spans import span_of_ticks
from penstock.model.term_types import type_of
from penstock.model.window_columns import window_end
from penstock.sql.expressions import visible_column
from penstock.sql.scope import Scope, Visible
from penstock.sql.tree import AggregateCall, Code, Select
from penstock.sql.words import unwrapped

if TYPE_CHECKING:
    from penstock.sql.time_windows import WindowReader

WINDOW_TIME = "window_time"


def made_times(select: Select, scope: Scope, windows: WindowReader) -> tuple[Visible, ...]:
    """The times that windows of a SELECT are of and that must be columns first, each under the text that it has."""
    found: dict[str, Visible] = {}
    for node in _windows_in(select):
        if windows.whole(node) is None and (value := _time(node.expressions[0], scope)) is not None:
            name = name_of(node.expressions[0])
            found.setdefault(name, Visible(name, value, type_of(value.term, scope.type_of)))
    return tuple(found.values())


def name_of(node: exp.Expr) -> str:
    """What a time goes by that is made a column."""
    node = unwrapped(node)
    text = str(node.sql(normalize_functions="lower"))
    return f"{WINDOW_TIME}({text})" if isinstance(node, exp.Column) else text


def last_moment(window: Visible) -> Expression | None:
    """`window_time` of a column that is a window: its end less a microsecond."""
    if window.window is not None:
        return window_end(window.window.whole, TIME) if window.window.end is None else None
    end = None if window.ends is None else window.ends[1]
    if not isinstance(end, ColumnRef):
        return None
    term = Call("-", (end, Literal(span_of_ticks(1, True))))
    return Expression(f"{end} - INTERVAL 1 MICROSECOND", (end,), term)


def window_named(node: exp.Expr, scope: Scope) -> Visible | None:
    """The window of which a node is the `window_time`."""
    node = unwrapped(node)
    if not isinstance(node, exp.Anonymous) or node.name.lower() != WINDOW_TIME or len(node.expressions) != 1:
        return None
    return visible_column(node.expressions[0], scope)


def _windows_in(select: Select) -> Iterator[exp.Anonymous]:
    codes = [*select.group_by, *(item.code for item in select.items if item.code is not None)]
    calls = [call for item in select.items if item.over is not None for call in item.over.calls]
    codes += [call for call in calls if isinstance(call, Code)]
    assert not any(isinstance(code, AggregateCall) for code in codes)
    for code in codes:
        for node in code.node.find_all(exp.Anonymous):
            if node.name.lower() in (WINDOW, SESSION) and len(node.expressions) > 1:
                yield node


def _time(node: exp.Expr, scope: Scope) -> Expression | None:
    """What a window is of, where that is no column by itself."""
    node = unwrapped(node)
    window = window_named(node, scope) or visible_column(node, scope)
    if window is not None:
        return last_moment(window) if window.ends is not None else None
    chosen = _chosen(node, scope)
    if not isinstance(chosen, Call):
        return None
    columns = tuple(sorted(set(_columns(chosen))))
    return Expression(_text(chosen), columns, chosen) if len({ref.alias for ref in columns}) > 1 else None


def _chosen(node: exp.Expr, scope: Scope) -> Term | None:
    """One of several columns: `coalesce(a.ts, b.ts)`."""
    node = unwrapped(node)
    if isinstance(node, exp.Column):
        column = visible_column(node, scope)
        return column.value if column is not None and isinstance(column.value, ColumnRef) else None
    function = type(node).__name__.lower()
    if not isinstance(node, exp.Coalesce | exp.Greatest | exp.Least) or function not in CHOOSE:
        return None
    parts = [_chosen(part, scope) for part in (node.this, *node.expressions)]
    known = [part for part in parts if part is not None]
    return Call(function, tuple(known)) if len(known) == len(parts) else None


def _columns(term: Term) -> Iterator[ColumnRef]:
    if isinstance(term, ColumnRef):
        yield term
    elif isinstance(term, Call):
        for part in term.arguments:
            yield from _columns(part)


def _text(term: Term) -> str:
    return f"{term.function}({', '.join(map(_text, term.arguments))})" if isinstance(term, Call) else str(term)
