"""The figures of `penstock bench rewrite`, beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.packets.report import table
from benchmarks.rewrite.systems import Ran, by_window
from benchmarks.rewrite.traffic import Traffic

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
_OPEN = 90
"""Seconds before the end whose windows are not compared: no clock has passed them."""


@dataclass(frozen=True)
class Watched:
    """Traffic, the original's answer by window length and window, and what counts with bounds said of it."""

    name: str
    made: Traffic
    truth: Mapping[int, Mapping[int, int]]
    runs: dict[int, Ran] = field(default_factory=dict)
    """By window length in minutes."""

    def over(self, minutes: int) -> list[int]:
        """The windows that are whole and over, and have results."""
        return [w for w in self.truth[minutes] if w >= 0 and (w + 1) * minutes * 60 <= self.made.seconds - _OPEN]

    def agrees(self, run: Ran) -> bool:
        """Whether a system that ran gave the original's answer."""
        return all(
            counts.get(window, 0) == self.truth[minutes][window]
            for minutes, counts in run.counts.items()
            for window in self.over(minutes)
        )

    def error_text(self, minutes: int, counts: Mapping[int, float]) -> str:
        """The relative error of some counts: the median and the largest over the windows."""
        return _spread(self.errors(minutes, counts))

    def errors(self, minutes: int, counts: Mapping[int, float]) -> list[float]:
        """The relative errors of some counts, window by window."""
        truth = self.truth[minutes]
        return [abs(counts.get(w, 0.0) - truth[w]) / truth[w] for w in self.over(minutes)]


_HOW = (
    "Each stream in {} files, one a batch. All in one session that has run each of them before on little data: neither",
    "the session's start nor the first batch's is in the figures. Spark's joins keep their state in its default store,",
    "in memory, but where RocksDB is named; the counts keep theirs in memory too, Penstock's engine its in RocksDB.",
    "Who wants the exact answer chooses the least of Spark's joins, on either store, and Penstock's engine.",
)


def as_text(connections: int, files: int, runs: Sequence[Ran], watched: Watched, kept: Watched) -> list[str]:
    """Everything, line by line; `kept` is the same traffic without what breaks a declaration."""
    made = watched.made
    given = f"{made.rows:,} packets: {connections:,} connections a second for {made.seconds:,} s of event time"
    told = [line for one in (watched, kept) for line in ("", *_told(one))]
    return [given, *(line.format(files) for line in _HOW), "", *_costs(runs), "", *_errors(runs, watched, kept), *told]


def _costs(runs: Sequence[Ran]) -> list[str]:
    counts = next(run for run in runs if run.system == "counts, 5 min")
    rows = [["system", "CPU s", "times counts", "seconds", "state rows", "state KB"]]
    exact = min(run.cpu for run in runs if run.is_exact)
    for run in runs:
        times = f"{run.cpu / counts.cpu:.1f}"
        state = f"{run.state_rows:,}", f"{run.state_bytes / 1000:,.0f}"
        rows.append([run.system, f"{run.cpu:.1f}", times, f"{run.seconds:.1f}", *state])
    return [
        *table(rows),
        f"  the cheapest exact answer takes {exact / counts.cpu:.1f} times what the counts take",
        f"  the paper: the original takes {PUBLISHED['cpu']['original']}",
    ]


def _errors(runs: Sequence[Ran], watched: Watched, kept: Watched) -> list[str]:
    """Relative errors of the answer, median and largest over the windows that are over."""
    lengths = list(watched.truth)
    rows = [["relative error, median (largest)", *(f"{minutes} min" for minutes in lengths)]]
    named: dict[str, dict[int, str]] = {}
    for run in runs:
        for minutes, counts in run.counts.items():
            system = run.system.removesuffix(f", {minutes} min")
            named.setdefault(system, {})[minutes] = watched.error_text(minutes, counts)
    for system, cells in named.items():
        rows.append([system, *(cells.get(minutes, "-") for minutes in lengths)])
    alone = [kept.error_text(minutes, kept.runs[minutes].counts[minutes]) for minutes in lengths]
    rows.append(["counts, all declarations kept", *alone])
    for label, key in (("the paper, counts", "error_percent"), ("the paper, epsilon / k", "boundary_percent")):
        rows.append([label, *(f"at most {PUBLISHED[key][str(minutes)]:g} %" for minutes in lengths)])
    return table(rows)


def _told(watched: Watched) -> list[str]:
    """What WITH BOUNDS says beside what is true, in shares of the SYNs of a window, and of the answer."""
    rows = [[f"shares of the SYNs, {watched.name}", *(f"{minutes} min" for minutes in watched.runs)]]
    columns = [_told_column(watched, minutes, run) for minutes, run in watched.runs.items()]
    labels = (
        "error, median (largest)",
        "error_declared",
        "error_observed",
        "error_violations",
        "windows with an error of at most both",
        "error of the answer",
        "error_answer",
        "windows whose truth is in [cnt_low, cnt_high]",
        "windows that say broken",
        "windows that say exceeded",
    )
    return table([*rows, *([label, *cells] for label, cells in zip(labels, zip(*columns, strict=True), strict=True))])


def _told_column(watched: Watched, minutes: int, run: Ran) -> list[str]:
    truth, over = watched.truth[minutes], watched.over(minutes)
    syns = by_window(watched.made.packets["syn"][0], minutes)
    errors = {w: abs(run.counts[minutes].get(w, 0.0) - truth[w]) / syns[w] for w in over}
    told = {w: run.told[w] for w in over if w in run.told}
    covered = sum(errors[w] <= one.lags + one.violations for w, one in told.items())
    inside = sum(one.low <= truth[w] <= one.high for w, one in told.items())
    return [
        _spread(list(errors.values())),
        f"{100 * max((one.declared for one in told.values()), default=0.0):.2f} %",
        _spread([one.lags for one in told.values()]),
        _spread([one.violations for one in told.values()]),
        f"{covered} of {len(over)}",
        watched.error_text(minutes, run.counts[minutes]),
        _spread([one.answer for one in told.values()]),
        f"{inside} of {len(over)}",
        f"{sum(one.broken for one in told.values())} of {len(over)}",
        f"{sum(one.exceeded for one in told.values())} of {len(over)}",
    ]


def _spread(shares: Sequence[float]) -> str:
    return f"{100 * median(shares):.2f} % ({100 * max(shares):.2f} %)" if shares else "-"
