"""`penstock bench aggregate`: aggregates of joins whose keys meet a thousand times over, beside ones whose do not."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.aggregate.core import Run, measure
from benchmarks.aggregate.data import QUERIES, Case
from benchmarks.aggregate.on_spark import measure_on_spark
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "aggregates.md"
FANOUTS = (1, 1000)
MOST_TIMES = 1.5
"""What a thousandfold fan-out may take, as a multiple of what none takes."""


def main(arguments: Sequence[str]) -> int:
    """Run the experiment; 0 if answers are right and, at full size, a thousandfold fan-out costs little more."""
    given = _parser().parse_args(arguments)
    rows, batches = (20_000, 5) if given.quick else (1_000_000, 10)
    began = time.perf_counter()
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    runs = []
    try:
        for query in QUERIES:
            for fanout in FANOUTS:
                sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {query}, fan-out {fanout:,}\n")
                case = Case(query, rows, fanout)
                here = home / f"{query}{fanout}"
                runs.append(measure_on_spark(case, batches, here) if given.spark else measure(case, batches))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = as_text(runs, batches)
    print("\n".join(lines))
    given.json.write_text(json.dumps({"machine": machine(), "runs": [vars(run) for run in runs]}, indent=1))
    if given.write_docs:
        how = "--spark " if given.spark else ""
        write_docs(PAGE, lines, f"<!-- figures: penstock bench aggregate {how}--write-docs -->")
    is_judged = not given.quick
    return 0 if all(run.right for run in runs) and (not is_judged or max(times(runs).values()) <= MOST_TIMES) else 1


def times(runs: Sequence[Run]) -> dict[str, float]:
    """By query, the seconds of the thousandfold fan-out as a multiple of those of none."""
    taken = {(run.query, run.fanout): run.seconds for run in runs}
    return {query: taken[query, FANOUTS[1]] / taken[query, FANOUTS[0]] for query in QUERIES}


def as_text(runs: Sequence[Run], batches: int) -> list[str]:
    """The figures, line by line."""
    rows = [["query", "rows a key", "answer", "rows in", "results", "rows/s", "seconds", "rows kept"]]
    for run in runs:
        rows.append(
            [
                run.query,
                f"{run.fanout:,}",
                "right" if run.right else "WRONG",
                f"{run.rows:,}",
                f"{run.results:,}",
                f"{run.rows / run.seconds:,.0f}",
                f"{run.seconds:.2f}",
                f"{run.stored:,}",
            ]
        )
    more = ", ".join(f"{query} {factor:.2f}" for query, factor in times(runs).items())
    return [
        f"{batches} batches; {machine()}",
        "",
        *table(rows),
        "",
        f"seconds with a thousand rows a key, as a multiple of those with one: {more} (aim: at most {MOST_TIMES})",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench aggregate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size; nothing but the answers is judged")
    parser.add_argument("--spark", action="store_true", help="on Spark, by `penstock run`, and not the core alone")
    parser.add_argument("--json", type=Path, default=BUILD / "aggregate.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/aggregates.md")
    return parser
