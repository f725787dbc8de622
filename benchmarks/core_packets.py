"""The core alone on the packets of issue 3: C, B, O joined on pid, in one process, without Spark.

    python benchmarks/core_packets.py [seconds] [rows a batch]

Prints rows/s and state, once with the promises of the issue, once with windows and the order of event time only, and
how the cost of a batch follows the state that stands. The first batch is left out of the rates.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk

RATES = {"c": 1_000, "b": 10_000, "o": 1_000}
PROMISES = {
    "c": "PRIMARY KEY (pid)",
    "b": "PRIMARY KEY (pid), FOLLOWS c (pid) ON (pid) WITHIN 0 ROWS, "
    "COOCCURS (pid) AND c (pid) WINDOW [-2 SECONDS, 0 SECONDS]",
    "o": "PRIMARY KEY (pid), FOLLOWS b (pid) ON (pid) WITHIN 0 ROWS, "
    "COOCCURS (pid) AND b (pid) WINDOW [-2 SECONDS, 0 SECONDS]",
}


def script(promises: bool) -> str:
    streams = "".join(
        f"CREATE STREAM {name} (pid BIGINT, size INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS"
        f"{', ' + PROMISES[name] if promises else ''});\n"
        for name in RATES
    )
    window = "[RANGE 60 SECONDS]"
    return (
        f"{streams}SELECT c.pid, c.size AS c_size, b.size AS b_size, o.size AS o_size "
        f"FROM c {window} AS c, b {window} AS b, o {window} AS o WHERE c.pid = b.pid AND b.pid = o.pid;"
    )


def plan_of(promises: bool) -> Plan:
    (query,) = penstock.parse(script(promises)).queries
    return make_plan(query, check_query(query))


def packets(seconds: int) -> dict[str, tuple[Any, Any]]:
    """For each stream event times in order, and pids: 10 % of C goes on to B, 10 % of B to O, each within 2 s."""
    random = np.random.default_rng(7)

    def fresh(count: int) -> tuple[Any, Any]:
        return random.uniform(0, seconds * 1e6, count), random.integers(-(2**63), 2**63, count)

    def onward(times: Any, pids: Any) -> tuple[Any, Any]:
        chosen = random.random(len(pids)) < 0.1
        later = times[chosen] + random.uniform(0, 2e6, int(chosen.sum()))
        inside = later < seconds * 1e6
        return later[inside], pids[chosen][inside]

    def filled(name: str, times: Any, pids: Any) -> tuple[Any, Any]:
        more = max(0, RATES[name] * seconds - len(pids))
        extra_times, extra_pids = fresh(more)
        times, pids = np.concatenate([times, extra_times]), np.concatenate([pids, extra_pids])
        order = np.argsort(times)
        return times[order].astype(np.int64), pids[order]

    c = fresh(RATES["c"] * seconds)
    b = filled("b", *onward(*c))
    o = filled("o", *onward(*b))
    order = np.argsort(c[0])
    return {"c": (c[0][order].astype(np.int64), c[1][order]), "b": b, "o": o}


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
    text = script(False).replace("[RANGE 60 SECONDS]", f"[RANGE {max(1, round(window - 3))} SECONDS]")
    (query,) = penstock.parse(text).queries
    plan = make_plan(query, check_query(query))
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
