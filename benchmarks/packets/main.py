"""`penstock bench packets`: Penstock beside Spark's own joins on the same files, one after the other."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.packets.measures import EXPERIMENTS, Findings
from benchmarks.packets.report import as_json, as_text, picture, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.packets.sizes import FULL, QUICK, Size

from penstock.errors import UsageError
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "performance.md"
IN_QUICK = ("throughput", "breakdown")


def main(arguments: Sequence[str]) -> int:
    """Run the experiments; 0 if every answer is right and, at full size, every target is met."""
    given = _parser().parse_args(arguments)
    size = QUICK if given.quick else FULL
    if given.seconds is not None or given.rows_a_batch is not None:
        # Another size than the is shown, not judged.
        size = replace(
            size,
            seconds=given.seconds or size.seconds,
            rows_a_batch=given.rows_a_batch or size.rows_a_batch,
            judged=False,
        )
    size = replace(size, tuned=given.tuned, beside=given.beside)
    if size.seconds * size.rate < 2 * size.rows_a_batch:
        raise UsageError("the stream is shorter than two batches, and the first is left out")
    chosen = given.only or (IN_QUICK if given.quick else tuple(EXPERIMENTS))
    need_java()
    found = _measured(size, chosen, given.keep)
    lines = as_text(size, found)
    print("\n".join(lines))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(as_json(size, found), encoding="utf-8")
    if given.write_docs:
        write_docs(PAGE, lines)
    if given.picture is not None:
        if "throughput" not in found.runs:
            raise UsageError("the picture is of the experiment throughput", hint="--only throughput, or no --only")
        given.picture.write_text(picture(size, found.runs["throughput"]) + "\n", encoding="utf-8")
    missed = size.judged and not all(measure.met for measure in found.measures)
    return 1 if found.wrong or missed else 0


def _measured(size: Size, chosen: Sequence[str], keep: Path | None) -> Findings:
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = keep if keep is not None else Path(tempfile.mkdtemp(dir=BUILD))
    found = Findings()
    try:
        for name, experiment in EXPERIMENTS.items():
            if name in chosen:
                experiment(size, home / name, found, say)
    finally:
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)
    say("done")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench packets", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a small size and two systems, under two minutes; nothing is judged"
    )
    parser.add_argument("--seconds", type=_positive, metavar="N", help="event time of the streams")
    parser.add_argument("--rows-a-batch", type=_positive, metavar="N", help="about so many rows a batch")
    parser.add_argument("--tuned", action="store_true", help="Spark's joins also with the engine's file manager")
    parser.add_argument("--beside", type=Path, metavar="PYTHON", help="also the Penstock of this other Python")
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), help="an experiment; may be repeated")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the rows kept, batch by batch")
    parser.add_argument("--json", type=Path, default=BUILD / "packets.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this folder, and leave it")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
