"""What a cell keeps, and for whose sake: a look at stored state that changes none of it.

A stored row is there because some future result may hold it: for each other stream the promises made so far either
rule out every future row that would agree with it (closed), or do not (open). A row for which a stream is open waits
for it. One that has every stream closed stands in results to come with rows that wait themselves, or is asked at a
later batch (`penstock.purge=lazy`).

Not told: by which of several promises a stream will close (the plan's rules say that), and what the second stage
remembers, but how much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.runtime.cell import Cell
from penstock.runtime.columns.codes import Ints
from penstock.runtime.state.synopsis import ALL


@dataclass(frozen=True)
class KeptRow:
    """One stored row: its columns as text, the batch it came with, and the streams that it waits for."""

    values: dict[str, str]
    batch: int
    waits_for: tuple[str, ...]


@dataclass(frozen=True)
class KeptStream:
    """What is stored of one stream in one cell."""

    alias: str
    rows: int
    """Copies counted."""
    tuples: int
    """Copies counted once."""
    waiting: dict[str, int] = field(default_factory=dict)
    """By other stream, the rows that wait for it."""
    settled: int = 0
    """The rows for which every other stream is closed."""
    oldest: tuple[KeptRow, ...] = ()
    """Some of them, those that came first."""


def kept_in(cell: Cell, most: int) -> list[KeptStream]:
    """What a cell stores, by stream, with at most so many rows of each."""
    return [_kept(cell, alias, most) for alias in cell.plan.aliases]


def _kept(cell: Cell, alias: str, most: int) -> KeptStream:
    synopsis = cell.synopses[alias]
    ids = synopsis.ids(ALL)
    others = [other for other in cell.plan.aliases if other != alias]
    open_ = {other: ~cell.closedness.closed(alias, other, synopsis, ids) for other in others}
    settled = np.ones(len(ids), np.bool_)
    for mask in open_.values():
        settled &= ~mask
    return KeptStream(
        alias,
        len(ids),
        sum(segment.live_at_home for segment in synopsis.segments),
        {other: int(np.count_nonzero(mask)) for other, mask in open_.items()},
        int(np.count_nonzero(settled)) if others else 0,
        tuple(_rows(cell, alias, ids[:most], {other: mask[:most] for other, mask in open_.items()})),
    )


def _rows(cell: Cell, alias: str, ids: Ints, open_: dict[str, Any]) -> list[KeptRow]:
    synopsis = cell.synopses[alias]
    columns = cell.plan.by_alias[alias].kept
    values = {column: synopsis.arrow(column, ids).to_pylist() for column in columns}
    batches = synopsis.gather(ids, lambda s: s.batch)
    return [
        KeptRow(
            {column: str(values[column][n]) for column in columns},
            int(batches[n]),
            tuple(other for other, mask in open_.items() if mask[n]),
        )
        for n in range(len(ids))
    ]


def together(parts: list[KeptStream], most: int) -> KeptStream:
    """What several cells store of one stream."""
    waiting: dict[str, int] = {}
    for part in parts:
        for other, count in part.waiting.items():
            waiting[other] = waiting.get(other, 0) + count
    rows = sorted((row for part in parts for row in part.oldest), key=lambda row: row.batch)
    return KeptStream(
        parts[0].alias,
        sum(part.rows for part in parts),
        sum(part.tuples for part in parts),
        waiting,
        sum(part.settled for part in parts),
        tuple(rows[:most]),
    )
