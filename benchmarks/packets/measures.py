"""The measures of the issue: what is run, and what each figure must be.

Nothing here prints or decides what is shown. A measure is judged only at the size that the issue states.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from benchmarks.packets.data import packets, write_files, write_long, write_packets
from benchmarks.packets.growth import Growth, of_memory, over_batches
from benchmarks.packets.oracle import read_answer, same_bag, window_rows
from benchmarks.packets.runs import Run, run_oracle, run_penstock, run_python, run_spark_joins
from benchmarks.packets.sizes import FILES_A_BATCH, Size

PROMISES, WINDOWS, DEFAULT, ROCKSDB, TUNED = (
    "Penstock, all promises",
    "Penstock, windows and order only",
    "Spark's joins, default store",
    "Spark's joins, RocksDB",
    "Spark's joins, default store, our file manager",
)
EARLIER = "another Penstock, all promises"
_AS_FAST = 0.97
"""Medians of three runs that differ by less are equal here: single runs of one system differ by a tenth and more."""
_TURNS = 3
"""How often two Penstocks run, where they run beside each other."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Measure:
    """One figure beside its target."""

    what: str
    value: str
    target: str
    met: bool


@dataclass(frozen=True)
class Findings:
    """All that one bench found."""

    runs: dict[str, list[Run]] = field(default_factory=dict)
    """By experiment."""
    measures: list[Measure] = field(default_factory=list)
    breakdown: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """Systems whose answer is not the oracle's."""


