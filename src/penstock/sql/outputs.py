"""What a query gives: columns, expressions, aggregates, windows of time; and what it groups by.

An item may name one before it, `SELECT a + 1 AS x, x * 2 AS y`: as in Spark a name is a column, else such an item. What
that stands for then stands in its place; what gives another value each time has none, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.clauses import ROW_NUMBER, Aggregate, Formula, Output, Scalar, TimeWindow
from penstock.model.expressions import Call, Cast, ColumnRef, Expression, is_random
from penstock.model.names import fold, quoted
from penstock.model.predicates import NullTest
from penstock.model.term_types import aggregate_type, output_type, type_of
from penstock.model.types import DataType, Kind
from penstock.model.window_columns import is_expressible, window_expression
from penstock.sql.aggregate_calls import CALL, SPARK_AGGREGATES
from penstock.sql.bound_aggregates import bind_aggregate
from penstock.sql.constants import number_of
from penstock.sql.cursor import Stop
from penstock.sql.declared_fields import fields_of
from penstock.sql.dialect import read_expression
from penstock.sql.expressions import bind_column, bind_node, subqueries_in
from penstock.sql.formulas import Named, Value, bind_formula
from penstock.sql.group_columns import Outputs
from penstock.sql.output_names import NamedOutput, with_names_of_their_own
from penstock.sql.scope import Scope, Visible
from penstock.sql.spark_names import spark_name
from penstock.sql.terms import NAME_META, term_of
from penstock.sql.time_windows import WindowReader, function_of, whole_window
from penstock.sql.tree import AggregateCall, Code, Name, OverAggregates, Select, SelectItem
from penstock.sql.words import unwrapped


def with_starts(keys: Sequence[Scalar], scope: Scope) -> list[Scalar]:
    """The keys, and of each that is a window of a block its start: it parts no group, and has a clock."""
    ends = [scope.ends_of(key) for key in keys if isinstance(key, ColumnRef)]
    return [*keys, *(both[0] for both in ends if both is not None)]


class OutputBinder:
    """Binds the items of SELECT and of GROUP BY."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.windows = WindowReader(scope)
        self._positions: list[Output | Formula | None] = []
        """The outputs by number; None for one whose own mistake is reported."""
        self._failed: set[str] = set()
        """Folded names of such outputs."""
        self._earlier: dict[str, Value] = {}
        """What the items before one are that are of groups, by their folded names."""
        self._is_grouped = False
        self.timed: list[NullTest] = []
        """What rows must have that are shown with the window of time that they are in."""
        self.gives_windows = False
        """Whether rows are."""

    def outputs(self, select: Select, *, need_names: bool = True) -> Outputs:
        """The output columns and their places."""
        self.windows.note_keys(select.group_by)
        has_aggregates = select.having is not None or any(item.over is not None for item in select.items)
        is_numbered = any(item.number is not None for item in select.items)
        self._is_grouped = has_aggregates or bool(select.group_by) or select.groups_by_all or is_numbered
        items = [(item, self._after_others(item, need_names)) for item in select.items]
        self.scope.earlier = {}
        named = with_names_of_their_own([one for _, named in items for one in named])
        outputs = iter(named)
        self._positions = []
        for item, found in items:
            self._positions += [next(outputs) for _ in found] or [None]
            self._failed |= {fold(item.alias.text)} if item.alias is not None and not found else set()
        return Outputs(tuple(named), tuple(item.at for item, found in items for _ in found))

    def group_by(self, select: Select) -> tuple[Scalar, ...]:
        """What is grouped by: a column, an expression, window(…), an output's name or its number."""
        keys: list[Scalar] = []
        if select.groups_by_all:
            shown = [o.value for o in self._positions if isinstance(o, Output)]
            keys += [whole_window(value) for value in shown if not isinstance(value, Aggregate)]
        for code in select.group_by:
            key = self._group_key(code)
            if isinstance(key, Aggregate | Formula):
                self.scope.report("an aggregate cannot be grouped by", code.at)
            elif key is not None:
                keys.append(whole_window(key))
        return tuple(dict.fromkeys(keys if select.grouping_sets else with_starts(keys, self.scope)))

    def grouping_sets(self, select: Select, keys: tuple[Scalar, ...]) -> tuple[tuple[int, ...], ...]:
        """The sets of keys that are grouped by, by the numbers of the keys."""
        before = len(self.scope.source.mistakes)
        read = [self._group_key(code) for code in select.group_by] if select.grouping_sets else []
        found = [None if key is None or isinstance(key, Aggregate | Formula) else whole_window(key) for key in read]
        self.scope.source.forget(before)
        places = [keys.index(key) if key in keys else None for key in found]
        sets = ([place for n in members if (place := places[n]) is not None] for members in select.grouping_sets)
        return tuple(tuple(dict.fromkeys(members)) for members in sets)

    def having(self, written: OverAggregates | None, group_by: tuple[Scalar, ...]) -> Formula | None:
        """The condition of HAVING; None, and mistakes, if it cannot stand."""
        if written is None:
            return None
        values = self._values(written)
        if values is None:
            return None
        named: dict[int, Value] = {}
        for node in written.around.node.find_all(exp.Column):
            if CALL in node.meta:
                continue
            found = self._named_in_having(node, group_by)
            if found is not None:
                named[id(node)] = found
        condition = bind_formula("HAVING", written.around, values, self.scope, named)
        kind = None if condition is None else output_type(condition, self.scope.type_of)
        if kind is not None and kind.kind is not Kind.BOOLEAN:
            at = written.around.at
            self.scope.report(f"HAVING is {kind}, which is no truth value", at, "a condition compares, or is BOOLEAN")
            return None
        return condition

    def _named_in_having(self, node: exp.Column, group_by: tuple[Scalar, ...]) -> Value | None:
        """What a name stands for that is no column which is grouped by: an output, or an end of a window."""
        column = bind_column(node, self.scope)
        if column is not None and column in group_by:
            return None
        if (window := self.windows.end(node)) is not None:
            return window
        if len(node.parts) > 1:
            return None
        return next((_value_of(o) for o in self._positions if o is not None and fold(o.name) == fold(node.name)), None)

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
        return self.scalar(code)

    # Items

    def _after_others(self, item: SelectItem, need_names: bool) -> list[NamedOutput]:
        """An item, which those after it may name."""
        found = self._item(item, need_names)
        for output in (one.output for one in found if item.alias is not None):
            match output:
                case Output(value=ColumnRef() | Expression() as value):
                    kind = output_type(output, self.scope.type_of)
                    self.scope.earlier[fold(output.name)] = Visible(output.name, value, kind)
                case Output(value=value):
                    self._earlier[fold(output.name)] = value
                case Formula():
                    self._earlier[fold(output.name)] = output
        return found

    def _named_before(self, node: exp.Expr) -> dict[int, Value]:
        """What of the groups an item names: items before it, and within it ends of the window that is grouped by."""
        found: dict[int, Value] = {}
        if self.windows.window(node) is not None and unwrapped(node).find(exp.Anonymous) is not None:
            return found  # Of a window of a window it is not the inner one that is named.
        for column in node.find_all(exp.Column):
            value = self._earlier.get(fold(column.name)) if len(column.parts) == 1 else None
            if value is None and column is not unwrapped(node):
                value = self.windows.end(column)
            looked_up = self._looked_up(column)
            is_part = column is not unwrapped(node)
            if is_part and self._is_grouped and looked_up is not None and looked_up.window is not None:
                value, looked_up = looked_up.window, None
            if value is not None and CALL not in column.meta and looked_up is None:
                found[id(column)] = value
        return found

    def _rows_before(self, code: Code) -> list[Visible]:
        """What of rows an item names that stands before it."""
        found = (self._looked_up(column) for column in code.node.find_all(exp.Column) if CALL not in column.meta)
        return [visible for visible in found if visible is not None and visible in self.scope.earlier.values()]

    def _looked_up(self, node: exp.Column) -> Visible | None:
        before = len(self.scope.source.mistakes)
        found = self.scope.resolve(node)
        self.scope.source.forget(before)
        return None if found is None else found.column

    def _item(self, item: SelectItem, need_names: bool) -> list[NamedOutput]:
        if item.code is None:
            return self._star(item)
        if item.number is not None and item.alias is not None:
            return [NamedOutput(Output(item.alias.text, Aggregate(ROW_NUMBER)), is_given=True)]
        rows = self._rows_before(item.code)
        if random := [v.name for v in rows if isinstance(v.value, Expression) and is_random(v.value.term)]:
            text = f"{random[0]} gives another value each time that it stands somewhere"
            self.scope.source.report(Refused, text, item.at, hint="name it in a query in FROM, and use it around that")
            return []
        named = self._named_before(item.code.node if item.over is None else item.over.around.node)
        value: Value | None
        if item.over is not None:
            value = self._over(item.over, named)
        elif isinstance(named.get(id(unwrapped(item.code.node))), TimeWindow):
            value = named[id(unwrapped(item.code.node))]  # An item before it that is a window: it may be grouped by.
        elif named or (self._is_grouped and subqueries_in(item.code.node)):
            only = next(iter(named.values())) if len(named) == 1 else None
            moment = self.windows.last_moment(unwrapped(item.code.node), only)
            value = moment or bind_formula("", item.code, [], self.scope, named)
        else:
            value = self.scalar(item.code)
        if value is None:
            return []
        if isinstance(value, TimeWindow) and not self._is_grouped:
            value = self._of_each_row(item.code, value)
        # Spark's own name of what names an item before it tells of that.
        whole = unwrapped(item.code.node)
        is_name = isinstance(whole, exp.Column) and len(whole.parts) == 1
        own = self._own_name(item, item.code) if not (rows or named) else whole.name if is_name else None
        name = item.alias.text if item.alias is not None else own
        if name is None and item.is_named_by_place:
            name = f"column of {item.at.start}"
        if name is None:
            if need_names:
                hint = "add one: … AS name; which one Spark would give it is not known without Spark"
                self.scope.report("an expression needs a name", item.at, hint)
            return []
        output = replace(value, name=name) if isinstance(value, Formula) else Output(name, value)
        return [NamedOutput(output, self._alias_of(item.code), item.alias is not None)]

    def _of_each_row(self, code: Code, window: TimeWindow) -> Scalar:
        """The window that each row is in, as Spark gives it beside no groups: rows without a time are left out."""
        named = self.windows.named(code.node)
        self.gives_windows = self.gives_windows or named is not None
        if named is not None:
            return named.value
        kind = self.scope.type_of(window.column)
        if not is_expressible(window) or kind is None or kind.kind is not Kind.TIMESTAMP:
            return window
        self.timed.append(NullTest(window.column, is_null=False))
        self.gives_windows = True
        return window_expression(window)

    def _own_name(self, item: SelectItem, code: Code) -> str | None:
        """The name that Spark gives to an item without one."""
        node = unwrapped(code.node)
        if isinstance(node, exp.Dot) and (window := self.windows.whole(node.this)) is not None:
            return f"{function_of(window)}.{node.expression.name}"
        if (named := self.windows.named(node)) is not None:
            return node.parts[-1].name if isinstance(node, exp.Column) else named.name
        if (window := self.windows.whole(node)) is not None:
            return function_of(window)
        if isinstance(node, exp.Column) and bind_column(node, self.scope) is not None:
            return node.parts[-1].name
        calls = item.over.calls if item.over is not None else ()
        aggregates = {call.at.start: call for call in calls if isinstance(call, AggregateCall)}
        read = partial(read_expression, self.scope.source)
        try:
            return spark_name(code.tokens, aggregates, read, self._type_of, self._path_of)
        except Stop:
            return None  # An argument that is no expression by itself: what is wrong with it is told elsewhere.

    def _path_of(self, node: exp.Column) -> str:
        """A column and the fields inside it as they are written, without the alias."""
        names = [part.name for part in node.parts]
        is_alias = len(names) > 1 and fold(names[0]) in map(fold, self.scope.tables)
        return ".".join(names[1:] if is_alias else names)

    def _type_of(self, node: exp.Expr) -> DataType | None:
        """The type of a part of an item; None where it is not known."""
        node = unwrapped(node)
        function = str(node.meta.get(NAME_META) or node.name).lower()
        if function in SPARK_AGGREGATES and isinstance(node, exp.Func):
            inner = unwrapped(node.this) if isinstance(node.this, exp.Expr) else None
            return aggregate_type(function, None if inner is None else self._type_of(inner))
        before = len(self.scope.source.mistakes)
        found = {id(part): self.scope.resolve(part) for part in node.find_all(exp.Column)}
        self.scope.source.forget(before)
        return type_of(term_of(node, {n: column for n, column in found.items() if column}), self.scope.type_of)

    def _alias_of(self, code: Code) -> str | None:
        """The alias of an item that is a column."""
        column = bind_column(code.node, self.scope)
        return None if column is None else column.alias

    def _over(self, written: OverAggregates, named: Named) -> Value | None:
        """An aggregate, or an expression over some and over keys."""
        values = self._values(written)
        if values is None:
            return None
        whole = unwrapped(written.around.node)
        if isinstance(whole, exp.Column) and CALL in whole.meta:
            return values[0]
        moment = self.windows.last_moment(whole, values[0]) if len(values) == 1 else None
        return moment or bind_formula("", written.around, values, self.scope, named)

    def _values(self, written: OverAggregates) -> list[Value] | None:
        """The aggregates and keys of an expression; None, and mistakes, if one cannot stand."""
        read = [self.scalar(c) if isinstance(c, Code) else bind_aggregate(c, self.scope) for c in written.calls]
        known = [value for value in read if value is not None]
        return known if len(known) == len(read) else None

    def _star(self, item: SelectItem) -> list[NamedOutput]:
        alias = None
        if item.star_of is not None:
            wanted = fold(item.star_of.text)
            alias = next((known for known in self.scope.tables if fold(known) == wanted), None)
            if alias is None and wanted in self.scope.missing:
                return []  # What is wrong with it is told where it stands.
            if alias is None and (fields := self._fields(item, item.star_of)):
                return fields
            if alias is None:
                self.scope.report(
                    f"unknown stream or alias {item.star_of.text}",
                    item.star_of.at,
                    self.scope.source.guess(item.star_of.text, list(self.scope.tables)),
                )
                return []
        found = self.scope.star(alias)
        left_out = self._left_out(item, [column.name for _, column in found])
        return [
            NamedOutput(Output(column.name, column.value), of or None)
            for of, column in found
            if fold(column.name) not in left_out
        ]

    def _fields(self, item: SelectItem, name: Name) -> list[NamedOutput]:
        """`x.*` of a column that is a struct: its fields."""
        before = len(self.scope.source.mistakes)
        found = self.scope.resolve_parts([name])
        self.scope.source.forget(before)
        fields = () if found is None else fields_of(found.column.type)
        if found is None or not fields:
            return []
        column = found.column
        left_out = self._left_out(item, [field for field, _ in fields])
        whole = column.value.term if isinstance(column.value, Expression) else column.value
        made = []
        for field, kind in fields:
            term = Call("field", (whole,))
            text = f"{column.text}.{quoted(field)}"
            value = Expression(text, column.columns, term if kind is None else Cast(term, kind))
            made += [NamedOutput(Output(field, value))] if fold(field) not in left_out else []
        return made

    def _left_out(self, item: SelectItem, known: list[str]) -> set[str]:
        """The folded names of what `* EXCEPT (…)` leaves out."""
        names = {fold(name) for name in known}
        for name in item.without:
            if fold(name.text) not in names and not self.scope.missing:
                self.scope.report(
                    f"* EXCEPT: there is no column {name.text}", name.at, self.scope.source.guess(name.text, known)
                )
        return {fold(name.text) for name in item.without}

    def scalar(self, code: Code) -> Scalar | None:
        """A column, an expression or a window of time; None, and mistakes, if it is none."""
        node = unwrapped(code.node)
        window = self.windows.window(node)
        if window is not None:
            is_known = self.windows.named(node) is not None
            return window if is_known or self.windows.fits(window, code.at) else None
        if (moment := self.windows.moment(node)) is not None:
            return moment
        column = bind_column(node, self.scope)
        if column is not None:
            return column
        before = self._looked_up(node) if isinstance(node, exp.Column) and len(node.parts) == 1 else None
        if before is not None and before in self.scope.earlier.values() and isinstance(before.value, Expression):
            return before.value  # An item before it, as it is: it may be grouped by.
        return bind_node(code.node, code.tokens, self.scope)


def _value_of(output: Output | Formula) -> Scalar | Aggregate | Formula:
    return output.value if isinstance(output, Output) else output
