"""Short ways to drive a cell from SQL text and rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk, StepResult


def plan_of(script: str) -> Plan:
    """The plan of the only query of a script."""
    (query,) = penstock.parse(script).queries
    return make_plan(query, check_query(query))


class Driver:
    """A cell, fed with lists of tuples; the columns of a stream are integers, in the order of `columns`."""

    def __init__(self, script: str, columns: str = "k ts n") -> None:
        self.plan = plan_of(script)
        self.cell = Cell(self.plan)
        self.columns = columns.split()
        self._number = 0

    def step(self, **rows: list[tuple[int | None, ...]]) -> StepResult:
        """One batch: rows by stream."""
        chunks = []
        for stream in self.plan.streams:
            given = rows.get(stream, [])
            columns = {c: pa.array([row[n] for row in given], pa.int64()) for n, c in enumerate(self.columns)}
            chunks.append(Chunk.of(self.plan, stream, 0, pa.table(columns)))
        result = self.cell.step(Batch(self._number, tuple(chunks)))
        self._number += 1
        return result

    def stored(self, alias: str) -> int:
        """The rows kept of an alias."""
        return self.cell.synopses[alias].live


def rows_of(result: StepResult) -> list[tuple[Any, ...]]:
    """The results, sorted."""
    return sorted(zip(*(c.to_pylist() for c in result.rows.columns), strict=True))
