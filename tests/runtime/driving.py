"""Short ways to drive one cell by `penstock.testing`, from SQL text and lists of integers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Cell, Changes, Patience, StepResult
from penstock.testing import Run


def plan_of(script: str) -> Plan:
    """The plan of the only query of a script."""
    (query,) = penstock.parse(script).queries
    return make_plan(query, check_query(query))


class Driver:
    """A run on one cell, fed with lists of tuples; the columns of a stream are integers, in the order of `columns`."""

    def __init__(self, script: str, columns: str = "k ts n", patience: Patience = Patience.EAGER) -> None:
        self.script = script
        self.run = Run(script)
        self.run.patience = patience
        self.run.restart()
        self.plan = self.run.plan
        self.columns = columns.split()

    @property
    def cell(self) -> Cell:
        """The one cell."""
        (cell,) = self.run.top.cells
        return cell

    def step(self, **rows: list[tuple[int | None, ...]]) -> StepResult:
        """One batch, rows by stream: what the cell gives."""
        tables = {
            stream: pa.table({c: pa.array([row[n] for row in given], pa.int64()) for n, c in enumerate(self.columns)})
            for stream, given in rows.items()
        }
        self.run.step(tables)
        (result,) = self.run.steps[-1].given
        return result

    def restart(self) -> None:
        """Go on from what was saved."""
        self.run.restart()

    @property
    def saved(self) -> Changes:
        """What the last step changed in the store of the cell."""
        return self.run.top.changes[0]

    def stored(self, alias: str) -> int:
        """The rows kept of an alias."""
        return self.cell.synopses[alias].live


def rows_of(result: StepResult) -> list[tuple[Any, ...]]:
    """The results, sorted."""
    return sorted(zip(*(c.to_pylist() for c in result.rows.columns), strict=True))
