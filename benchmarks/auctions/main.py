"""`penstock bench auctions`: the state of items and bids with punctuations and without, and what punctuations cost."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.auctions.core import measure_core
from benchmarks.auctions.data import WANTED, Auctions, generated, nexmark
from benchmarks.auctions.measures import Run, measure
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT

from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "punctuations.md"


def main(arguments: Sequence[str]) -> int:
    """Run the experiment; 0 if answers are right and, at full size, state is flat and costs are below the data's."""
    given = _parser().parse_args(arguments)
    items, batches = (20_000, 8) if given.quick else (1_000_000, 12)
    auctions = nexmark(given.nexmark) if given.nexmark is not None else generated(given.items or items, given.bids)
    auctions = replace(auctions, wanted=given.wanted)
    if not given.core:
        need_java()
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    try:
        runs = measure_core(auctions, batches) if given.core else measure(auctions, batches, home, say)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = as_text(auctions, runs)
    print("\n".join(lines))
    given.json.write_text(json.dumps({"machine": machine(), "runs": [vars(run) for run in runs]}, indent=1))
    if given.write_docs:
        how = f"{'--core ' if given.core else ''}{f'--wanted {given.wanted} ' if given.wanted != WANTED else ''}"
        write_docs(PAGE, lines, f"<!-- figures: penstock bench auctions {how}--write-docs -->")
    judged = not given.quick and given.nexmark is None and given.items is None and given.wanted == WANTED
    return 0 if all(run.right for run in runs) and (not judged or (_is_flat(runs) and cost(runs) < 1)) else 1


def _is_flat(runs: Sequence[Run]) -> bool:
    eager, _, without = runs
    return eager.growth < 1.1 < without.growth


def cost(runs: Sequence[Run]) -> float:
    """What the punctuations cost, as a part of what the data alone costs."""
    eager, _, without = runs
    return eager.steady / without.steady - 1


def as_text(auctions: Auctions, runs: Sequence[Run]) -> list[str]:
    """The figures, line by line."""
    rows = [["run", "answer", "rows/s", "kept, 2nd third", "kept, last third", "growth", "promises", "seconds"]]
    for run in runs:
        third = len(run.kept) // 3
        rows.append(
            [
                run.system,
                "right" if run.right else "WRONG",
                f"{sum(run.rows[1:]) / run.steady:,.0f}",
                f"{max(run.kept[third : 2 * third]):,}",
                f"{max(run.kept[2 * third :]):,}",
                f"{run.growth:.2f}",
                f"{max(run.promises):,}",
                f"{run.steady:.1f}",
            ]
        )
    return [
        f"{len(auctions.ids):,} items, {auctions.bids:,} bids, {auctions.punctuations:,} punctuations, "
        f"bids above {auctions.wanted} of 1,000 wanted, {len(runs[0].rows)} batches; {machine()}",
        "",
        *table(rows),
        "",
        f"cost of the punctuations, as a part of the data's: {cost(runs):.2f} (eager beside without; aim: below 1)",
        f"lazy takes {runs[1].steady / runs[0].steady:.2f} times the seconds of eager, and keeps "
        f"{max(runs[1].kept) / max(runs[0].kept):.2f} times the rows",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench auctions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size; nothing but the answers is judged")
    parser.add_argument("--core", action="store_true", help="the core alone, in one cell and without Spark")
    parser.add_argument("--items", type=int, metavar="N", help="so many items; nothing but the answers is judged")
    parser.add_argument("--bids", type=int, default=4, metavar="N", help="bids an item, on average")
    parser.add_argument(
        "--wanted", type=int, default=WANTED, metavar="N", help="the answer has bids above it, of 1,000"
    )
    parser.add_argument("--nexmark", type=Path, metavar="DIR", help="read auction.csv.gz and bid.csv.gz from there")
    parser.add_argument("--json", type=Path, default=BUILD / "auctions.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/punctuations.md")
    return parser
