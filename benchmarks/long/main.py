"""`penstock bench long`: does an ordinary job grow over a stream ten times as long?

The shapes of `penstock bench shapes` in a hundred batches, where the hour of their join stands after the first few.
Of seconds, rows kept and state the tenth of the batches after these is laid beside the last tenth, of the memory of
each program the middle third of the time beside the last (`benchmarks/packets/growth.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.packets.growth import PROGRAMS, Growth, of_memory, over_batches
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.shapes.data import Size
from benchmarks.shapes.measures import Run, Spread, run_ours
from benchmarks.shapes.shapes import SHAPES

from penstock.errors import UsageError
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench long --write-docs -->"
FULL, QUICK = Size(10_000_000, 100), Size(40_000, 14)
FILLING = 8
"""The first batches, in which the hour of the join fills: it is that of five, and rows may be late."""
MEASURED = ("inner", "left", "windowed", "json", "hypercube", "exists", "not-exists")


@dataclass(frozen=True)
class Grown:
    """What one shape did early and late."""

    shape: str
    rows_out: int
    figures: dict[str, Growth]


def main(arguments: Sequence[str]) -> int:
    """Run all shapes; 0 if each has an answer and, at full size, nothing has grown."""
    given = _parser().parse_args(arguments)
    need_java()
    size = QUICK if given.quick else Size(given.rows or FULL.rows, given.batches or FULL.batches)
    if size.batches < 2 * FILLING - 2:
        raise UsageError(f"of fewer than {2 * FILLING - 2} batches hardly one is left when the first have filled")
    began = time.perf_counter()
    found: list[Grown] = []
    for name in given.only or MEASURED:
        (run,) = run_ours(SHAPES[name], size, BUILD, [Spread()])
        found.append(measured(run))
        seconds = time.perf_counter() - began
        told = ", ".join(f"{figure} {growth.times:.2f}" for figure, growth in found[-1].figures.items())
        sys.stderr.write(f"[{seconds:6.0f} s] {name}: {told}\n")
    lines = as_text(size, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    is_flat = all(growth.is_flat for one in found for growth in one.figures.values())
    return 0 if all(one.rows_out for one in found) and (is_flat or size != FULL) else 1


def measured(run: Run) -> Grown:
    """What of a run is early and late: once its state has filled, and before the batch that settles all."""
    steady = run.batches[FILLING:-1]
    figures = {
        "s a batch": over_batches(steady, lambda batch: batch.seconds),
        "rows kept": over_batches(steady, lambda batch: batch.state_rows),
        "state MB": over_batches(steady, lambda batch: batch.state_bytes / 1e6),
    }
    memory = of_memory(run.watched, sum(batch.seconds for batch in steady))
    return Grown(run.shape, run.rows_out, figures | {f"MiB of {name}": memory[name] for name in PROGRAMS})


def as_text(size: Size, found: Sequence[Grown]) -> list[str]:
    """The figures, line by line: early, late, and how many times that is."""
    rows = [["shape", "figure", "early", "late", "times", "no growth: at most"]]
    for one in found:
        for name, growth in one.figures.items():
            form = ".2f" if name.startswith("s ") else ",.0f"
            aim = f"{growth.slack:g}" + ("" if growth.is_flat else " GROWN")
            both = (f"{growth.early:{form}}", f"{growth.late:{form}}")
            rows.append([one.shape, name, *both, f"{growth.times:.2f}", aim])
    return [str(size), machine(), "", *table(rows)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench long", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size: only that there are answers is judged")
    parser.add_argument("--only", action="append", choices=MEASURED, help="a shape; may be repeated")
    parser.add_argument("--rows", type=int, metavar="N", help="rows of all streams together; shown, not judged")
    parser.add_argument("--batches", type=int, metavar="N", help="in so many batches; shown, not judged")
    parser.add_argument("--json", type=Path, default=BUILD / "long.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
