"""From rows of the core to the columns of SELECT: the names of the query, and the types that they have on Spark.

Expressions are evaluated where they are simple (`evaluating.py`): those of SELECT on the joined rows, those of groups,
aggregates and DISTINCT between the two stages, those over aggregates and HAVING on each group that is given. What else
SELECT may hold only Spark evaluates, and it is refused when the run is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import NotSupportedYet
from penstock.model.clauses import TIME, Aggregate, Formula, TimeWindow
from penstock.model.closed_groups import cut_of
from penstock.model.expressions import ColumnRef, Expression, Term
from penstock.model.query import Query
from penstock.plan.aggregate import AggregatePlan, KeySet
from penstock.plan.plan import Plan
from penstock.runtime import given_name, session_end
from penstock.runtime.group.between_stages import answer_columns, final_type, typed
from penstock.testing.arrow_types import arrow_type, declared_type
from penstock.testing.calendar import cut_values
from penstock.testing.evaluating import evaluated, only_spark

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
        for condition in plan.conditions:
            raise only_spark(condition)
        self.query = query
        self.given = pa.schema([(name, arrow_type(name, kind)) for name, kind in answer_columns(plan)])
        """What the cells give."""
        self._names = {ColumnRef(o.alias, o.column): o.name for o in plan.outputs}
        self.plan = plan if plan.aggregate is None else self._completed(plan, plan.aggregate)
        """The plan, with the types of what is evaluated between the stages."""
        self._having: Shown | None = None
        self.columns = list(self._grouped() if plan.aggregate is not None else self._selected())

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The columns by which rows are dealt to the buckets of the second stage; None for all."""
        return None if self.plan.aggregate is None else self.plan.aggregate.dealt_by

    @property
    def sets(self) -> tuple[KeySet, ...]:
        """The sets of keys that are grouped by, where there are several."""
        return () if self.plan.aggregate is None else self.plan.aggregate.sets

    def typed(self, rows: Any) -> Any:
        """Rows of a cell in the types of the streams."""
        return typed(rows, self.given)

    def between(self, rows: Any) -> Any:
        """Rows of a cell with what the second stage needs of expressions; DISTINCT is about what they make."""
        if self.plan.aggregate is None:
            return self._show(rows) if self.plan.distinct_over_expressions else rows
        for name, expression in self._evaluated:
            rows = rows.append_column(name, self._values(expression, rows))
        return rows

    @cached_property
    def _evaluated(self) -> tuple[tuple[str, Expression], ...]:
        """The expressions that are grouped by or aggregated, and what the second stage calls them."""
        aggregate = self.plan.aggregate
        assert aggregate is not None
        keys = zip(self.query.group_by, aggregate.keys, strict=True)
        found = [(of.column, key) for key, of in keys if isinstance(key, Expression)]
        values = [o.value for o in self.query.outputs if isinstance(o.value, Aggregate)]
        for value, column in zip(values, aggregate.columns, strict=True):
            arguments = zip(column.columns, value.arguments, strict=False)
            found += [(name, argument) for name, argument in arguments if isinstance(argument, Expression)]
        return tuple(found)

    def _values(self, expression: Expression, rows: Any) -> Any:
        cut = cut_of(expression)
        if cut is not None:
            return cut_values(cut, rows.column(self._names[cut.column]), expression.text)
        return evaluated(expression.term, expression.text, rows.num_rows, lambda ref: rows.column(self._names[ref]))

    def _completed(self, plan: Plan, aggregate: AggregatePlan) -> Plan:
        self.plan = plan
        nothing = self.given.empty_table()
        types = {name: declared_type(self._values(expression, nothing).type) for name, expression in self._evaluated}
        columns = tuple(column.with_types(types) for column in aggregate.columns)
        self._types = types
        return replace(plan, aggregate=replace(aggregate, columns=columns))

    def answer(self, rows: Any) -> Any:
        """The columns of SELECT of rows of the last stage."""
        if self._having is not None and rows.num_rows:
            rows = rows.filter(self._having(rows))
        if self.plan.distinct_over_expressions and rows.num_rows:
            return rows.select([name for name, _, _ in self.columns])
        return self._show(rows)

    def _show(self, rows: Any) -> Any:
        size = rows.num_rows
        shown = {name: make(rows) if size else pa.nulls(0, kind) for name, kind, make in self.columns}
        return pa.table(shown, schema=pa.schema([(name, kind) for name, kind, _ in self.columns]))

    def _selected(self) -> Any:
        for selected, output in zip(self.plan.selected, self.query.outputs, strict=True):
            if selected.output is None:
                if not isinstance(output.value, Expression):
                    raise only_spark(str(output.value))
                make = partial(self._values, output.value)
                yield selected.name, make(self.given.empty_table()).type, make
                continue
            kind = self.given.field(selected.output).type
            yield selected.name, kind, _column(selected.output, kind)

    def _grouped(self) -> Any:
        aggregate = self.plan.aggregate
        assert aggregate is not None
        named = {key: name.name for key, name in zip(self.query.group_by, aggregate.keys, strict=True)}
        kinds = {name: arrow_type(name, kind) for name, kind in self._types.items()}
        kinds |= {n: self.given.field(n).type for n in (key.column for key in aggregate.keys) if n not in kinds}
        kinds |= {key.name: kinds[key.column] for key in aggregate.keys}
        windows = {key.whole: name for key, name in named.items() if isinstance(key, TimeWindow)}
        made: dict[str, tuple[Any, Shown]] = {
            str(key): (kinds[name], _column(name, kinds[name])) for key, name in named.items()
        }
        number = 0
        for output in self.query.outputs:
            match output.value:
                case Aggregate():
                    kind = arrow_type(output.name, final_type(aggregate.columns[number]))
                    kinds[given_name(number)] = kind
                    made[str(output.value)] = kind, _column(given_name(number), kind)
                    number += 1
                case TimeWindow() as window:
                    made[str(window)] = self._window(windows[window.whole], window)
                case value if value in named:
                    pass
                case expression:
                    assert isinstance(expression, Expression)
                    made[str(expression)] = self._over(expression.term, str(expression), made, kinds)
        if self.query.having is not None:
            _, self._having = self._over(self.query.having.term, "HAVING", made, kinds)
        for shown in self.query.answer:
            if isinstance(shown, Formula):
                yield shown.name, *self._over(shown.term, f"the column {shown.name}", made, kinds)
            else:
                yield shown.name, *made[str(shown.value)]

    def _over(
        self, term: Term, text: str, made: Mapping[str, tuple[Any, Shown]], kinds: Mapping[str, Any]
    ) -> tuple[Any, Shown]:
        """An expression over columns of the groups, and its type."""

        def show(rows: Any) -> Any:
            return evaluated(
                term, text, rows.num_rows, lambda ref: made[ref.column if not ref.alias else str(ref)][1](rows)
            )

        return show(pa.schema(list(kinds.items())).empty_table()).type, show

    def _window(self, name: str, window: TimeWindow) -> tuple[Any, Shown]:
        declared = self.query.type_of(window.column)
        assert declared is not None
        naive = declared.text == "TIMESTAMP_NTZ"
        kind = pa.int64() if declared.is_integer else arrow_type(name, "TIMESTAMP_NTZ" if naive else "TIMESTAMP")

        def start(rows: Any) -> Any:
            return rows.column(name).cast(pa.int64()).cast(kind)

        def end(rows: Any) -> Any:
            if window.is_session:
                return rows.column(session_end(name)).cast(kind)
            return pc.add(rows.column(name).cast(pa.int64()), window.span.ticks).cast(kind)

        def last_moment(rows: Any) -> Any:
            return pc.subtract(end(rows).cast(pa.int64()), 1).cast(kind)

        if window.end is not None:
            return kind, {"start": start, "end": end, TIME: last_moment}[window.end]
        whole = pa.struct([("start", kind), ("end", kind)])

        def both(rows: Any) -> Any:
            ends = [start(rows).combine_chunks(), end(rows).combine_chunks()]
            return pa.StructArray.from_arrays(ends, fields=list(whole), mask=ends[0].is_null())

        return whole, both


def _column(name: str, kind: Any) -> Shown:
    return lambda rows: rows.column(name) if rows.column(name).type == kind else rows.column(name).cast(kind)
