"""`penstock bench rewrite`: the connections without a FIN, by joins, samples and counts, in one run."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.packets.report import machine, write_docs
from benchmarks.packets.runs import ROOT
from benchmarks.rewrite.captures import Captured, as_captures, measured_captures, measured_traffic
from benchmarks.rewrite.claims import Claim, as_lines, claims
from benchmarks.rewrite.report import Watched, as_text
from benchmarks.rewrite.systems import CONF, Ran, by_window, counts, engine, spark_joins
from benchmarks.rewrite.traffic import Traffic, original, traffic

from penstock.spark.session import need_java, start_session

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "rewrites.md"
MINUTES = (1, 2, 5)
SECONDS, CONNECTIONS = 3600, 500
"""The whole of it: so long, and so many connections a second."""


def main(arguments: Sequence[str]) -> int:
    """Run the experiment; 0 if all joins gave the truth and, at full size, what the paper claims was met."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.write_docs and (given.quick or given.introduction):
        parser.error("--write-docs is for the whole of it")
    seconds, connections, files = (900, 20, 4) if given.quick else (given.seconds, given.connections, given.files)
    judged = seconds >= SECONDS and connections >= CONNECTIONS
    need_java()
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    lines, wrong, held = [machine()], list[str](), list[Claim]()
    try:
        if not given.introduction:
            say("making packets")
            watched = _written("as it comes", traffic(seconds, connections), home / "data", files)
            kept = _written("declarations kept", traffic(seconds, connections, breaking=False), home / "kept", files)
            runs = _measured(watched, kept, home, say)
            held = claims(runs, watched, kept)
            lines += [*as_text(connections, files, runs, watched, kept), *as_lines(held)]
            lines += [] if judged else ["  too small a run to judge: with few connections chance alone is more"]
            wrong = [run.system for run in runs if run.is_exact and not watched.agrees(run)]
            if given.json is not None:
                given.json.write_text(as_json(runs))
        say("the queries of the introduction")
        lines += as_captures(_introduction(min(seconds, 1800), given.packets, home))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines += [f"WRONG ANSWER: {', '.join(wrong)}"] if wrong else []
    print("\n".join(lines))
    if given.write_docs:
        write_docs(PAGE, lines, "<!-- figures: penstock bench rewrite --write-docs -->")
    return 1 if wrong or (judged and not all(claim.met for claim in held)) else 0


def as_json(runs: Sequence[Ran]) -> str:
    """All figures of the runs, for programs."""
    plain = [replace(run, counts={minutes: dict(found) for minutes, found in run.counts.items()}) for run in runs]
    return json.dumps({"machine": machine(), "runs": [asdict(run) for run in plain]}, indent=1)


def _introduction(seconds: int, packets: Path, home: Path) -> list[Captured]:
    found = measured_traffic(seconds, 20, home)
    return found + measured_captures(packets, home) if packets.is_dir() else found


def _written(name: str, made: Traffic, data: Path, files: int) -> Watched:
    made.write(data, files)
    syns = original(made)
    return Watched(name, made, {minutes: by_window(syns, minutes) for minutes in MINUTES})


def _measured(watched: Watched, kept: Watched, home: Path, say: Callable[[str], None]) -> list[Ran]:
    data, tiny = home / "data", home / "tiny"
    traffic(120, 5).write(tiny, 2)
    spark = start_session("rewrite", CONF)

    def joined(percent: int, folder: Path, name: str, *, on_rocksdb: bool = False) -> Ran:
        return spark_joins(spark, folder, _new(home / name), percent, MINUTES, on_rocksdb=on_rocksdb)

    say("warming up")
    joined(100, tiny, "tiny-joins")
    joined(100, tiny, "tiny-rocksdb", on_rocksdb=True)
    for bounds in (False, True):
        counts(tiny, _new(home / f"tiny-counts-{bounds}"), 5, bounds=bounds)
    engine(tiny, _new(home / "tiny-engine"), MINUTES)
    runs = []
    for percent in (100, 10, 1):
        say(f"Spark's joins, {percent} % of connections")
        runs.append(joined(percent, data, f"joins-{percent}"))
    say("Spark's joins, on RocksDB")
    runs.append(joined(100, data, "joins-rocksdb", on_rocksdb=True))
    say("Penstock's engine")
    runs.append(engine(data, _new(home / "engine"), MINUTES))
    for minutes in MINUTES:
        say(f"counts, by {minutes} minutes")
        runs.append(counts(data, _new(home / f"counts-{minutes}"), minutes, bounds=False))
    for minutes in MINUTES:
        say(f"counts with bounds, by {minutes} minutes; then where declarations are kept")
        runs.append(counts(data, _new(home / f"bounds-{minutes}"), minutes, bounds=True))
        watched.runs[minutes] = runs[-1]
        kept.runs[minutes] = counts(home / "kept", _new(home / f"kept-{minutes}"), minutes, bounds=True)
    return runs


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench rewrite", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of an hour of 20 connections a second")
    parser.add_argument("--introduction", action="store_true", help="only the paper's queries 1, 2 and 3")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of event time")
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="a second of event time")
    parser.add_argument("--files", type=int, default=8, help="of each stream; one a batch")
    parser.add_argument("--packets", type=Path, default=ROOT.parent / "shared" / "data" / "packets")
    parser.add_argument("--json", type=Path, default=None, help="write the figures here too")
    parser.add_argument("--write-docs", action="store_true", help=f"put the figures into {PAGE.name}")
    return parser
