"""What a query gives: columns, expressions, aggregates, windows of time; and what it groups by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import Refused
from penstock.model.clauses import AGGREGATES, Aggregate, Formula, Output, Scalar, TimeWindow
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.spans import Span
from penstock.model.stream import span_problem
from penstock.sql.constants import number_of, span_or_none
from penstock.sql.cursor import UNITS
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.formulas import bind_formula, outer_aggregates
from penstock.sql.scope import Scope
from penstock.sql.tree import Code, Select, SelectItem, Stretch
from penstock.sql.words import place_of, unwrapped

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
        self._positions: list[Output | Formula | None] = []
        """The outputs by number; None for one whose own mistake is reported."""
        self._failed: set[str] = set()
        """Folded names of such outputs."""

    def outputs(self, select: Select, *, need_names: bool = True) -> Outputs:
        """The output columns and their places."""
        self._windows = [w for code in select.group_by if (w := self._time_window(code.node)) is not None]
        found: list[tuple[Output | Formula, Stretch]] = []
        self._positions = []
        for item in select.items:
            outputs = self._item(item, need_names)
            self._positions += outputs or [None]
            self._failed |= {fold(item.alias.text)} if item.alias is not None and not outputs else set()
            found += [(output, item.at) for output in outputs]
        return _of_groups(found)

    def group_by(self, select: Select) -> tuple[Scalar, ...]:
        """What is grouped by: a column, an expression, window(…), an output's name or its number."""
        keys: list[Scalar] = []
        for code in select.group_by:
            key = self._group_key(code)
            if isinstance(key, Aggregate | Formula):
                self.scope.report("an aggregate cannot be grouped by", code.at)
            elif key is not None and key not in keys:
                keys.append(key)
        return tuple(keys)

    def _group_key(self, code: Code) -> Scalar | Aggregate | Formula | None:
        node = unwrapped(code.node)
        number = number_of(node)
        if number is not None:
            if number != number.to_integral_value() or not 1 <= number <= len(self._positions):
                self.scope.report(f"GROUP BY {number} names no column of SELECT", code.at)
                return None
            chosen = self._positions[int(number) - 1]
            return _value_of(chosen) if chosen is not None else None
        if isinstance(node, exp.Column) and len(node.parts) == 1 and bind_column(node, self.scope) is None:
            named = [_value_of(o) for o in self._positions if o is not None and fold(o.name) == fold(node.name)]
            if named:
                return named[0]
            if fold(node.name) in self._failed:
                return None
        return self._scalar(code)

    # Items

    def _item(self, item: SelectItem, need_names: bool) -> Sequence[Output | Formula]:
        if item.code is None:
            return self._star(item)
        if item.aggregates:
            return self._formula(item, item.code)
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

    def _formula(self, item: SelectItem, code: Code) -> list[Formula]:
        read = [(self._aggregate(unwrapped(part.node), part), part) for part in item.aggregates]
        known = [(aggregate, part) for aggregate, part in read if aggregate is not None]
        others = [node for node in outer_aggregates(code.node) if type(node) not in _FUNCTIONS]
        for node in others:
            self._refuse_aggregate(node.sql_name().lower(), place_of(node) or code.at)
        if item.alias is None:
            self.scope.report("an expression needs a name", item.at, "add one: … AS name")
        if item.alias is None or others or len(known) < len(read):
            return []
        bound = bind_formula(item.alias.text, code, known, self.scope)
        return [bound] if bound is not None else []

    def _star(self, item: SelectItem) -> list[Output]:
        alias = None
        if item.star_of is not None:
            wanted = fold(item.star_of.text)
            alias = next((known for known in self.scope.tables if fold(known) == wanted), None)
            if alias is None:
                self.scope.report(
                    f"unknown stream or alias {item.star_of.text}",
                    item.star_of.at,
                    self.scope.source.guess(item.star_of.text, list(self.scope.tables)),
                )
                return []
        return [Output(column.name, column.value) for _, column in self.scope.star(alias)]

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
            self._refuse_aggregate(code.tokens[0].text.lower(), code.at)
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

    def _refuse_aggregate(self, name: str, at: Stretch) -> None:
        hint = f"these are: {', '.join(AGGREGATES)}, count(DISTINCT x)"
        self.scope.source.report(Refused, f"the aggregate {name} is not in Penstock's language", at, hint=hint)

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
        kind = self.scope.type_of(window.column)
        if kind is None or not kind.is_clock:
            self.scope.report(f"window({window.column}, …): {kind} is no time", at, "TIMESTAMP, DATE and integers are")
            return False
        why = span_problem(window.span, kind)
        if why is None and window.span.ticks <= 0:
            why = "a window of time must be longer than 0"
        if why is not None:
            self.scope.report(why, at, "write window(ts, '5 minutes') for a TIMESTAMP, window(t, 300) for an integer")
        return why is None


@dataclass(frozen=True)
class Outputs:
    """The columns of the groups and their places; and those of the answer, if these are others."""

    columns: tuple[Output, ...]
    at: tuple[Stretch, ...]
    shown: tuple[str | Formula, ...] = ()
    shown_at: tuple[Stretch, ...] = ()


def _of_groups(found: list[tuple[Output | Formula, Stretch]]) -> Outputs:
    """The outputs, and what formulas are made of among them, under its own text as a name."""
    columns = [(output, at) for output, at in found if isinstance(output, Output)]
    if len(columns) == len(found):
        return Outputs(tuple(output for output, _ in columns), tuple(at for _, at in columns))
    taken = {fold(output.name) for output, _ in found}
    formulas = [(formula, at) for formula, at in found if isinstance(formula, Formula)]
    for formula, at in formulas:
        values: tuple[Aggregate | ColumnRef, ...] = (*formula.aggregates, *formula.columns)
        for value in values:
            if all(output.value != value for output, _ in columns):
                name = str(value)
                while fold(name) in taken:
                    name += "_"
                taken.add(fold(name))
                columns.append((Output(name, value), at))
    shown = tuple(output if isinstance(output, Formula) else output.name for output, _ in found)
    return Outputs(
        tuple(output for output, _ in columns), tuple(at for _, at in columns), shown, tuple(at for _, at in found)
    )


def _value_of(output: Output | Formula) -> Scalar | Aggregate | Formula:
    return output.value if isinstance(output, Output) else output


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
