"""What is measured: the seconds of each query beside those of the inner join, the rows kept, and the answers.

On Spark the three queries run over the same files one after the other, as often as told, and the least time of each
counts: what else the machine does only adds. The first batch, in which Spark starts, is left out on all sides. In the
core, one cell without Spark, seconds are of the processor.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.outer.data import QUERIES, Requests, answered, cut, expected, script, write
from benchmarks.packets.runs import CORES, run_python

import penstock
from penstock.compile import plan
from penstock.runtime import Batch, Cell, Chunk


@dataclass(frozen=True)
class Run:
    """One run: what each batch read, kept and took."""

    query: str
    rows: tuple[int, ...]
    kept: tuple[int, ...]
    seconds: tuple[float, ...]
    right: bool

    @property
    def growth(self) -> float:
        """What the last third of the batches kept at most, as a multiple of what the second third did."""
        third = len(self.kept) // 3
        return max(self.kept[2 * third :]) / max(1, *self.kept[third : 2 * third])

    @property
    def steady(self) -> float:
        """Seconds of all batches but the first."""
        return sum(self.seconds[1:])


def measure(data: Requests, batches: int, home: Path, say: Callable[[str], None], times: int = 1) -> list[Run]:
    """The runs on Spark; of several of one query the fastest."""
    say(f"writing {data.rows:,} rows")
    write(home / "data", data, batches)
    found: dict[str, Run] = {}
    for number in range(times):
        for query in QUERIES:
            say(f"{query}, {number + 1} of {times}")
            run = _on_spark(data, home, home / f"run{number}{query.replace(' ', '_')}", query)
            if query not in found or run.steady < found[query].steady:
                found[query] = run
    return list(found.values())


def _on_spark(data: Requests, home: Path, here: Path, query: str) -> Run:
    here.mkdir()
    (here / "outer.sql").write_text(script(home / "data", here / "out", query), encoding="utf-8")
    command = ["-m", "penstock", "run", str(here / "outer.sql"), "--available-now"]
    command += ["--checkpoint", str(here / "checkpoint"), "--metrics", str(here / "metrics.jsonl")]
    run_python([*command, "--conf", f"spark.master=local[{CORES}]"], here)
    lines = (here / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    read = [line for line in {line["batch"]: line for line in map(json.loads, lines)}.values() if line["rows_in"]]
    return Run(
        query,
        tuple(sum(line["rows_in"].values()) for line in read),
        tuple(sum(line["state_rows"].values()) for line in read),
        tuple(line["seconds"] for line in read),
        answered(pq.read_table(here / "out")) == expected(data, query),
    )


def measure_core(data: Requests, batches: int) -> list[Run]:
    """The runs in one cell without Spark, one after the other."""
    return [_in_core(data, batches, query) for query in QUERIES]


def _in_core(data: Requests, batches: int, query: str) -> Run:
    made = plan(penstock.parse(script(Path("/data"), Path("/out"), query)))
    cell = Cell(made)
    pieces = cut(data, batches)
    results: list[Any] = []
    seconds = []
    for number, (requests, answers) in enumerate(zip(pieces["requests"], pieces["answers"], strict=True)):
        began = time.process_time()
        chunks = (Chunk.of(made, "requests", 0, requests), Chunk.of(made, "answers", 0, answers))
        results.append(cell.step(Batch(number, chunks)))
        cell.save()
        seconds.append(time.process_time() - began)
    rows = pa.concat_tables([r.rows for r in results if r.rows.num_rows], promote_options="default")
    counts = [r.metrics for r in results]
    return Run(
        query,
        tuple(sum(m.rows_in.values()) for m in counts),
        tuple(sum(m.state_rows.values()) for m in counts),
        tuple(seconds),
        answered(rows) == expected(data, query) and not any(m.violations for m in counts),
    )
