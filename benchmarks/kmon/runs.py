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
from penstock.runtime import Batch, Cell, Chunk


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


def drive(experiment: Experiment, way: str, rows_a_batch: int, hints: str = "") -> Course:
    """Run one way."""
    made = plan(penstock.parse(experiment.script(way, hints)))
    cell = Cell(made)
    tables = {name: pa.table({c: pa.array(v) for c, v in columns.items()}) for name, columns in _columns(experiment)}
    marks = np.arange(rows_a_batch, experiment.made.rows + rows_a_batch, rows_a_batch)
    cuts = {
        name: np.concatenate([[0], np.searchsorted(columns["seq"], marks)]) for name, columns in _columns(experiment)
    }
    seen, kept, results, seconds, ks, violations = [], [], [], [], [], 0
    for number in range(len(marks)):
        pieces = {n: t.slice(cuts[n][number], cuts[n][number + 1] - cuts[n][number]) for n, t in tables.items()}
        began = time.process_time()
        chunks = tuple(_chunk(made, experiment, name, piece) for name, piece in pieces.items())
        found = cell.step(Batch(number, chunks))
        seconds.append(time.process_time() - began)
        metrics = found.metrics
        seen.append(int(min(marks[number], experiment.made.rows)))
        kept.append(sum(metrics.state_rows.values()) + metrics.promise_rows)
        results.append(metrics.rows_out)
        ks.append(dict(metrics.k))
        violations += sum(metrics.violations.values())
    return Course(way, tuple(seen), tuple(kept), tuple(results), tuple(seconds), tuple(ks), violations)


def _columns(experiment: Experiment) -> list[tuple[str, Mapping[str, Any]]]:
    return list(experiment.made.columns.items())


def _chunk(made: Plan, experiment: Experiment, name: str, piece: Any) -> Chunk:
    limit = experiment.filters.get(name)
    passes = {} if limit is None else {name: pc.less(piece.column("f"), limit)}
    return Chunk.of(made, name, 0, piece, passes)
