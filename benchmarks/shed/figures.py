"""Figures 4 to 13 as functions from a size to a figure: its series, and the claims of the issue with what was found.

Sections 5.1 and 5.2 give the settings: relations of 50,000 tuples in 1,000 components with 5,000 kept; streams of 5,600
arrivals over 50 keys, w = 400 and 800, M from 0.1 w to 1.5 w, output counted after a warm-up of 2 w. The weather
reports that we have are 9,023 a stream, so that twice the paper's window of 5,000 does not fit: there the output is
counted from the start, and a row of its own says what a warm-up of one window makes of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from benchmarks.shed.streams import DOMAIN, Keys, components, weather, zipf

from penstock.offline import optimal, simulate, truncate
from penstock.offline.policies import memory_shares

ONLINE: tuple[Literal["prob", "life", "rand"], ...] = ("prob", "life", "rand")
MEMORIES = (0.1, 0.25, 0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Size:
    """How large the experiments are; judged only at the paper's size."""

    name: str
    arrivals: int
    window: int
    larger_window: int
    tuples: int
    components: int
    skews: tuple[float, ...]
    permutations: int
    weather_window: int
    weather_reports: int
    judged: bool


FULL = Size(
    "full", 5_600, 400, 800, 50_000, 1_000, (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0), 5, 5_000, 10**6, True
)
QUICK = Size("quick", 1_400, 100, 200, 5_000, 100, (0.0, 1.0, 2.0), 2, 400, 1_500, False)


@dataclass(frozen=True)
class Claim:
    """What the issue asks of a figure, and whether it was found."""

    what: str
    found: str
    target: str
    met: bool


@dataclass(frozen=True)
class Figure:
    """Series over one x-axis."""

    number: int | None
    """Of the paper; None for what the paper has not, which has a name of its own."""
    title: str
    x_name: str
    y_name: str
    x: tuple[float, ...]
    series: dict[str, tuple[float, ...]]
    claims: tuple[Claim, ...] = ()
    logarithmic: bool = False
    digits: int = 0
    notes: tuple[str, ...] = field(default=())
    own_name: str = ""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.own_name or f"Figure {self.number}"


def figure_4(size: Size) -> Figure:
    """The quality of ADG over skew."""
    keep, shares = size.tuples // 10, []
    for skew in size.skews:
        pairs = components(np.random.default_rng(4), skew, size.tuples, size.components)
        shares.append(truncate(pairs, keep, "adg") / truncate(pairs, keep))
    least = min(shares)
    claim = Claim("ADG's results, least share of the optimum", f"{least:.2%}", "at least 99.5 %", least >= 0.995)
    title = f"ADG beside the optimum: {size.components:,} components, {keep:,} of {2 * size.tuples:,} tuples kept"
    return Figure(4, title, "skew", "share of OPTDP", size.skews, {"ADG": tuple(shares)}, (claim,), digits=4)


def figure_5(size: Size) -> Figure:
    """Running time over the number of tuples kept."""
    kept = tuple(int(size.tuples * part) for part in (0.02, 0.04, 0.1, 0.2, 0.4))
    pairs = components(np.random.default_rng(5), 0.5, size.tuples, size.components)
    times = [_times(pairs, keep) for keep in kept]
    return _running_times(5, f"running time, {size.components:,} components", "tuples kept (k)", kept, times)


