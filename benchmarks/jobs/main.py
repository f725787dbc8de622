"""`penstock bench jobs`: the PySpark jobs of examples/jobs, each by Spark's own plan and adopted, on the same rows."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.packets.report import machine, table, write_docs
from benchmarks.packets.runs import CORES, ROOT
from pyspark.sql import SparkSession

import penstock
from penstock.explain.comparison import JobComparison
from penstock.spark.session import need_java

BUILD = ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "adopt.md"
JOBS = ROOT / "examples" / "jobs"


def main(arguments: Sequence[str]) -> int:
    """Compare the jobs; 0 if all answers are equal."""
    given = _parser().parse_args(arguments)
    need_java()
    rows, files = (30, 3) if given.quick else (given.rows, given.files)
    began = time.perf_counter()
    BUILD.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=BUILD))
    names = given.only.split(",") if given.only else job_names()
    found: dict[str, JobComparison] = {}
    try:
        runpy.run_path(str(JOBS / "make_data.py"))["write"](home / "data", files, rows)
        # As a user has it: nothing is set but the cores.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{CORES}]").appName("penstock bench jobs")
        spark = (
            builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        for name in names:
            job = runpy.run_path(str(JOBS / f"{name}.py"))["answer"](spark, str(home / "data"))
            # The last file of each stream is one row far in the future, so that all before it is decided.
            found[name] = penstock.compare(job, rows=files * rows + 1, batches=files)
            sys.stderr.write(f"[{time.perf_counter() - began:6.0f} s] {name}: {found[name].answers}\n")
        spark.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    lines = as_text(files, rows, found)
    print("\n".join(lines))
    given.json.write_text(
        json.dumps({"machine": machine(), "jobs": {n: _figures(c) for n, c in found.items()}}, indent=1)
    )
    if given.write_docs:
        write_docs(PAGE, lines, "<!-- figures: penstock bench jobs --write-docs -->")
    return 0 if all(one.answers.are_equal for one in found.values()) else 1


def job_names() -> list[str]:
    """The jobs of examples/jobs."""
    return [path.stem for path in sorted(JOBS.glob("*.py")) if path.stem != "make_data"]


def as_text(files: int, rows: int, found: Mapping[str, JobComparison]) -> list[str]:
    """The figures, line by line."""
    lines = [["job", "Spark rows/s", "adopted", "ratio", "Spark stores", "adopted", "ratio", "answers"]]
    for name, one in found.items():
        stored = "-" if one.state_ratio is None else f"1/{one.state_ratio:.1f}"
        lines.append(
            [
                name,
                f"{one.spark.rows_per_second:,.0f}",
                f"{one.adopted.rows_per_second:,.0f}",
                f"{one.speed_ratio:.1f}x",
                f"{one.spark.most_stored:,}",
                f"{one.adopted.most_stored:,}",
                stored,
                "equal" if one.answers.are_equal else "NOT EQUAL",
            ]
        )
    return [f"{files} files of {rows:,} rows of each stream; {machine()}", "", *table(lines)]


def _figures(one: JobComparison) -> dict[str, object]:
    return {
        "rows": one.rows,
        "spark": {"rows_per_second": one.spark.rows_per_second, "state_rows": one.spark.state_rows},
        "adopted": {"rows_per_second": one.adopted.rows_per_second, "state_rows": one.adopted.state_rows},
        "answers": str(one.answers),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock bench jobs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--rows", type=int, default=30_000, metavar="N", help="rows of each file")
    parser.add_argument("--files", type=int, default=10, metavar="N", help="files, and so batches, of each stream")
    parser.add_argument("--only", metavar="a,b", help="these jobs")
    parser.add_argument("--json", type=Path, default=BUILD / "jobs.json", metavar="FILE", help="where figures go")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/adopt.md")
    return parser
