"""Grouped queries driven batch by batch, and the last value that each group was given."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.runtime import Cell
from penstock.testing import Run


class GroupedRun:
    """A run of a grouped query over streams of integers `k, v, ts`."""

    def __init__(self, script: str) -> None:
        self.run = Run(script)
        self.groups: dict[Any, tuple[Any, ...]] = {}
        self.emitted: list[tuple[Any, ...]] = []

    @property
    def cell(self) -> Cell:
        (cell,) = self.run.top.cells
        return cell

    def step(self, keys: int, **streams: list[tuple[int | None, ...]]) -> list[tuple[Any, ...]]:
        """One batch; the first `keys` columns of the answer are the group."""
        names = ("k", "v", "ts")
        tables = {
            stream: pa.table({name: pa.array([row[n] for row in rows], pa.int64()) for n, name in enumerate(names)})
            for stream, rows in streams.items()
        }
        rows = list(zip(*(c.to_pylist() for c in self.run.step(tables).rows.columns), strict=True))
        self.groups |= {row[:keys]: row[keys:] for row in rows}
        self.emitted += rows
        return rows
