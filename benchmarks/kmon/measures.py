"""The experiments, one function a figure or table: what was run, as lines for the report and as plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.kmon.graphs import (
    WINDOW,
    Experiment,
    combination_of_ca_and_oac,
    combination_of_ca_and_rids,
    graph_a,
    graph_b,
    graph_c,
)
from benchmarks.kmon.linear_road import experiments, generated, read
from benchmarks.kmon.plot import Plot
from benchmarks.kmon.runs import Course, Driving, drive_in_turn
from benchmarks.kmon.streams import varying

BLOCK = 4_000
"""Rows of all streams over which false negatives are counted."""
MOST_LOST = 0.025
MOST_COST = 1.10
MOST_STATE = 0.13
PUBLISHED = Path(__file__).with_name("published.json")
"""The figures of the paper."""
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "linear_road" / "lr_first20min.csv.gz"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How much is run: everything by a factor of the paper's sizes."""

    factor: float
    ks: tuple[int, ...] = (0, 1_000, 5_000, 10_000, 20_000)
    rows_a_batch: int = 10_000
    minutes: int = 180
    """Of the generated run of Linear Road."""
    cars_a_minute: int = 100

    @property
    def window(self) -> int:
        """Rows."""
        return self.of(WINDOW)

    def of(self, rows: int) -> int:
        """A size of the paper's, at this one."""
        return max(1, round(rows * self.factor)) if rows else 0


FULL = Size(1.0)
QUICK = Size(0.02, (0, 5_000), 500, 30, 20)


@dataclass(frozen=True)
class Target:
    """A number that the issue asks for."""

    what: str
    found: float
    most: float

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        return self.found <= self.most


@dataclass
class Findings:
    """What the experiments found."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    plots: dict[str, Plot] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Runs whose answer is not the plain join's though their promises hold."""
    costs: dict[str, dict[int, tuple[float, float]]] = field(default_factory=dict)
    """By constraint and k: microseconds a row with it, and of the plain join."""


def _courses(experiment: Experiment, ways: Sequence[str], size: Size, found: Findings, name: str) -> list[Course]:
    courses = drive_in_turn([Driving(experiment, way, size.rows_a_batch) for way in ways])
    for course in courses[1:]:
        if course.results != courses[0].results or course.violations:
            found.wrong.append(f"{name}, {course.way}")
    return courses


@dataclass(frozen=True)
class Figure:
    """State over time for each k."""

    number: str
    kind: str
    make: Callable[[int, int, int], Experiment]
    units: int


OVER_TIME = (
    Figure("4", "RIDS", graph_a, 70_000),
    Figure("6", "CA", graph_b, 60_000),
    Figure("8", "OAP", graph_b, 60_000),
    Figure("20", "OAC", graph_c, 80_000),
)


def state_over_time(size: Size, found: Findings, say: Say) -> None:
    """Figures 4, 6, 8 and 20: against SWJ; and the costs for Table 1."""
    for figure in OVER_TIME:
        _over_time(figure, size, found, say)


def _over_time(told: Figure, size: Size, found: Findings, say: Say) -> None:
    figure, kind = told.number, told.kind
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = [["k", "SWJ keeps", f"{kind} keeps, end", "peak", "part of SWJ"]]
    for k in size.ks:
        say(f"Figure {figure}: {kind}, k = {k:,}")
        experiment = told.make(size.of(told.units), size.of(k), size.window)
        swj, course = _courses(experiment, ("SWJ", kind), size, found, f"Figure {figure}, k = {k}")
        lines.setdefault("SWJ", list(zip(swj.seen, swj.kept, strict=True)))
        lines[f"{kind}, k = {size.of(k):,}"] = list(zip(course.seen, course.kept, strict=True))
        part = f"{course.final / swj.final:.3f}"
        rows.append([f"{size.of(k):,}", f"{swj.final:,}", f"{course.final:,}", f"{course.peak:,}", part])
        steady = experiment.made.rows * 6 // 10
        found.costs.setdefault(kind, {})[k] = (course.cost(steady), swj.cost(steady))
    found.tables[f"Figure {figure}"] = rows
    title = f"Figure {figure}: rows and promises kept, {kind}"
    found.plots[f"figure_{figure}"] = Plot(title, "rows processed", "kept", lines, log=figure in {"6", "8"})