def figure_6(size: Size) -> Figure:
    """Running time over the number of components."""
    numbers = tuple(size.components * part // 2 for part in (1, 2, 4, 10, 20))
    keep = size.tuples // 10
    times = [_times(components(np.random.default_rng(6), 0.5, size.tuples, number), keep) for number in numbers]
    return _running_times(6, f"running time, {keep:,} tuples kept", "components (c)", numbers, times)


def _running_times(
    number: int, title: str, x_name: str, x: Sequence[int], times: Sequence[tuple[float, float]]
) -> Figure:
    slow, fast = (tuple(series) for series in zip(*times, strict=True))
    ratio = min(a / b for a, b in times)
    claim = Claim("ADG, least times faster than the DP", f"{ratio:,.0f}", "at least 1,000", ratio >= 1_000)
    series = {"OPTDP": slow, "ADG": fast}
    return Figure(number, title, x_name, "seconds", tuple(x), series, (claim,), logarithmic=True, digits=6)


def _times(pairs: Keys, keep: int) -> tuple[float, float]:
    """Processor seconds of the dynamic program and of ADG: the best of some runs each, as others share the machine."""
    return _best_time(lambda: truncate(pairs, keep), 2), _best_time(lambda: truncate(pairs, keep, "adg"), 50)


def _best_time(work: Callable[[], int], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best


def figure_7(size: Size) -> Figure:
    """Zipf streams with parameters 1 and 0."""
    return _over_memory(size, 7, size.window, (1.0, 0.0))


def figure_8(size: Size) -> Figure:
    """The same with the larger window."""
    return _over_memory(size, 8, size.larger_window, (1.0, 0.0))


def figure_9(size: Size) -> Figure:
    """Uniform streams."""
    return _over_memory(size, 9, size.window, (0.0, 0.0))


def _over_memory(size: Size, number: int, window: int, skews: tuple[float, float]) -> Figure:
    chance = np.random.default_rng(number)
    # The ranks of the two streams have nothing to do with each other.
    r, s = (zipf(chance, skew, size.arrivals, chance.permutation(DOMAIN)) for skew in skews)
    memories = tuple(int(part * window) for part in MEMORIES)
    warmup = 2 * window
    series: dict[str, tuple[float, ...]] = {
        "EXACT": tuple(simulate(r, s, window, m, "exact", warmup=warmup) for m in memories),
        "OPT": tuple(optimal(r, s, window, m, "fixed", warmup) for m in memories),
    }
    for policy in ONLINE:
        series[policy.upper()] = tuple(simulate(r, s, window, m, policy, "fixed", warmup) for m in memories)
    series["OPTV"] = tuple(optimal(r, s, window, m, "variable", warmup) for m in memories)
    series["PROBV"] = tuple(simulate(r, s, window, m, "prob", "variable", warmup) for m in memories)
    title = f"Zipf {skews[0]:g} and {skews[1]:g}, w = {window}, {size.arrivals:,} arrivals"
    return Figure(number, title, "memory (M)", "results", memories, series)


def figure_10(size: Size) -> Figure:
    """Uncorrelated Zipf streams: the share of the optimum depends on the permutation, so several are drawn."""
    shares = [_shares_of_optimum(size, 10 + seed, is_correlated=False) for seed in range(size.permutations)]
    prob, rand = np.array([one["prob"] for one in shares]), np.array([one["rand"] for one in shares])
    series = {
        "PROB, best": tuple(prob.max(axis=0).tolist()),
        "PROB, mean": tuple(prob.mean(axis=0).tolist()),
        "PROB, worst": tuple(prob.min(axis=0).tolist()),
        "RAND, mean": tuple(rand.mean(axis=0).tolist()),
    }
    from_one = np.array(size.skews) >= 1
    note = f"z >= 1: PROB gives {prob[:, from_one].min():.1%} to {prob[:, from_one].max():.1%} of the optimum"
    title = f"uncorrelated Zipf streams, M = w = {size.window}, {size.permutations} permutations"
    return Figure(10, title, "skew (z)", "share of OPT", size.skews, series, digits=4, notes=(note,))


def figure_11(size: Size) -> Figure:
    """Correlated Zipf streams."""
    shares = _shares_of_optimum(size, 11, is_correlated=True)
    least = min(share for skew, share in zip(size.skews, shares["prob"], strict=True) if skew >= 1)
    claim = Claim("PROB at M = w, z >= 1, least share of OPT", f"{least:.2%}", "at least 96 %", least >= 0.96)
    series = {"PROB": tuple(shares["prob"]), "RAND": tuple(shares["rand"])}
    title = f"correlated Zipf streams, M = w = {size.window}"
    return Figure(11, title, "skew (z)", "share of OPT", size.skews, series, (claim,), digits=4)


def _shares_of_optimum(size: Size, seed: int, *, is_correlated: bool) -> dict[Literal["prob", "rand"], list[float]]:
    shares: dict[Literal["prob", "rand"], list[float]] = {"prob": [], "rand": []}
    window, warmup = size.window, 2 * size.window
    for skew in size.skews:
        chance = np.random.default_rng(seed)
        order = None if is_correlated else chance.permutation(DOMAIN)
        r, s = zipf(chance, skew, size.arrivals), zipf(chance, skew, size.arrivals, order)
        best = optimal(r, s, window, window, "fixed", warmup)
        for policy, found in shares.items():
            found.append(simulate(r, s, window, window, policy, "fixed", warmup) / best)
    return shares


def figure_12(size: Size, folder: Path) -> Figure | None:
    """The weather join, with the optimum that the paper could not compute."""
    both = weather(folder)
    if both is None:
        return None
    r, s = (stream[: size.weather_reports] for stream in both)
    window = size.weather_window
    memories = tuple(int(part * window) for part in MEMORIES)
    series: dict[str, tuple[float, ...]] = {
        "EXACT": tuple(simulate(r, s, window, m, "exact") for m in memories),
        "OPT": tuple(optimal(r, s, window, m) for m in memories),
        "OPTV": tuple(optimal(r, s, window, m, "variable") for m in memories),
        "PROB": tuple(simulate(r, s, window, m, "prob") for m in memories),
        "PROBV": tuple(simulate(r, s, window, m, "prob", "variable") for m in memories),
        "RAND": tuple(simulate(r, s, window, m, "rand") for m in memories),
        "RANDV": tuple(simulate(r, s, window, m, "rand", "variable") for m in memories),
    }
    half = MEMORIES.index(1.0)
    share = min(series["PROB"][half], series["PROBV"][half]) / series["EXACT"][half]
    claim = Claim("PROB at M = w, share of EXACT", f"{share:.2%}", "at least 90 %", share >= 0.9)
    later = simulate(r, s, window, window, "exact", warmup=window)
    prob = simulate(r, s, window, window, "prob", warmup=window) / later
    best = optimal(r, s, window, window, warmup=window) / later
    notes = (
        f"after a warm-up of w, at M = w: PROB {prob:.1%} of EXACT, and no choice could give more than {best:.1%}",
    )
    title = f"weather, {len(r):,} reports a stream, w = {window:,}"
    return Figure(12, title, "memory (M)", "results", memories, series, (claim,), notes=notes)


def figure_13(size: Size, folder: Path) -> Figure | None:
    """How PROBV divides the memory over time."""
    both = weather(folder)
    if both is None:
        return None
    r, s = (stream[: size.weather_reports] for stream in both)
    window = size.weather_window
    shares = memory_shares(r, s, window, window, "prob")
    steps = tuple(range(0, len(shares), max(1, len(shares) // 60)))
    series = {"R's tuples": tuple(float(shares[step]) for step in steps), "half": (window / 2,) * len(steps)}
    full = shares[window:]
    note = f"once the memory is full, R holds {min(full) / window:.1%} to {max(full) / window:.1%} of it"
    title = f"weather: R's part of a shared memory of {window:,} under PROBV"
    return Figure(13, title, "arrivals", "tuples", steps, series, notes=(note,))
