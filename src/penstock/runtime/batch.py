"""What goes into a step and what comes out: records of Arrow tables and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.plan import Plan
from penstock.runtime.arrival_order import order_codes
from penstock.runtime.codes import Ints
from penstock.runtime.headers import Header, header_of
from penstock.runtime.needs import ORDER, counted_streams, order_column, promise_columns

INDEX = "__index"
"""The row's index among the data rows of its chunk."""
HOME = "__home"
"""True in exactly one of the cells that hold a copy of the row."""


@dataclass(frozen=True)
class Chunk:
    """A piece of one stream's input, or one cell's share of it."""

    header: Header
    rows: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    order: Ints | None = None
    """For a stream whose rows are counted in the order of ARRIVES BY: the place of every data row of the piece."""

    @classmethod
    def of(cls, plan: Plan, stream: str, place: int, data: Any, passes: Mapping[str, Any] | None = None) -> Chunk:
        """The chunk of a single cell: all data rows of the piece.

        `passes` holds a boolean column for each alias with filters.
        """
        header = header_of(plan, stream, place, data)
        indexed, order = numbered(plan, stream, data)
        rows: dict[str, Any] = {}
        keys: dict[str, Any] = {}
        for source in plan.sources:
            if source.stream != stream:
                continue
            chosen = (passes or {}).get(source.alias)
            mask = None if chosen is None else pc.fill_null(chosen, False)
            shipped = indexed.select([*source.shipped, *order_column(plan), INDEX])
            rows[source.alias] = shipped if mask is None else shipped.filter(mask)
            wanted = promise_columns(plan, source.alias)
            if wanted and mask is not None:
                dropped = indexed.select([*wanted, INDEX]).filter(pc.invert(mask))
                if dropped.num_rows:
                    keys[source.alias] = dropped
        return cls(header, rows, keys, order)


def numbered(plan: Plan, stream: str, data: Any) -> tuple[Any, Ints | None]:
    """The rows of a piece with their index and, where rows carry it, ORDER; the places if the stream is counted."""
    indexed = data.append_column(INDEX, pa.array(np.arange(data.num_rows)))
    if not plan.in_arrival_order:
        return indexed, None
    column = next(source.arrives_by for source in plan.sources if source.stream == stream)
    order = order_codes(data.column(column))
    return indexed.append_column(ORDER, pa.array(order)), order if stream in counted_streams(plan) else None


@dataclass(frozen=True)
class Batch:
    """A micro-batch: one instant for constraints."""

    number: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Quarantined:
    """Rows kept out of the query by one constraint."""

    constraint: str
    into: str | None
    alias: str
    rows: Any


@dataclass(frozen=True)
class Metrics:
    """Counts of one batch in one cell, and the state after it; rows are copies unless said otherwise."""

    rows_in: Mapping[str, int]
    """Data rows read, by alias, from the headers: the same in every cell."""
    rows_out: int
    state_rows: Mapping[str, int]
    state_tuples: Mapping[str, int]
    """Copies that are at home here."""
    pending_rows: int
    """Rows read ahead of the slowest stream, where that is why they wait; copies counted once, and not in the state."""
    promise_rows: int
    state_bytes: int
    purged: Mapping[str, int]
    violations: Mapping[str, int]
    """By constraint; only violating rows that are at home here are counted."""
    k: Mapping[str, int]
    """By constraint with a k: rows, or ticks of event time, as in force after the batch."""


@dataclass(frozen=True)
class StepResult:
    """What one batch gave."""

    rows: Any
    metrics: Metrics
    quarantined: tuple[Quarantined, ...]
    frontier: Mapping[str, int]
    """For a DISTINCT query, by alias with a known low: no future result has an event time of that alias below it."""
