"""The figures of `penstock bench rewrite`, beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.packets.report import table
from benchmarks.rewrite.systems import Ran
from benchmarks.rewrite.traffic import Traffic

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
_OPEN = 90
"""Seconds before the end whose windows are not compared: no clock has passed them."""


def as_text(
    made: Traffic,
    connections: int,
    runs: Sequence[Ran],
    truth: Mapping[int, Mapping[int, int]],
    alone: Mapping[int, str],
) -> list[str]:
    """Everything, line by line; `alone` is the error of counts where no row breaks a declaration."""
    given = [f"{made.rows:,} packets: {connections:,} connections a second for {made.seconds:,} s of event time", ""]
    return [*given, *_costs(runs), "", *_errors(made, runs, truth, alone)]


def _costs(runs: Sequence[Ran]) -> list[str]:
    counts = next(run for run in runs if run.system == "counts, 5 min")
    rows = [["system", "CPU s", "times counts", "seconds", "state rows", "state KB"]]
    for run in runs:
        if run.why_not is None:
            rows.append(
                [
                    run.system,
                    f"{run.cpu:.1f}",
                    f"{run.cpu / counts.cpu:.1f}",
                    f"{run.seconds:.1f}",
                    f"{run.state_rows:,}",
                    f"{run.state_bytes / 1000:,.0f}",
                ]
            )
    missing = [f"  {run.system}: not run: {run.why_not}" for run in runs if run.why_not is not None]
    return [*table(rows), *missing, f"  the paper: the original takes {PUBLISHED['cpu']['original']}"]


def _errors(
    made: Traffic, runs: Sequence[Ran], truth: Mapping[int, Mapping[int, int]], alone: Mapping[int, str]
) -> list[str]:
    """Relative errors of the answer, median and largest over the windows that are over."""
    rows = [["relative error, median (largest)", *(f"{minutes} min" for minutes in truth)]]
    named: dict[str, dict[int, str]] = {}
    for run in runs:
        for minutes, counts in run.counts.items():
            system = "counts" if run.system.startswith("counts") else run.system
            named.setdefault(system, {})[minutes] = error_text(made, minutes, counts, truth[minutes])
    for system, cells in named.items():
        rows.append([system, *(cells.get(minutes, "-") for minutes in truth)])
    rows.append(["counts, were all declarations kept", *(alone[minutes] for minutes in truth)])
    for label, key in (("the paper, counts", "error_percent"), ("the paper, epsilon / k", "boundary_percent")):
        rows.append([label, *(f"at most {PUBLISHED[key][str(minutes)]:g} %" for minutes in truth)])
    return table(rows)


def error_text(made: Traffic, minutes: int, counts: Mapping[int, float], truth: Mapping[int, int]) -> str:
    """The error of some counts: the median and the largest over the windows that are over."""
    over = [w for w in truth if (w + 1) * minutes * 60 <= made.seconds - _OPEN]
    errors = [abs(counts.get(window, 0.0) - truth[window]) / truth[window] for window in over]
    return f"{100 * median(errors):.2f} % ({100 * max(errors):.2f} %)" if errors else "-"
