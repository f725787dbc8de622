"""What the cells and the second stage give, and the declared type of each: the same on Spark and without it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.aggregate import COUNT, AggregateColumn, AggregatePlan, Fold
from penstock.plan.plan import Plan
from penstock.runtime.group.derived import columns_of_measure
from penstock.runtime.group.finals import sum_type


def answer_columns(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The columns of the rows of a cell: of streams first, then what groups are worked out from."""
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    found = [(o.name, kinds[o.alias, o.column]) for o in plan.outputs]
    return (*found, *(measure_columns(plan, plan.aggregate) if plan.aggregate is not None else ()))


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
        case "count":
            return "BIGINT"
        case "median":
            return "DOUBLE"
        case "min" | "max":
            assert column.type is not None
            return column.type
        case _:
            return sum_type(column)
