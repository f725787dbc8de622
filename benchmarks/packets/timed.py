"""The engine's own operator with a watch on it: what a cell spends on loading, each phase of its step, and storing.

A cell writes one line of JSON for each batch into a folder of the host, so it is for local mode. The classes stand in
a module of their own because the workers must be able to import them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import Row

from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, StepResult
from penstock.runtime import cell as cell_module
from penstock.runtime.cell import PHASES
from penstock.runtime.state.store import Entries
from penstock.spark.local_files import named_pieces
from penstock.spark.operator import CellProcessor


@dataclass(frozen=True)
class RowCounter:
    """Decodes files given by name, and only counts their rows."""

    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (path, time, URL) in."""
        tables = [table for _, table in named_pieces(batches, self.schema)]
        yield pa.record_batch([pa.array([sum(table.num_rows for table in tables)], pa.int64())], names=["rows"])


class TimedCell(Cell):
    """A cell that remembers how long its last step took, and each phase of it."""

    kernel = 0.0
    phases: dict[str, float] = {}  # noqa: RUF012 - each step gives a cell its own

    def step(self, batch: Batch) -> StepResult:
        """See Cell."""
        self.phases = {}
        began = time.perf_counter()
        with patch.object(cell_module, "PHASES", tuple(map(_timed, PHASES))):
            result = super().step(batch)
        self.kernel = time.perf_counter() - began
        return result


def _timed(phase: Any) -> Any:
    """A phase of a step that notes how long it took."""

    def run(cell: TimedCell, now: Any) -> None:
        began = time.perf_counter()
        phase(cell, now)
        cell.phases[phase.__name__] = time.perf_counter() - began

    return run


class TimedCellProcessor(CellProcessor):
    """Writes, for each batch of a cell, the seconds of its parts; `unpack` is what is left of the whole."""

    def __init__(self, folder: str, *told: str, **engine: Any) -> None:
        super().__init__(*told, **engine)
        self.folder = folder
        self.spent: dict[str, float] = {}
        self.phases: dict[str, float] = {}

    def restore(self, key: int, plan: Plan, entries: Entries) -> TimedCell:
        """See StoredProcessor."""
        restored = TimedCell.restore(plan, entries, self.patience, self.absent, self.keys.index(key))
        assert isinstance(restored, TimedCell)
        return restored

    def load(self, *engine: Any) -> Any:
        """See StoredProcessor."""
        began = time.perf_counter()
        loaded = super().load(*engine)
        self.spent["load"] = time.perf_counter() - began
        return loaded

    def store(self, key: int, cell: Any, *engine: Any) -> None:
        """See StoredProcessor."""
        self.spent["kernel"] = cell.kernel
        self.phases = cell.phases
        began = time.perf_counter()
        super().store(key, cell, *engine)
        self.spent["store"] = time.perf_counter() - began

    def step(self, key: int, rows: Iterator[Row]) -> Iterator[Row]:
        """See CellProcessor."""
        began = time.perf_counter()
        given = list(super().step(key, rows))
        whole = time.perf_counter() - began
        self.spent["unpack"] = whole - sum(self.spent.values())
        for ending, told in (("jsonl", self.spent), ("phases", self.phases)):
            with (Path(self.folder) / f"{key}.{ending}").open("a", encoding="utf-8") as out:
                out.write(json.dumps(told) + "\n")
        self.spent = {}
        yield from given
