"""From rows of the core to the columns of SELECT: the names of the query, and the types that they have on Spark.

Preconditions: every output is a column, a literal, a window of time or an aggregate. What else SELECT may hold only
Spark evaluates, and it is refused when the run is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import NotSupportedYet
from penstock.model.clauses import Aggregate, Formula, TimeWindow
from penstock.model.expressions import Expression, Literal
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.runtime import given_name
from penstock.runtime.group.between_stages import answer_columns, final_type, typed
from penstock.testing.arrow_types import arrow_type
from penstock.testing.conditions import only_spark

Shown = Callable[[Any], Any]
"""Makes one column of the answer of the rows of the core."""


class Answering:
    """Shows the rows of one query."""

    def __init__(self, query: Query, plan: Plan) -> None:
        if plan.rewriting is not None:
            raise NotSupportedYet(
                f"query {query.name} is run as counts, and these only Spark works out",
                hint="leave ERROR(…) out of the query that is tested",
            )
        self.query = query
        self.plan = plan
        self.given = pa.schema([(name, arrow_type(name, kind)) for name, kind in answer_columns(plan)])
        """What the cells give."""
        self.columns = list(self._grouped() if plan.aggregate is not None else self._selected())

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The columns by which rows are dealt to the buckets of the second stage; None for all."""
        return None if self.plan.aggregate is None else tuple(key.name for key in self.plan.aggregate.keys)

    def typed(self, rows: Any) -> Any:
        """Rows of a cell in the types of the streams."""
        return typed(rows, self.given)

    def answer(self, rows: Any) -> Any:
        """The columns of SELECT of rows of the last stage."""
        size = rows.num_rows
        shown = {name: make(rows) if size else pa.nulls(0, kind) for name, kind, make in self.columns}
        return pa.table(shown, schema=pa.schema([(name, kind) for name, kind, _ in self.columns]))

    def _selected(self) -> Any:
        for selected, output in zip(self.plan.selected, self.query.outputs, strict=True):
            if selected.output is None:
                if self.plan.distinct:
                    raise only_spark(str(output.value), "DISTINCT is then about what Spark makes of it")
                yield selected.name, *_literal(output.value)
                continue
            kind = self.given.field(selected.output).type
            yield selected.name, kind, _column(selected.output, kind)

    def _grouped(self) -> Any:
        aggregate = self.plan.aggregate
        assert aggregate is not None
        evaluated = [key.text for key in aggregate.keys if key.expression is not None]
        evaluated += [column.text for column in aggregate.columns if column.expression is not None]
        for text in evaluated:
            raise only_spark(text)
        named = {key: name.name for key, name in zip(self.query.group_by, aggregate.keys, strict=True)}
        windows = {replace(key, end=None): name for key, name in named.items() if isinstance(key, TimeWindow)}
        made: dict[str, tuple[Any, Shown]] = {}
        number = 0
        for output in self.query.outputs:
            match output.value:
                case Aggregate():
                    kind = arrow_type(output.name, final_type(aggregate.columns[number]))
                    made[output.name] = kind, _column(given_name(number), kind)
                    number += 1
                case TimeWindow() as window:
                    made[output.name] = self._window(windows[replace(window, end=None)], window)
                case value if value in named:
                    kind = self.given.field(named[value]).type
                    made[output.name] = kind, _column(named[value], kind)
                case value:
                    raise only_spark(str(value))
        for shown in self.query.answer:
            if isinstance(shown, Formula):
                raise only_spark(f"the column {shown.name}", "it is an expression over aggregates")
            yield shown.name, *made[shown.name]

    def _window(self, name: str, window: TimeWindow) -> tuple[Any, Shown]:
        declared = self.query.type_of(window.column)
        assert declared is not None
        naive = declared.text == "TIMESTAMP_NTZ"
        kind = pa.int64() if declared.is_integer else arrow_type(name, "TIMESTAMP_NTZ" if naive else "TIMESTAMP")

        def start(rows: Any) -> Any:
            return rows.column(name).cast(pa.int64()).cast(kind)

        def end(rows: Any) -> Any:
            return pc.add(rows.column(name).cast(pa.int64()), window.span.ticks).cast(kind)

        if window.end is not None:
            return kind, start if window.end == "start" else end
        whole = pa.struct([("start", kind), ("end", kind)])

        def both(rows: Any) -> Any:
            ends = [start(rows).combine_chunks(), end(rows).combine_chunks()]
            return pa.StructArray.from_arrays(ends, fields=list(whole))

        return whole, both


def _literal(value: object) -> tuple[Any, Shown]:
    """A literal of SELECT, in the type that Spark gives it."""
    term = value.term if isinstance(value, Expression) else None
    if not isinstance(term, Literal) or not isinstance(term.value, bool | int | str | Decimal):
        raise only_spark(str(value))
    constant = term.value
    match constant:
        case bool():
            kind = pa.bool_()
        case int():
            kind = pa.int32() if -(2**31) <= constant < 2**31 else pa.int64()
        case str():
            kind = pa.string()
        case Decimal():
            digits, scale = len(constant.as_tuple().digits), max(0, -int(constant.as_tuple().exponent))
            kind = pa.decimal128(max(digits, scale), scale)
    return kind, lambda rows: pa.array([constant] * rows.num_rows, kind)


def _column(name: str, kind: Any) -> Shown:
    return lambda rows: rows.column(name) if rows.column(name).type == kind else rows.column(name).cast(kind)