def combined(size: Size, found: Findings, say: Say) -> None:
    """Figures 10 and 11: constraints of two kinds."""
    say("Figure 10: CA and OAC")
    experiment = combination_of_ca_and_oac(size.of(70_000), size.of(5_000), size.window)
    courses = _courses(experiment, tuple(experiment.ways), size, found, "Figure 10")
    found.tables["Figure 10"] = [
        ["", "keeps, end", "part of SWJ"],
        *([c.way, f"{c.final:,}", f"{c.final / courses[0].final:.3f}"] for c in courses),
    ]
    lines = {c.way: list(zip(c.seen, c.kept, strict=True)) for c in courses}
    found.plots["figure_10"] = Plot("Figure 10: CA(0) and OAC(5000)", "rows processed", "kept", lines)
    for windowed in (True, False):
        _ca_and_rids(size, found, say, windowed=windowed)


def _ca_and_rids(size: Size, found: Findings, say: Say, *, windowed: bool) -> None:
    """Figure 11; without windows too, where closed keys are remembered or forgotten as it pays."""
    name = "Figure 11" if windowed else "Figure 11, without windows"
    ways = _WAYS_TOGETHER if windowed else _WAYS_TOGETHER | {"CA and RIDS, keys kept": ("CA and RIDS", True)}
    ends: dict[str, list[tuple[float, float]]] = {}
    rows = [["k of RIDS", *(["SWJ keeps"] if windowed else []), *ways]]
    for k in (0, 500, 1_000, 2_000, 5_000, 10_000, 20_000):
        say(f"{name}: CA and RIDS, k = {k:,}")
        experiment = combination_of_ca_and_rids(size.of(200_000), size.of(k), size.window, windowed=windowed)
        plain = [Driving(experiment, "SWJ", size.rows_a_batch)] if windowed else []
        runs = [Driving(experiment, way, size.rows_a_batch, keys=keys) for way, keys in ways.values()]
        courses = drive_in_turn([*plain, *runs])
        found.wrong += [f"{name}, k = {k}, {c.way}" for c in courses if c.results != courses[0].results or c.violations]
        rows.append([f"{size.of(k):,}", *(f"{course.final:,}" for course in courses)])
        kept = dict(zip(ways, (course.final for course in courses[len(plain) :]), strict=True))
        for way, final in kept.items():
            ends.setdefault(way, []).append((size.of(k), final))
        least = min(final for way, final in kept.items() if way != _BY_COST)
        what = f"{name}: k = {k:,}: chosen by cost, beside the best of the others"
        found.targets.append(Target(what, kept[_BY_COST] / least, 1.25))
    found.tables[name] = rows
    file = "figure_11" if windowed else "figure_11_without_windows"
    found.plots[file] = Plot(f"{name}: kept after 600,000 rows", "k of RIDS", "kept", ends)


_BY_COST = "CA and RIDS, by cost"
_WAYS_TOGETHER = {
    "CA": ("CA", None),
    "CA and RIDS, keys forgotten": ("CA and RIDS", False),
    _BY_COST: ("CA and RIDS", None),
}
"""Figure 11: CA alone; with RIDS and without the No component, as the paper has it; and as the engine chooses."""


