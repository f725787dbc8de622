"""What was found, as lines of text, as JSON, and as the figures of docs/performance.md. Nothing is measured here."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.packets.measures import DEFAULT, Findings, Measure
from benchmarks.packets.runs import CORES, Run
from benchmarks.packets.sizes import Size

from penstock.errors import UsageError
from penstock.explain.comparison_svg import ComparedLine, state_plot

PUBLISHED = Path(__file__).with_name("published.json")
BEGIN, END = "<!-- figures: penstock bench packets --write-docs -->", "<!-- end of figures -->"
AIM = 1_000_000
"""Rows a second: the aim of the issue, not a target."""

STEPS = (
    ("read", "read: files named by Spark, decoded by the packer"),
    ("pack", "pack: rows to Python, routed and packed by cell"),
    ("shuffle", "shuffle: packed rows to their cells"),
    ("whole", "operator, state and sink"),
)
PARTS = (
    ("unpack", "read and unpack the cell's rows"),
    ("load", "load state"),
    ("kernel", "kernel: join, promises, purge"),
    ("store", "store state"),
)


def as_text(size: Size, found: Findings) -> list[str]:
    """All that is shown."""
    lines = [f"packets: {size}", machine(), ""]
    for experiment, runs in found.runs.items():
        lines += [f"{experiment}", *table(_run_rows(runs)), ""]
    for name, breakdown in found.breakdown.items():
        lines += [f"where the time of a batch goes, {name}", *table(_breakdown_rows(breakdown)), ""]
    lines += ["published figures, for reference", *table(_published_rows()), ""]
    if found.measures:
        lines += ["measures", *table(_measure_rows(size, found.measures))]
    if found.wrong:
        lines += ["", f"WRONG ANSWER: {', '.join(found.wrong)}"]
    return lines


def machine() -> str:
    """What it was measured on."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{CORES} of {os.cpu_count()} cores, {gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}, "
        f"PySpark {version('pyspark')}, {datetime.now(UTC):%Y-%m-%d}"
    )


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns, the first to the left, the others to the right; the first row is the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return [line.rstrip() for line in lines]


def _run_rows(runs: Sequence[Run]) -> list[list[str]]:
    default = next((run for run in runs if run.system == DEFAULT), None)
    head = ["system", "rows/s", "steady", "batches", "state rows", "promises", "state MB", "peak MiB"]
    rows = [[*head, "times Spark"] if default else head]
    for run in runs:
        row = [run.system, f"{run.overall:,.0f}", f"{run.steady:,.0f}", str(len(run.batches)), f"{run.state_rows:,}"]
        row += [f"{run.promise_rows:,}", f"{run.state_bytes / 1e6:,.1f}", f"{run.watched.peak / 2**20:,.0f}"]
        rows.append([*row, f"{run.steady / default.steady:.2f}"] if default else row)
    return rows


def _breakdown_rows(breakdown: dict[str, Any]) -> list[list[str]]:
    seconds, cells = breakdown["seconds"], breakdown["cells"]
    rows, before = [["step", "seconds up to here", "adds"]], 0.0
    for name, meaning in STEPS:
        rows.append([meaning, f"{seconds[name]:.2f}", f"{seconds[name] - before:.2f}"])
        before = seconds[name]
    for name, meaning in PARTS:
        rows.append([f"  of it, in the slower cell: {meaning}", "", f"{cells[name]:.2f}"])
    rest = seconds["whole"] - seconds["shuffle"] - sum(cells.values())
    rows.append(["  of it: the rest (Spark's state commit, sink, scheduling)", "", f"{rest:.2f}"])
    rows.append(["fixed: the whole over batches of a few rows", f"{seconds['fixed']:.2f}", ""])
    return rows


def _published_rows() -> list[list[str]]:
    rows = [["system", "rows/s", "steady", "state rows", "state MB", "peak GiB"]]
    for one in json.loads(PUBLISHED.read_text(encoding="utf-8"))["systems"]:
        at = f", {one['rows_a_batch']:,} rows a batch" if "rows_a_batch" in one else ""
        figures = [f"{one[k]:,}" if k in one else "" for k in ("rows_a_second", "steady", "state_rows")]
        stored = f"{one['state_bytes'] / 1e6:,.0f}" if "state_bytes" in one else ""
        rows.append([one["system"] + at, *figures, stored, str(one.get("peak_gib", ""))])
    return rows


def _measure_rows(size: Size, measures: Sequence[Measure]) -> list[list[str]]:
    rows = [["measure", "found", "target", ""]]
    for measure in measures:
        verdict = ("pass" if measure.met else "FAIL") if size.judged else "not judged at this size"
        rows.append([measure.what, measure.value, measure.target, verdict])
    return rows


def as_json(size: Size, found: Findings) -> str:
    """The same as one object."""
    told = {
        "size": str(size),
        "judged": size.judged,
        "machine": machine(),
        "aim_rows_a_second": AIM,
        "runs": {experiment: [_run_object(run) for run in runs] for experiment, runs in found.runs.items()},
        "breakdown": found.breakdown,
        "measures": [vars(measure) for measure in found.measures],
        "wrong": found.wrong,
        "published": json.loads(PUBLISHED.read_text(encoding="utf-8")),
    }
    return json.dumps(told, indent=1)


def _run_object(run: Run) -> dict[str, Any]:
    return {
        "system": run.system,
        "rows": run.rows,
        "rows_a_second": run.overall,
        "steady": run.steady,
        "state_rows": run.state_rows,
        "promise_rows": run.promise_rows,
        "kept": run.kept,
        "state_bytes": run.state_bytes,
        "peak_bytes": run.watched.peak,
        "wall_seconds": run.watched.seconds,
        "batches": [vars(batch) for batch in run.batches],
    }


def picture(size: Size, runs: Sequence[Run]) -> str:
    """The rows that each system keeps after each batch, promises counted, as SVG; Spark's first."""
    ordered = sorted(runs, key=lambda run: run.system.startswith("Penstock"))
    lines = [ComparedLine(run.system, tuple(b.state_rows + b.promise_rows for b in run.batches)) for run in ordered]
    span = size.rows_a_batch / size.rate
    return state_plot(f"rows kept after each batch of {size.rows_a_batch:,} rows, {span:.0f} s of event time", lines)


def figures_in(page: Path, mark: str) -> list[str]:
    """The figures that stand between the two marks of the page."""
    return (
        page.read_text(encoding="utf-8")
        .partition(mark)[2]
        .partition(END)[0]
        .strip()
        .strip("`")
        .strip("\n")
        .splitlines()
    )


def cells_of(line: str) -> list[str]:
    """The cells of a line of a table that are not empty."""
    return re.split(r"\s{2,}", line.strip())


def write_docs(page: Path, lines: Sequence[str], mark: str = BEGIN) -> None:
    """Put the figures between the two marks of the page."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(mark)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{page} has no place for the figures", hint=f"add the lines {mark} and {END}")
    page.write_text(f"{before}{mark}\n```\n" + "\n".join(lines) + f"\n```\n{END}{after}", encoding="utf-8")
