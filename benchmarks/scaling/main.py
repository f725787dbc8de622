"""`penstock bench scaling`: one job on one core and on two, over 4, 8 and 16 cells, and over 64 in as many tasks.

`inner` is joined by one key, so a cell more costs no copies: what it loses is the fixed cost of a cell, and of a task.
`hypercube` is joined by two, so each cell more holds copies more. The figures are those of `penstock bench shapes`, of
Penstock alone; the state is told with its copies, which is what a larger cluster would hold and shuffle.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.shapes.data import Size
from benchmarks.shapes.measures import Spread, run_ours
from benchmarks.shapes.shapes import SHAPES

from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- figures: penstock bench scaling --write-docs -->"
FULL, QUICK = Size(3_000_000, 8), Size(60_000, 3)
CASES = (Spread(1, 4), Spread(cells=4), Spread(cells=8), Spread(cells=16), Spread(cells=64, tasks=64))


@dataclass(frozen=True)
class Scaled:
    """What one shape did on so many cores and cells."""

    shape: str
    spread: Spread
    rate: float
    seconds: float
    """Of a batch."""
    state_rows: int
    rows_out: int


def main(arguments: Sequence[str]) -> int:
    """Run all cases; 0 if all give as many rows as the first."""
    given = _parser().parse_args(arguments)
    need_java()
    size = QUICK if given.quick else FULL
    began = time.perf_counter()
    found: list[Scaled] = []
    for shape in ("inner", "hypercube"):
        for run, spread in zip(run_ours(SHAPES[shape], size, BUILD, CASES), CASES, strict=True):
            most = max(batch.state_rows for batch in run.batches)
            found.append(Scaled(shape, spread, run.rate, run.typical, most, run.rows_out))
            seconds = time.perf_counter() - began
            told = f"{shape}, {spread.cores} cores, {spread.cells} cells: {run.rate:,.0f} rows a second"
            sys.stderr.write(f"[{seconds:6.0f} s] {told}\n")
    lines = as_text(size, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps([asdict(one) for one in found], indent=1), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines, MARK)
    return 0 if all_agree(found) else 1


def all_agree(found: Sequence[Scaled]) -> bool:
    """Whether the answer has the same number of rows on all cores and cells, and some."""
    given = [{one.rows_out for one in found if one.shape == shape} for shape in {one.shape for one in found}]
    return all(len(rows) == 1 and 0 not in rows for rows in given)


def as_text(size: Size, found: Sequence[Scaled]) -> list[str]:
    """The figures, line by line."""
    heads = ("rows/s", "s a batch", "times the first", "state rows, copies counted")
    lines = [["shape", "cores", "cells", "tasks", *heads]]
    for one in found:
        first = next(other for other in found if other.shape == one.shape)
        figures = [f"{one.rate:,.0f}", f"{one.seconds:.2f}", f"{one.rate / first.rate:.2f}", f"{one.state_rows:,}"]
        spread = one.spread
        how = (spread.cores, spread.cells, spread.tasks or spread.cores)
        lines.append([one.shape, *map(str, how), *figures])
    return [str(size), machine(), "", *table(lines)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size: only answers are judged")
    parser.add_argument("--json", type=Path, default=BUILD / "scaling.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser
