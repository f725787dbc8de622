"""One way of one experiment through one cell of the core: what is kept, what comes out, what it costs.

The core alone: Spark would add the same fixed cost to every batch. Seconds are of the processor, so that what else the
machine does plays little part. `kept` is stored rows and promises together, as the paper counts synopses and what
monitoring needs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.kmon.graphs import Experiment

import penstock
from penstock.compile import plan
from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Chunk, Metrics
from penstock.runtime.promise.keys import KeyWatch


@dataclass(frozen=True)
class Course:
    """What was seen of a run, after each batch."""

    way: str
    seen: tuple[int, ...]
    """Rows processed, of all streams."""
    kept: tuple[int, ...]
    results: tuple[int, ...]
    """Result rows of each batch."""
    seconds: tuple[float, ...]
    k: tuple[Mapping[str, int | None], ...]
    violations: int

    @property
    def final(self) -> int:
        """Kept at the end."""
        return self.kept[-1]

    @property
    def peak(self) -> int:
        """Kept at most."""
        return max(self.kept)

    def cost(self, steady_from: int) -> float:
        """Microseconds a row once so many rows were processed."""
        at = next((n for n, seen in enumerate(self.seen) if seen >= steady_from), len(self.seen) - 2)
        rows = self.seen[-1] - self.seen[at]
        return 1e6 * sum(self.seconds[at + 1 :]) / rows


@dataclass
class Driving:
    """One way, batch by batch."""

    experiment: Experiment
    way: str
    rows_a_batch: int
    hints: str = ""
    keys: bool | None = None
    """Whether closed keys are remembered where that is chosen by cost; None leaves it to be chosen."""

    def __post_init__(self) -> None:
        self.plan = plan(penstock.parse(self.experiment.script(self.way, self.hints)))
        self.cell = Cell(self.plan)
        rows = self.experiment.made.rows
        for watch in self.cell.watches:
            for choice in watch.choices if isinstance(watch, KeyWatch) and self.keys is not None else ():
                choice.kept, choice.window = bool(self.keys), rows
        marks = np.arange(self.rows_a_batch, rows + self.rows_a_batch, self.rows_a_batch)
        self.seen = [min(mark, rows) for mark in marks.tolist()]
        columns = self.experiment.made.columns
        self._tables = {name: pa.table({c: pa.array(v) for c, v in of.items()}) for name, of in columns.items()}
        self._cuts = {name: np.concatenate([[0], np.searchsorted(of["seq"], marks)]) for name, of in columns.items()}
        self._metrics: list[Metrics] = []
        self._seconds: list[float] = []

    def step(self, number: int) -> None:
        """Run one batch."""
        cuts = {name: (cut[number], cut[number + 1]) for name, cut in self._cuts.items()}
        pieces = {name: self._tables[name].slice(start, end - start) for name, (start, end) in cuts.items()}
        began = time.process_time()
        chunks = tuple(_chunk(self.plan, self.experiment, name, piece) for name, piece in pieces.items())
        found = self.cell.step(Batch(number, chunks))
        self._seconds.append(time.process_time() - began)
        self._metrics.append(found.metrics)

    @property
    def course(self) -> Course:
        """What was seen of it."""
        return Course(
            self.way,
            tuple(self.seen),
            tuple(sum(m.state_rows.values()) + m.promise_rows for m in self._metrics),
            tuple(m.rows_out for m in self._metrics),
            tuple(self._seconds),
            tuple(dict(m.k) for m in self._metrics),
            sum(sum(m.violations.values()) for m in self._metrics),
        )


def drive_in_turn(runs: list[Driving]) -> list[Course]:
    """Run several ways of one experiment, a batch of each after the other: what disturbs one then disturbs all."""
    for number in range(len(runs[0].seen)):
        for run in runs[number % len(runs) :] + runs[: number % len(runs)]:
            run.step(number)
    return [run.course for run in runs]


def drive(experiment: Experiment, way: str, rows_a_batch: int, hints: str = "") -> Course:
    """Run one way."""
    (course,) = drive_in_turn([Driving(experiment, way, rows_a_batch, hints)])
    return course


def _chunk(made: Plan, experiment: Experiment, name: str, piece: Any) -> Chunk:
    limit = experiment.filters.get(name)
    passes = {} if limit is None else {name: pc.less(piece.column("f"), limit)}
    return Chunk.of(made, name, 0, piece, passes)
