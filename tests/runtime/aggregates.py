"""Grouped queries over random workloads, run on cells and buckets, and the slow reference of their answers.

The reference knows nothing of measures, trees or frontiers. It takes the results of the full-history join, result by
result, and aggregates plain lists of values with Python's own sum, min, max and median.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.analysis.check import check_query
from penstock.analysis.finding import Verdict
from penstock.model.clauses import Aggregate, Output, Scalar, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.spans import Span
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.second_stage_budget import bucket_room
from penstock.runtime import Batch, Cell, GroupStage, given_name, row_hashes
from penstock.runtime.promise.items import Reports
from tests.runtime.reference import Arrived, History, combinations, in_windows
from tests.runtime.test_cells import share

Row = tuple[Any, ...]
Results = dict[int, list[dict[str, Arrived]]]
"""By batch, the combinations that come out in it."""


def aggregates_over(query: Query, draw: random.Random, *, windowed: bool) -> Query:
    """The query, made to group and aggregate; at most two columns are grouped by."""
    columns = [ColumnRef(s.alias, name) for s in query.sources for name in ("n", "a", "b", "ts")]
    numbers = [ref for ref in columns if ref.column in ("n", "ts")]
    keys: list[Scalar] = list(dict.fromkeys(draw.choices(columns, k=draw.choice((0, 1, 1, 2)))))
    if windowed:
        source = draw.choice(query.sources)
        keys.append(TimeWindow(ColumnRef(source.alias, "ts"), Span.of(draw.choice((1, 2, 5)))))
        draw.shuffle(keys)
    aggregates = [Aggregate("count")]
    for _ in range(draw.randint(1, 5)):
        function = draw.choice(("count", "sum", "avg", "min", "max", "median", "count distinct", "sum distinct"))
        function, _, distinct = function.partition(" ")
        argument = draw.choice(numbers if function in ("sum", "avg", "median") else columns)
        aggregates.append(Aggregate(function, argument, bool(distinct)))
    outputs = [Output(f"g{n}", key) for n, key in enumerate(keys)]
    outputs += [Output(f"c{n}", aggregate) for n, aggregate in enumerate(aggregates)]
    return query.with_block(replace(query.block, outputs=tuple(outputs), group_by=tuple(keys), distinct=False))


def results_of(query: Query, history: History) -> Results:
    found: Results = defaultdict(list)
    for combination in combinations(query, history, {}):
        if in_windows(query, history, combination):
            found[max(arrived.batch for arrived in combination.values())].append(combination)
    return found


def group_of(query: Query, result: dict[str, Arrived]) -> Row | None:
    """The group of a result; None if it is in no window."""
    found: list[Any] = []
    for key in query.group_by:
        if isinstance(key, TimeWindow):
            time = result[key.column.alias].values[key.column.column]
            if time is None:
                return None
            found.append(time // key.span.ticks * key.span.ticks)
        else:
            assert isinstance(key, ColumnRef)
            found.append(result[key.alias].values[key.column])
    return tuple(found)


def aggregated(aggregate: Aggregate, results: list[dict[str, Arrived]]) -> Any:
    if aggregate.argument is None:
        return len(results)
    ref = aggregate.argument
    assert isinstance(ref, ColumnRef)
    values = [v for r in results if (v := r[ref.alias].values[ref.column]) is not None]
    if aggregate.function == "count":
        return len(set(values)) if aggregate.distinct else len(values)
    if not values:
        return None
    match aggregate.function:
        case "sum":
            return sum(set(values) if aggregate.distinct else values)
        case "avg":
            return sum(values) / len(values)
        case "median":
            return float(statistics.median(values))
        case "min":
            return min(values)
        case _:
            return max(values)


def answers(query: Query, results: list[dict[str, Arrived]]) -> dict[Row, Row]:
    """Each group's aggregates."""
    groups: dict[Row, list[dict[str, Arrived]]] = defaultdict(list)
    for result in results:
        group = group_of(query, result)
        if group is not None:
            groups[group].append(result)
    if not query.group_by:
        groups.setdefault((), [])
    asked = [output.value for output in query.outputs if isinstance(output.value, Aggregate)]
    return {group: tuple(aggregated(a, members) for a in asked) for group, members in groups.items()}


