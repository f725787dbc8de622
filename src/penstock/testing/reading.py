"""From the tables of a test to what the core is given: declared columns, filters, tests of outer joins, punctuations.

It is what Spark does before the packer: the declared columns in their types, the stream's own WHERE, and for each row
what the filters of each alias and each WHEN say. Of a derived column that only Spark can evaluate, a table gives the
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DataError, UsageError
from penstock.model.expressions import Expression
from penstock.model.names import fold
from penstock.model.predicates import Bound, Op, Predicate
from penstock.model.query import Query
from penstock.model.schemes import Punctuated
from penstock.model.stream import SOURCE_PARTS, Stream
from penstock.model.table import is_total
from penstock.plan.plan import Plan
from penstock.runtime import Punctuating, Truth, apart, punctuation_promises
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.routing import Routed, route
from penstock.runtime.input.wire_columns import value_columns
from penstock.testing.arrow_types import arrow_type, as_declared
from penstock.testing.conditions import all_hold, holds, require_read
from penstock.testing.evaluating import evaluated, only_spark


class TableReader:
    """Reads the streams of one query."""

    def __init__(self, query: Query, as_run: Query, plan: Plan, grid: Grid) -> None:
        self.query = query
        self.plan = plan
        self.grid = grid
        self.streams = {s.stream.name: s.stream for s in query.all_sources}
        self._given = {s.stream.name for s in query.all_sources if s.below is not None}
        """Streams that a block gives: their conditions hold already."""
        # What of a stream is asked of another one that stands for it is a condition on that one.
        self._conditions = {str(p): p for known in (query, as_run) for p in known.predicates}
        self._filters = {s.alias: [self._named(text, s.alias) for text in s.filters] for s in plan.sources}
        tests = plan.tree.tests
        self._tests = {test: self._named(test.text, test.alias) for test in tests}
        self._made = {
            number: self._when(stream, number)
            for stream in plan.streams
            for number, _ in punctuation_promises(plan, stream)
        }
        for name, stream in self.streams.items():
            for join in stream.tables:
                if name in self._given or not is_total(join):
                    raise only_spark(f"the join with the table {join.table}")
            if name in self._given:
                continue
            for predicate in (*stream.where, *(p for scheme in _punctuated(stream) for p in scheme.when)):
                require_read(predicate, stream)
        for source in plan.sources:
            if value_columns(plan, source.alias):
                raise only_spark("VALUE(…)")

    def _named(self, text: str, alias: str) -> Predicate:
        """The condition of the query that a plan has as a text."""
        predicate = self._conditions[text]
        require_read(predicate, self.query.by_alias[alias].stream)
        return predicate

    def _when(self, name: str, number: int) -> list[Predicate]:
        """The conditions that make a punctuation: WHEN, and the filters that fix its other columns."""
        promise = self.plan.promises[number]
        scheme = next(s for s in _punctuated(self.streams[name]) if s.on(name) == promise.constraint)
        others = [c for c in scheme.columns if c not in promise.columns]
        fixed = [
            p
            for p in self.query.predicates
            if isinstance(p, Bound) and p.op is Op.EQ and p.column.alias == promise.alias and p.column.column in others
        ]
        return [*scheme.when, *fixed]

    @property
    def absent(self) -> Truth:
        """What each test of an outer join is worth where its stream is absent."""
        found = {}
        for test, predicate in self._tests.items():
            read = self.plan.by_alias[test.alias].read
            nothing = pa.table({c.name: pa.nulls(1, arrow_type(c.name, c.type)) for c in read})
            found[test.column] = not test.rejects_absent and bool(holds(predicate, nothing)[0].as_py())
        return found

    def read(self, tables: Mapping[str, Any]) -> list[Routed]:
        """The pieces of a batch, by the streams' own names, in the order of FROM."""
        for name, table in tables.items():
            if not isinstance(table, pa.Table):
                raise UsageError(
                    f"the rows of stream {name} are no Arrow table but a {type(table).__name__}",
                    hint="pa.Table.from_pylist([…]) makes one of rows, pa.table({…}) of columns",
                )
        return [
            self._piece(self.streams[s], tables[s]) for s in self.plan.streams if s in tables and tables[s].num_rows
        ]

    def _piece(self, stream: Stream, table: Any) -> Routed:
        data = self._declared(stream, table)
        if stream.where and stream.name not in self._given:
            data = data.filter(all_hold(stream.where, data))
        passes = {
            alias: all_hold(predicates, data)
            for alias, predicates in self._filters.items()
            if predicates and self.plan.by_alias[alias].stream == stream.name
        }
        for test, predicate in self._tests.items():
            if self.plan.by_alias[test.alias].stream == stream.name:
                data = data.append_column(test.column, holds(predicate, data))
        punctuations: dict[int, Any] = {}
        if whens := [all_hold(scheme.when, data) for scheme in _punctuated(stream)]:
            anything = whens[0]
            for when in whens[1:]:
                anything = pc.or_kleene(anything, when)
            made = {
                number: all_hold(predicates, data)
                for number, predicates in self._made.items()
                if self.plan.by_alias[self.plan.promises[number].alias].stream == stream.name
            }
            data, passes, punctuations = apart(self.plan, stream.name, data, passes, Punctuating(anything, made))
        return route(self.plan, self.grid, stream.name, data, passes=passes, punctuations=punctuations)

    def _declared(self, stream: Stream, table: Any) -> Any:
        """The columns that are needed, in their declared types."""
        given = {fold(name): name for name in table.column_names}
        wanted = dict.fromkeys(c.name for s in self.plan.sources if s.stream == stream.name for c in s.read)
        where = () if stream.name in self._given else stream.where
        conditions = [*where, *(p for scheme in _punctuated(stream) for p in scheme.when)]
        wanted |= dict.fromkeys(ref.column for p in conditions for ref in p.columns)
        for column in reversed(stream.carried):
            if column.name in wanted and column.derived is not None and fold(column.name) not in given:
                wanted |= dict.fromkeys(ref.column for ref in column.derived.columns)
        columns: dict[str, Any] = {}
        for column in stream.carried:
            if column.name not in wanted:
                continue
            if fold(column.name) not in given:
                if column.derived is not None:
                    columns[column.name] = self._derived(column.derived, columns, table.num_rows)
                    continue
                raise DataError(
                    f"the table for stream {stream.name} has no column {column.name}",
                    detail=f"its columns are: {', '.join(table.column_names)}",
                )
            values = table.column(given[fold(column.name)])
            columns[column.name] = as_declared(stream.name, column.name, values, str(column.type))
        if SOURCE_PARTS in wanted:
            columns[SOURCE_PARTS] = self._partition(stream, table, given)
        # A table without columns has no rows either: a query may count rows and read nothing of them.
        return pa.table(columns) if columns else pa.table({"__ps_row": pa.nulls(table.num_rows)})

    @staticmethod
    def _partition(stream: Stream, table: Any, given: Mapping[str, str]) -> Any:
        """Which partition of a topic each row is of."""
        if "_partition" not in given:
            raise DataError(
                f"the table for stream {stream.name} has no column _partition, and order holds within partitions",
                hint="give the number of each row's partition, 0 for all that are of one",
            )
        return table.column(given["_partition"]).cast(pa.string())

    def _derived(self, expression: Expression, columns: Mapping[str, Any], size: int) -> Any:
        return evaluated(expression.term, str(expression), size, lambda ref: columns[ref.column])


def _punctuated(stream: Stream) -> list[Punctuated]:
    return [scheme for scheme in stream.schemes if isinstance(scheme, Punctuated)]
