"""What the paper claims of counts, beside what this run shows: met, or missed.

The errors are those of traffic that keeps its declarations, as the paper leaves out what long connections add (5.1).
They are the largest of a whole run, so they ask for the load of a whole run; with few connections chance alone is more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.packets.report import table
from benchmarks.rewrite.report import PUBLISHED, Watched
from benchmarks.rewrite.systems import Ran


@dataclass(frozen=True)
class Claim:
    """One claim: what the paper says and what was found."""

    what: str
    paper: str
    here: str
    met: bool


def claims(runs: Sequence[Ran], watched: Watched, kept: Watched) -> list[Claim]:
    """Section 5's claims, on the systems of a run."""
    by_name = {run.system: run for run in runs}
    counts = by_name["counts, 5 min"].cpu
    least = PUBLISHED["cpu"]["times"][0]
    whole, tenth, hundredth = (by_name[name] for name in ("Spark's joins", *SAMPLES))
    found = [
        _times("CPU of Spark's joins, times that of counts", "5 to 6", whole.cpu / counts, least),
        _times("CPU of 1 % of connections, times that of counts", "more than 1", hundredth.cpu / counts, 1),
    ]
    return [*found, *_errors(tenth, watched, kept)]


SAMPLES = ("Spark's joins, 10 % of connections", "Spark's joins, 1 % of connections")


def _times(what: str, paper: str, times: float, least: float) -> Claim:
    return Claim(what, paper, f"{times:.1f}", times >= least)


def _errors(tenth: Ran, watched: Watched, kept: Watched) -> Iterator[Claim]:
    for minutes, run in kept.runs.items():
        most = PUBLISHED["error_percent"][str(minutes)]
        ours = _largest(kept, minutes, run.counts[minutes])
        what = f"largest error of counts, {minutes} min, declarations kept"
        yield Claim(what, f"at most {most:g} %", f"{100 * ours:.2f} %", ours <= most / 100)
        sampled = _largest(watched, minutes, tenth.counts[minutes])
        what = f"largest error of 10 % of connections, {minutes} min"
        yield Claim(what, "more than counts", f"{100 * sampled:.2f} %", sampled > ours)


def _largest(watched: Watched, minutes: int, counts: Mapping[int, float]) -> float:
    return max(watched.errors(minutes, counts), default=0.0)


def as_lines(found: Sequence[Claim]) -> list[str]:
    """The claims as a table."""
    rows = [["the paper's claims", "the paper", "here", ""]]
    rows += [[claim.what, claim.paper, claim.here, "met" if claim.met else "MISSED"] for claim in found]
    return ["", *table(rows)]
