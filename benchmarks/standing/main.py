"""`penstock bench standing`: does a batch cost more when 2 million rows stand than when 20,000 do?

The shapes of `penstock bench shapes` over batches of 100,000 rows, with a band of time that lets so many orders stand;
the rows that stand for longer are in no result, so both answers are the same. Aimed at: at most 1.3 times.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.packets.oracle import read_answer
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import CORES, ROOT, fresh, run_python, told_batches
from benchmarks.shapes.shapes import LATENESS, SHAPES, Shape
from benchmarks.standing.data import Flow, write

from penstock.errors import DataError
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench standing --write-docs -->"
FULL, QUICK = Flow(), Flow(batch=6_000, batches=4, few=1_200, many=12_000)
MEASURED = ("inner", "left", "windowed", "hypercube", "exists", "not-exists")
AIM = 1.3


@dataclass(frozen=True)
class Stood:
    """What a batch of one shape took while so many rows stood."""

    shape: str
    rows: int
    """That stood, of all streams, at the most."""
    seconds: float
    rows_out: int


def main(arguments: Sequence[str]) -> int:
    """Run all shapes; 0 if both answers are the same and, at full size, the aim is reached."""
    given = _parser().parse_args(arguments)
    need_java()
    flow = QUICK if given.quick else FULL
    began = time.perf_counter()
    found: list[tuple[Stood, Stood]] = []
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in given.only or MEASURED:
        found.append(measured(SHAPES[name], flow))
        few, many = found[-1]
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {name}: {few.seconds:.2f} and {many.seconds:.2f} s\n")
    lines = as_text(flow, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps([[asdict(one) for one in both] for both in found], indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    is_met = given.quick or all(many.seconds <= AIM * few.seconds for few, many in found)
    return 0 if is_met and all(few.rows_out == many.rows_out > 0 for few, many in found) else 1


def measured(shape: Shape, flow: Flow) -> tuple[Stood, Stood]:
    """With few rows standing, and with many."""
    streams = len(shape.streams)
    with TemporaryDirectory(dir=BUILD) as folder:
        data = Path(folder) / "data"
        write(data, shape.streams, flow)
        few, many = (
            _run(shape, data, fresh(Path(folder) / "run"), flow.band(rows, streams)) for rows in (flow.few, flow.many)
        )
    return few, many


def _run(shape: Shape, data: Path, home: Path, band: int) -> Stood:
    (home / "shape.sql").write_text(script(shape, data, home / "out", band), encoding="utf-8")
    command = ["-m", "penstock", "run", str(home / "shape.sql"), "--available-now", "--final"]
    command += ["--checkpoint", str(home / "checkpoint"), "--metrics", str(home / "metrics.jsonl")]
    run_python([*command, "--conf", f"spark.master=local[{CORES}]"], home)
    batches = told_batches(home / "metrics.jsonl")
    answer = read_answer(home / "out")
    if answer is None or not batches:
        raise DataError(f"{shape.name} gave nothing", detail=(home / "log").read_text(encoding="utf-8")[-2000:])
    # The first fills the state, and in the second Spark still compiles.
    steady = batches[2:]
    most = max(batch.state_rows for batch in steady)
    return Stood(shape.name, most, median(batch.seconds for batch in steady), answer.num_rows)


def script(shape: Shape, data: Path, out: Path, band: int) -> str:
    """The script of a shape over one file a batch, with a band of so many seconds and rows late by one at most."""
    text = shape.script_over(
        {name: {"path": str(data / name), "maxFilesPerTrigger": "1"} for name in shape.streams}, out
    )
    return text.replace("INTERVAL 1 HOUR", f"INTERVAL {band} SECONDS").replace(LATENESS.upper(), "1 SECOND")


def as_text(flow: Flow, found: Sequence[tuple[Stood, Stood]]) -> list[str]:
    """The figures, line by line."""
    rows = [["shape", "rows standing", "s a batch", "rows standing", "s a batch", "times", "aim"]]
    for few, many in found:
        times = many.seconds / few.seconds
        shown = [f"{few.rows:,}", f"{few.seconds:.2f}", f"{many.rows:,}", f"{many.seconds:.2f}", f"{times:.2f}"]
        rows.append([few.shape, *shown, f"{AIM}" + (" SHORT" if times > AIM else "")])
    return [f"{flow.batches} batches of {flow.batch:,} rows", machine(), "", *table(rows)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench standing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size: only answers are judged")
    parser.add_argument("--only", action="append", choices=MEASURED, help="a shape; may be repeated")
    parser.add_argument("--json", type=Path, default=BUILD / "standing.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
