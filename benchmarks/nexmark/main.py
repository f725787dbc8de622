"""`penstock bench nexmark`: Nexmark's questions on streams, each equal to Spark's batch answer, with its state told."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.nexmark.questions import SCRIPT, Answered, Places, answered
from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import ROOT
from examples.nexmark.events import write

from penstock.compile import load
from penstock.spark.session import need_java, start_session

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "nexmark.md"


def main(arguments: Sequence[str]) -> int:
    """Run the questions; 0 if every answer is right."""
    given = _parser().parse_args(arguments)
    need_java()
    events, files = (5_000, 4) if given.quick else (given.events, given.files)
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {what}\n")

    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    names = given.only.split(",") if given.only else [q.name for q in load(SCRIPT).queries]
    found: list[Answered] = []
    try:
        write(home / "events", events, files)
        spark = start_session("nexmark", {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"})
        for name in names:
            places = Places(home / "events", home / name)
            found.append(answered(spark, places, name, with_spark=not given.without_spark, say=say))
            say(f"{name}: {'right' if found[-1].right else 'WRONG'}, {found[-1].seconds:.0f} s")
        spark.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = as_text(events, files, found)
    print("\n".join(lines))
    given.json.write_text(json.dumps({"machine": machine(), "answers": [asdict(one) for one in found]}, indent=1))
    if given.write_docs:
        write_docs(PAGE, lines, "<!-- figures: penstock bench nexmark --write-docs -->")
    return 0 if all(one.right for one in found) else 1


def as_text(events: int, files: int, found: Sequence[Answered]) -> list[str]:
    """The figures, line by line."""
    rows = [["question", "verdict", "answer", "rows", "batches", "seconds", "state rows", "state KB", "Spark's rows"]]
    for one in found:
        own = one.spark_says or "-" if one.spark_rows is None else f"{one.spark_rows:,}"
        rows.append(
            [
                one.name,
                one.verdict,
                "right" if one.right else "WRONG",
                f"{one.rows:,}",
                str(one.batches),
                f"{one.seconds:.1f}",
                f"{one.state_rows:,}",
                f"{one.state_bytes / 1e3:,.0f}",
                own,
            ]
        )
    return [f"{events:,} events in {files} files of each stream; {machine()}", "", *table(rows)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench nexmark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--events", type=int, default=300_000, metavar="N", help="events of all streams together")
    parser.add_argument("--files", type=int, default=40, metavar="N", help="files, and so batches, of each stream")
    parser.add_argument("--only", metavar="q3,q5", help="these questions")
    parser.add_argument("--without-spark", action="store_true", help="leave out Spark's own plan over the streams")
    parser.add_argument("--json", type=Path, default=BUILD / "nexmark.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/nexmark.md")
    return parser
