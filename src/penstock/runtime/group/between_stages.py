"""Between the two stages: rows of the cells dealt to buckets of DISTINCT or GROUP BY, and what all cells say together.

A bucket is given the rows that hash to it, by all their columns or by those of their group; the one group of a query
without GROUP BY is the first bucket's. What a cell says of time and of punctuations goes to every bucket, and counts
once every cell has spoken: of frontiers the least.

`answer_columns` says what the cells and the second stage give, and the declared type of each: the same on Spark and
without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT, SET, AggregateColumn, AggregatePlan, Fold, KeySet
from penstock.plan.plan import ROW, Plan
from penstock.runtime.columns.row_values import row_hashes
from penstock.runtime.group.derived import columns_of_measure
from penstock.runtime.group.finals import sum_type
from penstock.runtime.input.grid import remainders
from penstock.runtime.input.routing import split_by_cell
from penstock.runtime.promise.items import Reports


def deal(
    table: Any, buckets: int, groups: tuple[str, ...] | None, sets: tuple[KeySet, ...] = ()
) -> Iterator[tuple[int, Any]]:
    """The rows of each bucket; `groups` are the columns of the group, None where rows are dealt by all columns.

    Of several sets of keys each row is in a group of each.
    """
    table = for_each_set(table, sets) if sets else table
    if groups == ():
        yield 0, table
        return
    by = table if groups is None else table.select(list(groups))
    yield from split_by_cell(table, remainders(row_hashes(by), buckets))


def for_each_set(table: Any, sets: tuple[KeySet, ...]) -> Any:
    """The rows once for each set of keys, those that it leaves out being NULL."""
    found = []
    for number, one in enumerate(sets):
        rows = table.append_column(SET, pa.array(np.full(table.num_rows, number, np.int32)))
        for name, column, other in zip(one.names, one.columns, _known(sets), strict=True):
            values = pa.nulls(table.num_rows, table.column(other).type) if column is None else table.column(column)
            rows = rows.append_column(name, values)
        found.append(rows)
    return pa.concat_tables(found)


def _known(sets: tuple[KeySet, ...]) -> tuple[str, ...]:
    """What each key is of the rows, in the sets that have it."""
    by_key = zip(*(one.columns for one in sets), strict=True)
    return tuple(next(column for column in columns if column is not None) for columns in by_key)


def typed(table: Any, schema: Any) -> Any:
    """The rows with the types of a schema: a cell that has seen no row of a stream does not know its types."""
    for field in schema:
        if pa.types.is_null(table.column(field.name).type):
            place = table.schema.get_field_index(field.name)
            table = table.set_column(place, field.name, table.column(field.name).cast(field.type))
    return table


def together(
    frontiers: Sequence[Mapping[str, int]], reports: Mapping[int, list[Any]], cells: int
) -> tuple[dict[str, int], Reports]:
    """The least frontier, none if one of so many cells has not spoken; and the reports."""
    all_spoke = len(frontiers) >= cells
    known = set(frontiers[0]).intersection(*frontiers[1:]) if all_spoke else set()
    least = {alias: min(frontier[alias] for frontier in frontiers) for alias in known}
    return least, Reports(reports, all_spoke)


def answer_columns(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The columns of the rows of a cell: of streams first, then what groups are worked out from."""
    return (*output_types(plan), *(measure_columns(plan, plan.aggregate) if plan.aggregate is not None else ()))


def output_types(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The columns of streams that the rows of a cell have; ROW alone where nothing is asked for but that there is one.

    A table has as many rows as its columns are long, so none may be without any.
    """
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    found = tuple((o.name, kinds[o.alias, o.column]) for o in plan.outputs)
    return found or (() if plan.aggregate is not None else ((ROW, "BOOLEAN"),))


def measure_columns(plan: Plan, aggregate: AggregatePlan) -> Iterator[tuple[str, str]]:
    """What cells give beside the columns of the streams."""
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    yield from ((window.name, "BIGINT") for window in aggregate.windows)
    yield COUNT, "BIGINT"
    for measure in aggregate.measures:
        for name in columns_of_measure(plan, measure):
            is_extreme = measure.fold in (Fold.MIN, Fold.MAX)
            number = "DOUBLE" if name.endswith("_float") else "BIGINT"
            yield name, kinds[measure.alias, measure.column] if is_extreme else number


def final_type(column: AggregateColumn) -> str:
    """The type of an aggregate, as it is declared or as Spark has it."""
    match column.function:
        case "count" | "grouping_id":
            return "BIGINT"
        case "grouping":
            return "TINYINT"
        case "median" | "percentile" | "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return "DOUBLE"
        case "row_number":
            return "INT"
        case "min" | "max" | "top" | "max_by" | "min_by":
            assert column.type is not None
            return column.type
        case "collect_list" | "collect_set":
            return f"ARRAY<{column.type}>"
        case _:
            return sum_type(column)