@dataclass
class Run:
    """A grouped query on a hypercube of cells and two buckets of groups; all may be restarted."""

    query: Query
    cells_an_axis: int = 1
    restarts: bool = False
    absent: dict[str, bool] = field(default_factory=dict)
    """What the tests of an outer join are worth where their stream is absent."""
    keeps_promises: bool = True
    verdict: Verdict = field(init=False)
    lost: int = 0
    promise_rows: int = 0
    state_bytes: int = 0
    """Of the cells; the stages know their own."""

    def __post_init__(self) -> None:
        self.verdict = check_query(self.query)
        self.plan = make_plan(self.query, self.verdict)
        places = product(range(self.cells_an_axis), repeat=len(self.plan.axes))
        self.cells = {place: Cell(self.plan) for place in places}
        self.stages = [GroupStage(self.plan, bucket_room(self.plan, n, 2), is_first=n == 0) for n in range(2)]
        self._stores: dict[Any, dict[str, bytes]] = defaultdict(dict)
        self.stored: dict[str, int] = {}

    def step(self, batch: Batch) -> list[tuple[Row, Row]]:
        """One batch: the groups given out, each with its aggregates."""
        frontiers, tables = [], []
        reports: dict[int, list[Any]] = defaultdict(list)
        self.promise_rows = self.state_bytes = 0
        self.stored = dict.fromkeys(self.plan.aliases, 0)
        for place, cell in self.cells.items():
            mine = batch
            if self.cells_an_axis > 1:
                mine = Batch(batch.number, tuple(share(self.plan, chunk, place) for chunk in batch.chunks))
            result = cell.step(mine)
            assert not (self.keeps_promises and result.metrics.violations)
            self.lost += result.metrics.lost
            frontiers.append(result.frontier)
            for number, report in result.reports.items():
                reports[number].append(report)
            self.promise_rows += result.metrics.promise_rows
            self.state_bytes += result.metrics.state_bytes
            tables += [self._typed(result.rows)] if result.rows.num_rows else []
            for alias, count in result.metrics.state_tuples.items():
                self.stored[alias] += count
        known = set(frontiers[0]).intersection(*frontiers[1:])
        least = {alias: min(frontier[alias] for frontier in frontiers) for alias in known}
        found: list[tuple[Row, Row]] = []
        for number, stage in enumerate(self.stages):
            shares = [t for table in tables if (t := self._share(table, number)).num_rows]
            given = stage.step(
                batch.number, pa.concat_tables(shares) if shares else pa.table({}), least, Reports(reports)
            )
            self.lost += given.lost
            found += self._spelled(given.rows)
        if self.restarts:
            self._restart()
        return found

    def _typed(self, table: Any) -> Any:
        """As Spark hands it on: a cell that has seen no row of a stream does not know its types."""
        assert self.plan.aggregate is not None
        kinds = {(s.alias, c.name): c.type for s in self.plan.sources for c in s.read}
        declared = {o.name: kinds[o.alias, o.column] for o in self.plan.outputs}
        declared |= {f"{m.name}_best": kinds[m.alias, m.column] for m in self.plan.aggregate.measures}
        for place, column in enumerate(table.schema):
            if pa.types.is_null(column.type):
                kind = {"BIGINT": pa.int64(), "STRING": pa.string()}[declared[column.name]]
                table = table.set_column(place, column.name, table.column(place).cast(kind))
        return table

    def _share(self, table: Any, number: int) -> Any:
        names = [key.name for key in self.plan.aggregate.keys] if self.plan.aggregate is not None else []
        hashes = row_hashes(table.select(names)) if names else np.zeros(table.num_rows, np.uint64)
        return table.filter(pa.array(hashes % np.uint64(2) == number))

    def _spelled(self, rows: Any) -> list[tuple[Row, Row]]:
        assert self.plan.aggregate is not None
        if not rows.num_rows:
            return []
        columns = {name: rows.column(name).to_pylist() for name in rows.column_names}
        keys = [columns[key.name] for key in self.plan.aggregate.keys]
        values = [columns[given_name(n)] for n in range(len(self.plan.aggregate.columns))]
        return [(tuple(k[i] for k in keys), tuple(v[i] for v in values)) for i in range(rows.num_rows)]

    def _restart(self) -> None:
        for place, cell in list(self.cells.items()):
            self.cells[place] = Cell.restore(self.plan, self._saved(place, cell), absent=self.absent)
        for number, stage in enumerate(self.stages):
            saved, room = self._saved(number, stage), bucket_room(self.plan, number, 2)
            self.stages[number] = GroupStage.restore(self.plan, saved, room, is_first=number == 0)

    def _saved(self, owner: Any, one: Cell | GroupStage) -> dict[str, bytes]:
        changes = one.save()
        store = self._stores[owner]
        for key in changes.delete:
            store.pop(key, None)
        store.update(changes.put)
        return store


class Batches(Protocol):
    """Rows that come batch by batch."""

    @property
    def history(self) -> History:
        """All of them."""

    @property
    def batches(self) -> int:
        """How many batches there are."""

    def batch(self, plan: Plan, number: int) -> Batch:
        """One batch, for a single cell."""


def check_running(run: Run, workload: Batches) -> int:
    """Each batch gives one row for each group that changed, with its values after it; the number of rows given."""
    results = results_of(run.query, workload.history)
    so_far: list[dict[str, Arrived]] = []
    before: dict[Row, Row] = {}
    rows = 0
    for number in range(workload.batches):
        given = run.step(workload.batch(run.plan, number))
        so_far += results.get(number, [])
        after = answers(run.query, so_far)
        changed = {group: values for group, values in after.items() if before.get(group) != values}
        assert len(given) == len(dict(given)), f"a group twice in batch {number}"
        assert dict(given) == changed, f"batch {number}"
        before, rows = after, rows + len(given)
        for source in run.plan.sources:
            if source.state.rows is not None and run.keeps_promises:
                assert run.stored[source.alias] <= source.state.rows
    assert run.lost == 0
    return rows


def check_tumbling(run: Run, workload: Batches) -> tuple[set[Row], set[Row]]:
    """Each group is given at most once, with the values it ends with; those that were, and those that there are."""
    results = results_of(run.query, workload.history)
    final = answers(run.query, [result for batch in results.values() for result in batch])
    seen: set[Row] = set()
    for number in range(workload.batches):
        for group, values in run.step(workload.batch(run.plan, number)):
            assert group not in seen, f"{group} again in batch {number}"
            assert final[group] == values, f"batch {number}"
            seen.add(group)
    assert run.lost == 0
    return seen, set(final)
