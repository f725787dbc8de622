"""The cases through the core alone: one cell, one bucket of groups, no Spark. Seconds are of the processor."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa
from benchmarks.aggregate.data import Case, expected, generated

import penstock
from penstock.compile import plan
from penstock.runtime import Batch, Cell, Chunk, GroupStage, given_name


@dataclass(frozen=True)
class Run:
    """What a case took."""

    query: str
    fanout: int
    rows: int
    results: int
    seconds: float
    stored: int
    """The most rows that stood after a batch."""
    right: bool


def measure(case: Case, batches: int) -> Run:
    """All batches of a case, one after the other."""
    tables = generated(case)
    made = plan(penstock.parse(case.script()))
    cell, stage = Cell(made), GroupStage(made)
    seconds = 0.0
    stored = 0
    last = pa.table({})
    size = -(-case.rows // batches)
    for number in range(batches):
        began = time.process_time()
        pieces = {name: table.slice(number * size, size) for name, table in tables.items()}
        chunks = tuple(Chunk.of(made, name, 0, piece) for name, piece in pieces.items())
        result = cell.step(Batch(number, chunks))
        given = stage.step(number, result.rows, result.frontier).rows
        cell.save()
        seconds += time.process_time() - began
        stored = max(stored, sum(result.metrics.state_rows.values()))
        last = given if given.num_rows else last
    results, total = (last.column(given_name(n))[0].as_py() for n in range(2))
    right = (results, total) == expected(case, tables)
    rows = case.rows * len(case.streams)
    return Run(case.query, case.fanout, rows, results, seconds, stored, right)
