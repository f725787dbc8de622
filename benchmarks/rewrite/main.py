"""`penstock bench rewrite`: the connections without a FIN, by joins, samples and counts, in one run."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.packets.report import machine, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.rewrite.captures import as_captures, measured_captures, measured_traffic
from benchmarks.rewrite.report import as_text, error_text
from benchmarks.rewrite.systems import CONF, Ran, by_window, counts, engine, spark_joins
from benchmarks.rewrite.traffic import Traffic, counted, original, traffic

from penstock.spark.session import need_java, start_session

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "rewrites.md"
MINUTES = (1, 2, 5)
ALLOWED = "/*+ ERROR(25 PERCENT) */ "


def main(arguments: Sequence[str]) -> int:
    """Run the experiment; 0 if Spark's joins gave the truth, so that what is compared is comparable."""
    given = _parser().parse_args(arguments)
    seconds, connections = (900, 20) if given.quick else (given.seconds, given.connections)
    need_java()
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    try:
        made = traffic(seconds, connections)
        runs = _measured(made, home, 4 if given.quick else given.files, say)
        say("the queries of the introduction")
        queries = measured_traffic(min(seconds, 1800), 20, home)
        queries += measured_captures(given.packets, home) if given.packets.is_dir() else []
    finally:
        shutil.rmtree(home, ignore_errors=True)
    truth = {minutes: by_window(original(made), minutes) for minutes in MINUTES}
    kept = traffic(seconds, connections, breaking=False)
    alone = {m: error_text(kept, m, counted(kept, m), by_window(original(kept), m)) for m in MINUTES}
    lines = [machine(), *as_text(made, connections, runs, truth, alone), *as_captures(queries)]
    print("\n".join(lines))
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": machine(), "runs": [vars(run) for run in runs]}, indent=1))
    if given.write_docs:
        how = "--quick " if given.quick else ""
        write_docs(PAGE, lines, f"<!-- figures: penstock bench rewrite {how}--write-docs -->")
    return 0


def _measured(made: Traffic, home: Path, files: int, say: object) -> list[Ran]:
    assert callable(say)
    data, tiny = home / "data", home / "tiny"
    made.write(data, files)
    traffic(120, 5).write(tiny, 2)
    spark = start_session("rewrite", CONF)

    def joined(percent: int, folder: Path, name: str) -> Ran:
        return spark_joins(spark, folder, _new(home / name), percent, MINUTES)

    say("warming up")
    joined(100, tiny, "tiny-joins")
    counts(tiny, _new(home / "tiny-counts"), 5, ALLOWED)
    joining = engine(tiny, _new(home / "tiny-engine"), MINUTES)
    runs = []
    for percent in (100, 10, 1):
        say(f"Spark's joins, {percent} % of connections")
        runs.append(joined(percent, data, f"joins-{percent}"))
    if joining.why_not is None:
        say("Penstock's engine")
        joining = engine(data, _new(home / "engine"), MINUTES)
    runs.append(joining)
    for minutes in MINUTES:
        say(f"counts, by {minutes} minutes")
        runs.append(counts(data, _new(home / f"counts-{minutes}"), minutes, ALLOWED))
    return runs


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench rewrite", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of an hour of 20 connections a second")
    parser.add_argument("--seconds", type=int, default=3600, help="of event time")
    parser.add_argument("--connections", type=int, default=100, help="a second of event time")
    parser.add_argument("--files", type=int, default=8, help="of each stream; one a batch")
    parser.add_argument("--packets", type=Path, default=ROOT.parent / "shared" / "data" / "packets")
    parser.add_argument("--json", type=Path, default=None, help="write the figures here too")
    parser.add_argument("--write-docs", action="store_true", help=f"put the figures into {PAGE.name}")
    return parser
