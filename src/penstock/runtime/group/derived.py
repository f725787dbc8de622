"""What a cell keeps of the rows of a grouped query beside their columns: windows of time, measures.

They are worked out as rows arrive, so that the columns that they come from need not be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import AggregatePlan, Measure, WindowColumn
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Ints, ticks
from penstock.runtime.group.measures import column_names, measured, numbers_of
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis


def columns_of_measure(plan: Plan, measure: Measure) -> tuple[str, ...]:
    """The columns in which a measure is kept."""
    kinds = {c.name: c.type for c in plan.by_alias[measure.alias].read}
    return column_names(measure.fold, measure.name, numbers_of(kinds[measure.column]))


def derived_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns that a cell keeps beside those of the stream; none if the query has no groups."""
    if plan.aggregate is None:
        return ()
    windows = [w.name for w in plan.aggregate.windows_of(alias)]
    measures = [name for m in plan.aggregate.measures_of(alias) for name in columns_of_measure(plan, m)]
    return (*windows, *measures)


def derive_fresh(plan: Plan, synopses: Mapping[str, Synopsis]) -> None:
    """Work them out for the rows of the running batch."""
    for alias, synopsis in synopses.items():
        if synopsis.has_fresh:
            _derive(plan, alias, synopsis.segments[-1])


def _derive(plan: Plan, alias: str, segment: Segment) -> None:
    assert plan.aggregate is not None
    table = segment.table
    for window in plan.aggregate.windows_of(alias):
        starts = window_starts(table.column(window.column), window.pane, window.shift)
        table = table.append_column(window.name, starts)
    for measure in plan.aggregate.measures_of(alias):
        for name, column in measured(measure.fold, segment.column(measure.column)).columns(measure.name).items():
            table = table.append_column(name, column)
    segment.table = table


def window_starts(column: Any, length: int, shift: int = 0) -> Any:
    """The tick at which the window of each time starts; windows are laid out from a tick. NULL for NULL."""
    times: Ints = ticks(column)
    # By the remainder: it cannot overflow where the time does not.
    starts = times - np.mod(np.mod(times, length) - shift % length, length)
    missing = np.zeros(len(starts), np.bool_) if not column.null_count else _nulls(column)
    return pa.array(starts, mask=missing)


def spread_over_windows(aggregate: AggregatePlan | None, rows: Any) -> Any:
    """What a cell gives, a row for each window that it is in: panes become windows where windows overlap."""
    for window in aggregate.windows if aggregate is not None and rows.num_rows else ():
        if window.pane < window.ticks:
            rows = _spread(window, rows)
    return rows


def _spread(window: WindowColumn, rows: Any) -> Any:
    panes: Ints = rows.column(window.name).to_numpy()
    last = panes - np.mod(np.mod(panes, window.step) - window.shift, window.step)
    most = -(-window.ticks // window.step)
    starts = last[:, None] - window.step * np.arange(most)[None, :]
    is_in = starts + window.ticks > panes[:, None]
    place = np.repeat(np.arange(len(panes)), most)[is_in.ravel()]
    found = rows.take(pa.array(place))
    return found.set_column(found.schema.get_field_index(window.name), window.name, pa.array(starts[is_in]))


def _nulls(column: Any) -> Any:
    return column.combine_chunks().is_null().to_numpy(zero_copy_only=False)