def throughput(size: Size, home: Path, found: Findings, say: Say) -> None:
    """All systems on the same files, about `rows_a_batch` rows a batch."""
    data = home / "data"
    write_packets(data, size.seconds, size.file_seconds(size.rows_a_batch), rates=size.rates)
    say("the right answer, by a one-shot join of the files")
    answer, _ = run_oracle(data, home / "oracle")
    right = pq.read_table(answer)
    runs = []
    systems = _systems(size, data, home)
    # Single runs of one system differ by a tenth: two that are close are told apart by several of each, in turn.
    both = [one for one in systems if size.beside is not None and one[0] in (PROMISES, EARLIER)]
    for system, start in [*systems, *both * (_TURNS - 1)]:
        say(system)
        runs.append(start())
        _compare(runs[-1], right, found)
    found.runs["throughput"] = runs
    found.measures.append(
        Measure("the result of every system", f"{right.num_rows:,} rows", "the oracle's bag", not found.wrong)
    )
    by_system = {system: [run for run in runs if run.system == system] for system, _ in systems}
    # Of several runs the median: one that something else on the machine slowed down must not decide.
    typical = {system: sorted(own, key=lambda run: run.steady)[len(own) // 2] for system, own in by_system.items()}
    found.measures.extend(_beside(typical, max(window_rows(data, FILES_A_BATCH))))
    shutil.rmtree(data)


def _beside(runs: dict[str, Run], in_window: int) -> Iterator[Measure]:
    """The systems that ran beside each other; `in_window` is the most rows in window after a batch."""
    ours, default = runs[PROMISES], runs[DEFAULT]
    yield _at_least("all promises, times Spark's default store", ours.steady / default.steady, 9)
    if (rocksdb := runs.get(ROCKSDB)) is not None:
        yield _at_least("all promises, times Spark on RocksDB", ours.steady / rocksdb.steady, 27)
    if (windows := runs.get(WINDOWS)) is not None:
        times = windows.steady / default.steady
        yield _at_least("windows and order only, times Spark's default store", times, 3)
    share = default.kept / max(1, ours.kept)
    yield Measure("rows kept, promises counted, beside Spark's", f"1/{share:,.0f}", "at most 1/300", share >= 300)
    if (earlier := runs.get(EARLIER)) is not None:
        what = f"all promises, times the other Penstock, median of {_TURNS} runs in turn"
        yield _at_least(what, ours.steady / earlier.steady, _AS_FAST)
        what, most = "rows kept, promises counted", f"at most {earlier.kept:,}, as the other Penstock"
        yield Measure(what, f"{ours.kept:,}", most, ours.kept <= earlier.kept)
    if windows is not None:
        what, met = "rows in window after a batch, counted in the files", windows.kept <= in_window
        yield Measure(what, f"{in_window:,}", "windows only keeps no more", met)


def _systems(size: Size, data: Path, home: Path) -> list[tuple[str, Callable[[], Run]]]:
    def spark(name: str, folder: str, rocksdb: bool, our_file_manager: bool = False) -> Run:
        place = home / folder
        return run_spark_joins(name, data, place, rocksdb=rocksdb, heap=size.heap, our_file_manager=our_file_manager)

    systems = [
        (PROMISES, lambda: run_penstock(PROMISES, data, home / "promises", promises=True)),
        (EARLIER, lambda: run_penstock(EARLIER, data, home / "earlier", promises=True, python=size.beside)),
        (WINDOWS, lambda: run_penstock(WINDOWS, data, home / "windows", promises=False)),
        (DEFAULT, lambda: spark(DEFAULT, "spark", False)),
        (ROCKSDB, lambda: spark(ROCKSDB, "spark-rocksdb", True)),
        (TUNED, lambda: spark(TUNED, "spark-tuned", False, True)),
    ]
    left_out = {TUNED: not size.tuned, EARLIER: size.beside is None}
    left_out |= {WINDOWS: not size.all_systems, ROCKSDB: not size.all_systems}
    return [(name, start) for name, start in systems if not left_out.get(name)]


def small_batches(size: Size, home: Path, found: Findings, say: Say) -> None:
    """The same streams in small batches, where Spark's fixed cost a batch weighs."""
    data = home / "data"
    write_packets(data, size.seconds, size.file_seconds(size.small_batch), rates=size.rates)
    right = pq.read_table(run_oracle(data, home / "oracle")[0])
    runs = []
    for system, start in _systems(size, data, home):
        if system == ROCKSDB:
            continue
        say(f"{system}, {size.small_batch:,} rows a batch")
        runs.append(start())
        _compare(runs[-1], right, found)
    found.runs["small batches"] = runs
    by_name = {run.system: run for run in runs}
    times = by_name[PROMISES].steady / by_name[DEFAULT].steady
    found.measures.append(_at_least(f"{size.small_batch:,} rows a batch, times Spark's default store", times, 4))
    shutil.rmtree(data)


def standing(size: Size, home: Path, found: Findings, say: Say) -> None:
    """Batches of one size while few or many rows stand: the same files, windows of two lengths.

    The first batch brings all that is to stand; the event times are in order, so that a lateness of 100 ms holds.
    """
    data, late = home / "data", 0.1
    few, many = size.standing
    fill = many / size.rate + 5
    step = size.standing_batch / size.rate / FILES_A_BATCH
    seconds = fill + step * FILES_A_BATCH * size.standing_batches
    later = fill + step * np.arange(1, FILES_A_BATCH * size.standing_batches + 1)
    edges = [*np.linspace(0, fill, FILES_A_BATCH + 1), *later]
    write_files(data, packets(int(np.ceil(seconds)), rates=size.rates), edges)
    runs = []
    for rows in (few, many):
        say(f"batches of {size.standing_batch:,} rows, about {rows:,} standing")
        window = f"{max(100, round((rows / size.rate - late) * 1000))} MILLISECONDS"
        name = f"Penstock, about {rows:,} standing"
        place = home / str(rows)
        runs.append(run_penstock(name, data, place, promises=False, window=window, lateness="100 MILLISECONDS"))
    found.runs["standing"] = runs
    small, large = (median(batch.seconds for batch in run.batches[2:]) for run in runs)
    stood = [run.batches[-1].state_rows for run in runs]
    found.measures.append(
        Measure(
            f"a batch with {stood[1]:,} rows standing, beside one with {stood[0]:,}",
            f"{large:.2f} s / {small:.2f} s = {large / small:.2f}",
            "at most 2",
            large / small <= 2,
        )
    )
    shutil.rmtree(data)


def long_stream(size: Size, home: Path, found: Findings, say: Say) -> None:
    """A stream several times as long: does anything grow?"""
    data = home / "data"
    say(f"a stream {size.long_factor} times as long: writing it")
    write_long(data, size.long_factor, size.seconds, size.file_seconds(size.rows_a_batch), size.rates)
    say(f"a stream {size.long_factor} times as long: {PROMISES}")
    run = run_penstock(f"{PROMISES}, {size.long_factor} times as long", data, home / "long", promises=True)
    found.runs["long"] = [run]
    batches = run.batches[1:]
    times = over_batches(batches, lambda batch: batch.seconds)
    kept = over_batches(batches, lambda batch: batch.state_rows + batch.promise_rows, max)
    found.measures.append(_flat("long stream: seconds of a batch, last tenth / first", times, ".2f"))
    found.measures.append(_flat("long stream: rows kept, last tenth / first", kept, ",.0f"))
    for program, memory in of_memory(run.watched, sum(batch.seconds for batch in batches)).items():
        found.measures.append(_flat(f"long stream: MiB of {program}, last third / middle", memory, ",.0f"))
    shutil.rmtree(data)


def where_time_goes(size: Size, home: Path, found: Findings, say: Say) -> None:
    """The breakdown of a batch."""
    say("where the time goes")
    data, tiny, place = home / "data", home / "tiny", home / "steps"
    file_seconds = size.file_seconds(size.rows_a_batch)
    write_packets(data, size.seconds, file_seconds, rates=size.rates)
    write_packets(tiny, size.seconds, file_seconds, rates={"c": 1, "b": 1, "o": 1})
    place.mkdir(parents=True)
    run_python(["-m", "benchmarks.packets.breakdown", *map(str, (data, tiny, place)), *size.broken_down], place)
    found.breakdown.update(json.loads((place / "breakdown.json").read_text(encoding="utf-8")))
    shutil.rmtree(data)


EXPERIMENTS: dict[str, Callable[[Size, Path, Findings, Say], None]] = {
    "throughput": throughput,
    "small-batches": small_batches,
    "standing": standing,
    "long": long_stream,
    "breakdown": where_time_goes,
}
"""By name, in the order in which they run."""


def _compare(run: Run, right: Any, found: Findings) -> None:
    given = read_answer(run.answer)
    if not (same_bag(given, right) if given is not None else right.num_rows == 0):
        found.wrong.append(run.system)


def _at_least(what: str, times: float, target: float) -> Measure:
    return Measure(what, f"{times:.2f}", f"at least {target:g}", times >= target)


def _flat(what: str, growth: Growth, form: str) -> Measure:
    value = f"{growth.late:{form}} / {growth.early:{form}} = {growth.times:.2f}"
    return Measure(what, value, f"no growth: at most {growth.slack}", growth.is_flat)
