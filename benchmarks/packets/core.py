"""The core alone on the packets of issue 3: C, B, O joined on pid, in one process, without Spark.

    python -m benchmarks.packets.core [seconds] [rows a batch]

Prints rows/s and state, once with the promises of the issue, once with windows and the order of event time only, and
how the cost of a batch follows the state that stands. The first batch is left out of the rates.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.packets.data import RATES, packets, script

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk


def plan_of(promises: bool) -> Plan:
    """The plan of the benchmark's own script; nothing is read, so its paths do not matter."""
    return _planned(_text(promises))


def _text(promises: bool) -> str:
    return script(Path("data"), Path("out"), 1, promises=promises)


def _planned(text: str) -> Plan:
    (query,) = penstock.parse(text).queries
    return make_plan(query, check_query(query))


def batches(plan: Plan, data: dict[str, tuple[Any, Any]], rows: int, start: float = 0) -> list[Batch]:
    """Cut by event time, about so many rows a batch."""
    step = rows / sum(RATES.values()) * 1e6
    end = max(times[-1] for times, _ in data.values())
    found: list[Batch] = []
    at = start
    while at < end:
        chunks = []
        for name, (times, pids) in data.items():
            low, high = np.searchsorted(times, [at, at + step])
            table = pa.table(
                {
                    "pid": pids[low:high],
                    "size": (pids[low:high] & 1023).astype(np.int32),
                    "ts": pa.array(times[low:high], pa.timestamp("us", "UTC")),
                }
            )
            chunks.append(Chunk.of(plan, name, len(found), table))
        found.append(Batch(len(found), tuple(chunks)))
        at += step
    return found


def drive(promises: bool, data: dict[str, tuple[Any, Any]], rows: int) -> None:
    plan = plan_of(promises)
    cell = Cell(plan)
    seconds: list[float] = []
    read: list[int] = []
    results = state = promised = 0
    for batch in batches(plan, data, rows):
        began = time.perf_counter()
        result = cell.step(batch)
        seconds.append(time.perf_counter() - began)
        read.append(sum(result.metrics.rows_in.values()))
        results += result.metrics.rows_out
        state = max(state, sum(result.metrics.state_rows.values()))
        promised = max(promised, result.metrics.promise_rows)
        assert not result.metrics.violations, result.metrics.violations
    rate = sum(read[1:]) / sum(seconds[1:])
    print(
        f"{'promises' if promises else 'windows only':13} {rows:>8,} rows a batch: {rate / 1e6:6.2f} million rows/s, "
        f"{results:,} results, at most {state:,} rows and {promised:,} promises kept"
    )


def follow_the_batch(standing: int, batch_rows: int = 100_000) -> None:
    """The time of a batch while so many rows stand in state, with windows only."""
    window = standing / sum(RATES.values())
    text = _text(False).replace("[RANGE 60 SECONDS]", f"[RANGE {max(1, round(window - 3))} SECONDS]")
    plan = _planned(text)
    cell = Cell(plan)
    seconds = []
    kept = 0
    for batch in batches(plan, packets(round(window) + 90), batch_rows):
        began = time.perf_counter()
        result = cell.step(batch)
        seconds.append(time.perf_counter() - began)
        kept = sum(result.metrics.state_rows.values())
    last = seconds[-10:-1]
    mean, most = 1e3 * float(np.mean(last)), 1e3 * max(last)
    print(f"{kept:>10,} rows standing: {mean:6.1f} ms a batch of {batch_rows:,}, at most {most:.1f}")


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 900_000
    data = packets(seconds)
    for promises in (True, False):
        for size in (rows, 120_000):
            drive(promises, data, size)
    for standing in (20_000, 200_000, 2_000_000):
        follow_the_batch(standing)


if __name__ == "__main__":
    main()
