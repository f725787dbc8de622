"""`penstock bench outer`: left-outer and anti-joins beside the inner join of the same streams: cost, state, answers."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.outer.data import Requests, generated
from benchmarks.outer.measures import Run, measure, measure_core
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT

from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "outer-joins.md"
AIM = 1.5
FLAT = 1.1


def main(arguments: Sequence[str]) -> int:
    """Run the experiment; 0 if answers are right and, at full size, state is flat and the ratios are within the aim."""
    given = _parser().parse_args(arguments)
    rows, batches = (200_000, 8) if given.quick else (given.rows, 12)
    if not given.core:
        need_java()
    data = generated(rows)
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    try:
        runs = measure_core(data, batches) if given.core else measure(data, batches, home, say, given.times)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = as_text(data, runs)
    print("\n".join(lines))
    given.json.write_text(json.dumps({"machine": machine(), "runs": [vars(run) for run in runs]}, indent=1))
    if given.write_docs:
        write_docs(PAGE, lines, f"<!-- figures: penstock bench outer {'--core ' if given.core else ''}--write-docs -->")
    right = all(run.right for run in runs)
    within = all(r <= AIM for r in ratios(runs)) and all(run.growth <= FLAT for run in runs)
    return 0 if right and (given.quick or within) else 1


def ratios(runs: Sequence[Run]) -> list[float]:
    """The seconds of each query as a multiple of the inner join's."""
    inner, *others = runs
    return [run.steady / inner.steady for run in others]


def as_text(data: Requests, runs: Sequence[Run]) -> list[str]:
    """The figures, line by line."""
    rows = [["query", "answer", "rows/s", "kept at most", "growth", "seconds", "x inner"]]
    for run, ratio in zip(runs, [1.0, *ratios(runs)], strict=True):
        rows.append(
            [
                run.query,
                "right" if run.right else "WRONG",
                f"{sum(run.rows[1:]) / run.steady:,.0f}",
                f"{max(run.kept):,}",
                f"{run.growth:.2f}",
                f"{run.steady:.1f}",
                f"{ratio:.2f}",
            ]
        )
    return [
        f"{data.rows:,} rows of two streams in {len(runs[0].rows)} batches, the first left out; {machine()}",
        "",
        *table(rows),
        "",
        f"aim: at most {AIM} times the inner join's seconds, growth at most {FLAT}",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench outer", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size; nothing but the answers is judged")
    parser.add_argument("--core", action="store_true", help="the core alone, in one cell and without Spark")
    parser.add_argument("--rows", type=int, default=10_000_000, metavar="N", help="rows of both streams together")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="run each query so often; the fastest counts")
    parser.add_argument("--json", type=Path, default=BUILD / "outer.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/outer-joins.md")
    return parser
