"""Short ways to drive a cell from SQL text and rows."""

from __future__ import annotations

import functools
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk, Patience, Punctuating, StepResult, punctuation_promises


def plan_of(script: str) -> Plan:
    """The plan of the only query of a script."""
    (query,) = penstock.parse(script).queries
    return make_plan(query, check_query(query))


class Driver:
    """A cell, fed with lists of tuples; the columns of a stream are integers, in the order of `columns`."""

    def __init__(self, script: str, columns: str = "k ts n", patience: Patience = Patience.EAGER) -> None:
        self.script = script
        self.plan = plan_of(script)
        self.patience = patience
        self.cell = Cell(self.plan, patience)
        self.columns = columns.split()
        self._number = 0
        self._store: dict[str, bytes] = {}
        self.passes: dict[str, tuple[str, int]] = {}
        """By alias, the column that its filter holds to a number."""

    def step(self, **rows: list[tuple[int | None, ...]]) -> StepResult:
        """One batch: rows by stream."""
        chunks = []
        for stream in self.plan.streams:
            given = rows.get(stream, [])
            columns = {c: pa.array([row[n] for row in given], pa.int64()) for n, c in enumerate(self.columns)}
            table = pa.table(columns)
            passes = {a: pc.equal(table.column(c), v) for a, (c, v) in self.passes.items() if self._reads(a, stream)}
            chunks.append(Chunk.of(self.plan, stream, 0, table, passes, punctuating=self._punctuating(stream, table)))
        result = self.cell.step(Batch(self._number, tuple(chunks)))
        self._number += 1
        return result

    def _reads(self, alias: str, stream: str) -> bool:
        return self.plan.by_alias[alias].stream == stream

    def _punctuating(self, stream: str, table: Any) -> Punctuating:
        """Which rows satisfy which WHEN; the tests write `WHEN n < x` and `WHEN n = x` and nothing else."""

        def meets(condition: str) -> Any:
            op, number = re.findall(r"n (<|=) (-?\d+)", condition)[0]
            return (pc.less if op == "<" else pc.equal)(table.column("n"), int(number))

        nothing = pa.array([False] * table.num_rows, pa.bool_())
        whens = [meets(rows.when) for rows in self.plan.punctuations if rows.stream == stream]
        promises = punctuation_promises(self.plan, stream)
        return Punctuating(
            functools.reduce(pc.or_, whens, nothing), {number: meets(p.when or "") for number, p in promises}
        )

    def restart(self) -> None:
        """Save the cell and go on with one restored from what was saved."""
        changes = self.cell.save()
        self._store = {k: v for k, v in {**self._store, **changes.put}.items() if k not in changes.delete}
        self.cell = Cell.restore(self.plan, self._store, self.patience)

    def stored(self, alias: str) -> int:
        """The rows kept of an alias."""
        return self.cell.synopses[alias].live


def rows_of(result: StepResult) -> list[tuple[Any, ...]]:
    """The results, sorted."""
    return sorted(zip(*(c.to_pylist() for c in result.rows.columns), strict=True))
