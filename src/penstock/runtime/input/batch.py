"""What goes into a step and what comes out: records of Arrow tables and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.plan import Plan
from penstock.runtime.budget.archive import Archived
from penstock.runtime.budget.loss import Loss
from penstock.runtime.columns.codes import Ints, flat
from penstock.runtime.input.arrival_order import order_codes
from penstock.runtime.input.headers import Header, header_of
from penstock.runtime.input.part_rises import with_parts
from penstock.runtime.input.wire_columns import (
    ORDER,
    counted_streams,
    promise_columns,
    punctuation_columns,
    punctuation_promises,
    shipped_columns,
)

INDEX = "__ps_index"
"""The row's index among the data rows of its chunk."""
HOME = "__ps_home"
"""True in exactly one of the cells that hold a copy of the row."""


@dataclass(frozen=True)
class Punctuating:
    """Which rows of a piece are punctuations: boolean columns, NULL meaning data."""

    any: Any
    """Those that satisfy some WHEN, of use or not."""
    by_promise: Mapping[int, Any]
    """By the number of the promise in the plan, those that make it."""


@dataclass(frozen=True)
class Chunk:
    """A piece of one stream's input, or one cell's share of it."""

    header: Header
    rows: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    order: Ints | None = None
    """For a stream whose rows are counted in the order of ARRIVES BY: the place of every data row of the piece."""
    punctuations: Mapping[int, Any] = field(default_factory=dict)
    """By the number of the promise in the plan; INDEX counts the data rows of the piece that came before."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        stream: str,
        place: int,
        data: Any,
        passes: Mapping[str, Any] | None = None,
        *,
        punctuating: Punctuating | None = None,
    ) -> Chunk:
        """The chunk of a single cell: all rows of the piece.

        `passes` holds a boolean column for each alias with filters.
        """
        punctuations: dict[int, Any] = {}
        if punctuating is not None:
            data, passes, punctuations = apart(plan, stream, data, passes or {}, punctuating)
        indexed, order = numbered(plan, stream, data)
        header = header_of(plan, stream, place, indexed)
        rows: dict[str, Any] = {}
        keys: dict[str, Any] = {}
        for source in plan.sources:
            if source.stream != stream:
                continue
            chosen = (passes or {}).get(source.alias)
            mask = None if chosen is None else pc.fill_null(chosen, False)
            shipped = indexed.select([*shipped_columns(plan, source.alias), INDEX])
            rows[source.alias] = shipped if mask is None else shipped.filter(mask)
            wanted = promise_columns(plan, source.alias)
            if wanted and mask is not None:
                dropped = indexed.select([*wanted, INDEX]).filter(pc.invert(mask))
                if dropped.num_rows:
                    keys[source.alias] = dropped
        return cls(header, rows, keys, order, punctuations)


def numbered(plan: Plan, stream: str, data: Any) -> tuple[Any, Ints | None]:
    """The rows of a piece with their index, their part and, where rows carry it, ORDER; the places if it is counted."""
    indexed = with_parts(plan, stream, data).append_column(INDEX, pa.array(np.arange(data.num_rows)))
    if not plan.in_arrival_order:
        return indexed, None
    column = next(source.arrives_by for source in plan.sources if source.stream == stream)
    order = order_codes(data.column(column))
    return indexed.append_column(ORDER, pa.array(order)), order if stream in counted_streams(plan) else None


def apart(
    plan: Plan, stream: str, rows: Any, passes: Mapping[str, Any], punctuating: Punctuating
) -> tuple[Any, dict[str, Any], dict[int, Any]]:
    """Data and punctuations, each its own: the data rows, what their filters say, and the punctuations by promise."""
    is_data = pc.invert(pc.fill_null(punctuating.any, False))
    if pc.all(is_data).as_py() is not False:
        return rows, dict(passes), {}
    before = np.cumsum(flat(is_data).to_numpy(zero_copy_only=False))
    indexed = rows.append_column(INDEX, pa.array(before, pa.int64()))
    made = {
        number: indexed.select([*punctuation_columns(plan, promise), INDEX]).filter(
            pc.fill_null(punctuating.by_promise[number], False)
        )
        for number, promise in punctuation_promises(plan, stream)
    }
    kept = {alias: column.filter(is_data) for alias, column in passes.items()}
    return rows.filter(is_data), kept, {number: table for number, table in made.items() if table.num_rows}


@dataclass(frozen=True)
class Batch:
    """A micro-batch: one instant for constraints."""

    number: int
    chunks: tuple[Chunk, ...]
    keep: float = 1.0
    """Under SHED(INPUT), the share of its rows that there is time to join."""
    is_last: bool = False
    """Whether every stream ends with it: nothing more will come, so all that waits is decided."""
    frontiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By stream that a block gives, and by column, in ticks: later batches bring no row of it below that."""
    parts: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    """By stream, the parts that its source names, with rows or without."""


@dataclass(frozen=True)
class Quarantined:
    """Rows kept out of the query by one constraint."""

    constraint: str
    into: str | None
    alias: str
    stream: str
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
    loss: Loss | None = None
    """Under a budget, what was evicted and what is lost by it."""
    used: Mapping[str, int] = field(default_factory=dict)
    """By constraint whose promises are remembered only as long as that pays: 1 while they are, 0 while not."""
    lost: int = 0
    """Results known to be lost: a row of theirs had been let go by a promise that the batch shows to be broken."""
    contradicted: int = 0
    """Rows known to have been given wrongly, without the match that the batch shows them to have."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """What is known of the parts of streams, each number under its name and the stream's; the same in every cell."""
    audited: int = 0
    """Rows that promises let go and an audit keeps."""
    oldest: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """By alias that stores a row, of the oldest: batch and event time, negative, and what it waits for, as bits."""
    clock: Mapping[str, int] = field(default_factory=dict)
    """By alias whose event time is ordered, the least that may still come, in ticks; the same in every cell."""
    let_go: Mapping[str, int] = field(default_factory=dict)
    """By the number of a closing (`closings_told`), the rows that left and that it had closed a stream for."""

    @property
    def fullest_cell(self) -> int:
        """All that the cell stores; of the cells of a query the most is told."""
        return sum(self.state_rows.values())


@dataclass(frozen=True)
class StepResult:
    """What one batch gave."""

    rows: Any
    metrics: Metrics
    quarantined: tuple[Quarantined, ...]
    frontier: Mapping[str, int]
    """By ordered column that somebody asks for, as a text: no future result carries it below that, in ticks."""
    archived: Archived | None = None
    """Under a budget with an ARCHIVE, what goes there."""
    reports: Mapping[int, Any] = field(default_factory=dict)
    """By the number of `plan.item_closers`: punctuations, and whether rows with their values are stored here."""