def tracked(size: Size, found: Findings, say: Say) -> None:
    """Figures 5, 7 and 9: k as it varies, learned; false negatives in blocks."""
    units = size.of(200_000)
    degree = varying(units, size.of(2_000), size.of(8_000))
    block = max(200, size.of(BLOCK))
    settings = {"5": ("RIDS", "1.0, 0.01, 500"), "7": ("CA", "1.2, 0.01, 1000"), "9": ("OAP", "1.2, 0.01, 1000")}
    experiments_by = {
        "a": graph_a(units, degree, size.window),
        "b": graph_b(units // 2, varying(units // 2, size.of(2_000), size.of(8_000)), size.window),
    }
    rows = [
        ["figure", "constraint", "results", "lost", "worst block", "mean, k not rising", "learned k, first and last"]
    ]
    for figure, (kind, monitor) in settings.items():
        say(f"Figure {figure}: {kind} learned while k varies")
        experiment = experiments_by["a" if figure == "5" else "b"]
        c, p, w = (part.strip() for part in monitor.split(","))
        hints = f"MONITOR({c}, {p}, {max(50, size.of(int(w)))})"
        swj, course = drive_in_turn(
            [Driving(experiment, "SWJ", block), Driving(experiment, f"{kind}, learned", block, hints)]
        )
        lost = np.array(swj.results) - np.array(course.results)
        share = lost / np.maximum(np.array(swj.results), 1)
        actual = np.interp(
            np.array(swj.seen) / swj.seen[-1], np.linspace(0, 1, units), degree(np.arange(units, dtype=np.float64))
        )
        rising = np.concatenate([[False], np.diff(actual) > 0])
        learned = [max((v for v in k.values() if v is not None), default=0) for k in course.k]
        if (lost < 0).any():
            found.wrong.append(f"Figure {figure}: results that the plain join has not")
        calm = float(share[~rising].mean())
        worst = int(share.argmax())
        rows.append(
            [
                figure,
                kind,
                f"{sum(swj.results):,}",
                f"{int(lost.sum()):,}",
                f"{100 * share[worst]:.2f} %: {lost[worst]:,} of {swj.results[worst]:,}, rows to {swj.seen[worst]:,}",
                f"{100 * calm:.3f} %",
                f"{next((k for k in learned if k), 0):,} … {learned[-1]:,}",
            ]
        )
        found.targets.append(
            Target(f"Figure {figure}: false negatives in the worst block of {block:,}", float(share.max()), MOST_LOST)
        )
        found.targets.append(Target(f"Figure {figure}: false negatives where k does not rise, on average", calm, 0.001))
        lines = {
            "k in the data": list(zip(swj.seen, actual, strict=True)),
            "k in use (0: not in use)": list(zip(course.seen, learned, strict=True)),
            "false negatives, a thousandth of a percent": list(zip(course.seen, 1e5 * share, strict=True)),
        }
        found.plots[f"figure_{figure}"] = Plot(f"Figure {figure}: {kind}, k learned", "rows processed", "k", lines)
    found.tables["Figures 5, 7, 9"] = rows


def table_1(found: Findings) -> Iterator[tuple[str, int, float, float]]:
    """The costs that the runs of the figures gave."""
    for kind, by_k in found.costs.items():
        for k, (with_it, without) in by_k.items():
            yield kind, k, with_it, without


def linear_road(size: Size, found: Findings, say: Say) -> None:
    """Table 3."""
    runs = {"generated": generated(size.minutes, size.cars_a_minute)}
    if DATA.exists():
        runs["the first 20 minutes of Linear Road"] = read(DATA)
    else:
        say(f"{DATA} is not there: only the generated run")
    rows = [["data", "query", "rows", "plain keeps", "with constraints", "memory, ratio", "time, ratio"]]
    for name, reports in runs.items():
        for query, experiment in experiments(reports).items():
            say(f"Table 3: {query}, {name}")
            plain, with_them = _courses(experiment, ("plain", "constraints"), size, found, f"Table 3, {query}, {name}")
            half = len(plain.kept) // 2
            before, after = float(np.mean(plain.kept[half:])), float(np.mean(with_them.kept[half:]))
            steady = experiment.made.rows // 2
            cost = with_them.cost(steady) / plain.cost(steady)
            rows.append(
                [
                    name,
                    query,
                    f"{experiment.made.rows:,}",
                    f"{before:,.0f}",
                    f"{after:,.0f}",
                    f"{after / before:.3f}",
                    f"{cost:.2f}",
                ]
            )
            found.targets.append(
                Target(f"Table 3: {query}, {name}: state beside the plain join's", after / before, MOST_STATE)
            )
    found.tables["Table 3"] = rows


EXPERIMENTS: dict[str, Callable[[Size, Findings, Say], None]] = {
    "state": state_over_time,
    "combined": combined,
    "tracked": tracked,
    "linear-road": linear_road,
}
