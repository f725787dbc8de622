"""What a query gives: columns, expressions, aggregates, windows of time; and what it groups by."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import Refused
from penstock.model.names import fold
from penstock.model.predicates import ColumnRef, Expression
from penstock.model.query import AGGREGATES, Aggregate, Output, Scalar, TimeWindow
from penstock.model.spans import Span
from penstock.model.stream import span_problem
from penstock.sql.constants import number_of, span_or_none
from penstock.sql.cursor import UNITS
from penstock.sql.expressions import bind_column, bind_node, unwrapped
from penstock.sql.scope import Scope, did_you_mean
from penstock.sql.tree import Code, Select, SelectItem, Stretch

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.Median: "median",
}


class OutputBinder:
    """Binds the items of SELECT and of GROUP BY."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._windows: list[TimeWindow] = []
        self._positions: list[Output | None] = []
        """The outputs by number; None for one whose own mistake is reported."""
        self._failed: set[str] = set()
        """Folded names of such outputs."""

    def outputs(self, select: Select, *, need_names: bool = True) -> tuple[list[Output], list[Stretch]]:
        """The output columns and their places."""
        self._windows = [w for code in select.group_by if (w := self._time_window(code.node)) is not None]
        found: list[Output] = []
        places: list[Stretch] = []
        self._positions = []
        for item in select.items:
            outputs = self._item(item, need_names)
            self._positions += outputs or [None]
            self._failed |= {fold(item.alias.text)} if item.alias is not None and not outputs else set()
            found += outputs
            places += [item.at] * len(outputs)
        return found, places

    def group_by(self, select: Select, outputs: list[Output]) -> tuple[Scalar, ...]:
        """What is grouped by: a column, an expression, window(…), an output's name or its number."""
        keys: list[Scalar] = []
        for code in select.group_by:
            key = self._group_key(code, outputs)
            if isinstance(key, Aggregate):
                self.scope.report("an aggregate cannot be grouped by", code.at)
            elif key is not None and key not in keys:
                keys.append(key)
        return tuple(keys)

    def _group_key(self, code: Code, outputs: list[Output]) -> Scalar | Aggregate | None:
        node = unwrapped(code.node)
        number = number_of(node)
        if number is not None:
            if number != number.to_integral_value() or not 1 <= number <= len(self._positions):
                self.scope.report(f"GROUP BY {number} names no column of SELECT", code.at)
                return None
            chosen = self._positions[int(number) - 1]
            return chosen.value if chosen is not None else None
        if isinstance(node, exp.Column) and len(node.parts) == 1 and bind_column(node, self.scope) is None:
            named = [o.value for o in outputs if fold(o.name) == fold(node.name)]
            if named:
                return named[0]
            if fold(node.name) in self._failed:
                return None
        return self._scalar(code)

    # Items

    def _item(self, item: SelectItem, need_names: bool) -> list[Output]:
        if item.code is None:
            return self._star(item)
        value = self._value(item.code)
        if value is None:
            return []
        name = item.alias.text if item.alias is not None else _own_name(value, item.code.node)
        if name is None:
            if not need_names:
                return []
            self.scope.report("an expression needs a name", item.at, "add one: … AS name")
            return []
        return [Output(name, value)]

    def _star(self, item: SelectItem) -> list[Output]:
        streams = self.scope.streams
        if item.star_of is not None:
            wanted = fold(item.star_of.text)
            streams = {alias: s for alias, s in streams.items() if fold(alias) == wanted}
            if not streams:
                self.scope.report(
                    f"unknown stream or alias {item.star_of.text}",
                    item.star_of.at,
                    did_you_mean(item.star_of.text, list(self.scope.streams)),
                )
        return [
            Output(column.name, ColumnRef(alias, column.name))
            for alias, stream in streams.items()
            for column in stream.carried
        ]

    def _value(self, code: Code) -> Scalar | Aggregate | None:
        node = unwrapped(code.node)
        if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES):
            return self._aggregate(node, code)
        return self._scalar(code)

    def _scalar(self, code: Code) -> Scalar | None:
        node = unwrapped(code.node)
        window = self._time_window(node) or self._window_end(node)
        if window is not None:
            return window if self._window_fits(window, code.at) else None
        column = bind_column(node, self.scope)
        return column if column is not None else bind_node(code.node, code.tokens, self.scope)

    # Aggregates

    def _aggregate(self, node: exp.Expr, code: Code) -> Aggregate | None:
        function = _FUNCTIONS.get(type(node))
        if function is None:
            name = code.tokens[0].text.lower()
            self.scope.source.report(
                Refused,
                f"the aggregate {name} is not in Penstock's language",
                code.at,
                hint=f"these are: {', '.join(AGGREGATES)}, count(DISTINCT x)",
            )
            return None
        inner = node.this
        distinct = isinstance(inner, exp.Distinct)
        if distinct:
            if len(inner.expressions) != 1:
                self.scope.report("count(DISTINCT …) takes one expression", code.at)
                return None
            inner = inner.expressions[0]
        if isinstance(node, exp.Count) and (isinstance(inner, exp.Star) or number_of(inner or exp.Null()) is not None):
            return Aggregate("count")
        if inner is None or len(node.expressions) > 0:
            self.scope.report(f"{function} takes one argument", code.at)
            return None
        if distinct and function != "count":
            self.scope.report(f"DISTINCT is for count, not for {function}", code.at)
            return None
        argument: ColumnRef | Expression | None = bind_column(inner, self.scope)
        if argument is None:
            argument = bind_node(inner, _argument_tokens(code, distinct), self.scope)
        return None if argument is None else Aggregate(function, argument, distinct)

    # Windows of time

    def _time_window(self, node: exp.Expr) -> TimeWindow | None:
        node = unwrapped(node)
        if not isinstance(node, exp.Anonymous) or node.name.lower() != "window" or len(node.expressions) != 2:
            return None
        column = bind_column(node.expressions[0], self.scope)
        span = _window_length(node.expressions[1])
        return TimeWindow(column, span) if column is not None and span is not None else None

    def _window_end(self, node: exp.Expr) -> TimeWindow | None:
        """`window(…).start`, or `window.start` where the query groups by one window."""
        whole: TimeWindow | None = None
        if isinstance(node, exp.Dot):
            whole = self._time_window(node.this)
            end = node.expression.name.lower()
        elif isinstance(node, exp.Column) and fold(node.table) == "window" and len(self._windows) == 1:
            whole, end = self._windows[0], node.name.lower()
        elif isinstance(node, exp.Column) and len(node.parts) == 1 and fold(node.name) == "window":
            return self._windows[0] if len(self._windows) == 1 and bind_column(node, self.scope) is None else None
        else:
            return None
        return TimeWindow(whole.column, whole.span, end) if whole is not None and end in ("start", "end") else None

    def _window_fits(self, window: TimeWindow, at: Stretch) -> bool:
        kind = self.scope.streams[window.column.alias].type_of(window.column.column)
        if kind is None or not kind.is_clock:
            self.scope.report(f"window({window.column}, …): {kind} is no time", at, "TIMESTAMP, DATE and integers are")
            return False
        why = span_problem(window.span, kind)
        if why is None and window.span.ticks <= 0:
            why = "a window of time must be longer than 0"
        if why is not None:
            self.scope.report(why, at, "write window(ts, '5 minutes') for a TIMESTAMP, window(t, 300) for an integer")
        return why is None


def _own_name(value: Scalar | Aggregate, node: exp.Expr) -> str | None:
    match value:
        case ColumnRef():
            return value.column
        case Aggregate():
            return value.function
        case TimeWindow():
            return value.end or "window"
        case Expression():
            # A field is named as in its struct.
            return node.name if isinstance(node, exp.Column | exp.Dot) else None


def _window_length(node: exp.Expr) -> Span | None:
    """'5 minutes', or a bare number."""
    number = number_of(node)
    if number is None and isinstance(node, exp.Literal) and node.is_string:
        amount, _, unit = node.name.strip().partition(" ")
        try:
            number = Decimal(amount)
        except InvalidOperation:
            return None
        if unit and unit.strip().upper() not in UNITS:
            return None
        return span_or_none(number, UNITS[unit.strip().upper()] if unit else None)
    return None if number is None else span_or_none(number)


def _argument_tokens(code: Code, distinct: bool) -> tuple[Token, ...]:
    """Between the parentheses of `f( … )`, after DISTINCT."""
    first = next(i for i, token in enumerate(code.tokens) if token.text == "(") + 1
    last = max(i for i, token in enumerate(code.tokens) if token.text == ")")
    return code.tokens[first + (1 if distinct else 0) : last]
