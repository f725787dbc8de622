"""What is measured: does the state stay flat, are the answers equal, and what do the punctuations cost?

Three runs over the same files: with the punctuations declared, purged eagerly and lazily; and without them, their rows
left out by the stream's WHERE. What punctuations cost is the time that the eager run takes beyond the run without
them; the first batch, in which Spark starts, is left out on all sides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.auctions.data import Auctions, answered, expected, script, write
from benchmarks.packets.runs import CORES, run_python

FILES_A_BATCH = 2
SYSTEMS = {"punctuated, eager": "eager", "punctuated, lazy": "lazy", "without": None}


@dataclass(frozen=True)
class Run:
    """One run: what each batch read, kept and took."""

    system: str
    rows: tuple[int, ...]
    items: tuple[int, ...]
    bids: tuple[int, ...]
    promises: tuple[int, ...]
    seconds: tuple[float, ...]
    right: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """Rows and promises kept after each batch."""
        return tuple(map(sum, zip(self.items, self.bids, self.promises, strict=True)))

    @property
    def growth(self) -> float:
        """What the last third of the batches kept at most, as a multiple of what the second third did."""
        third = len(self.kept) // 3
        # The last batches may hold nothing but ends.
        return max(self.kept[2 * third :]) / max(1, *self.kept[third : 2 * third])

    @property
    def steady(self) -> float:
        """Seconds of all batches but the first."""
        return sum(self.seconds[1:])


def measure(auctions: Auctions, batches: int, home: Path, say: Callable[[str], None]) -> list[Run]:
    """The runs, one after the other."""
    say(f"writing {len(auctions.ids):,} items, {auctions.bids:,} bids, {auctions.punctuations:,} punctuations")
    write(home / "data", auctions, batches * FILES_A_BATCH)
    answer = expected(auctions)
    found = []
    for number, (system, purge) in enumerate(SYSTEMS.items()):
        say(system)
        here = home / f"run{number}"
        here.mkdir()
        text = script(home / "data", here / "out", FILES_A_BATCH, auctions.wanted, punctuated=purge is not None)
        (here / "auctions.sql").write_text(text, encoding="utf-8")
        command = ["-m", "penstock", "run", str(here / "auctions.sql"), "--available-now"]
        command += ["--checkpoint", str(here / "checkpoint"), "--metrics", str(here / "metrics.jsonl")]
        command += ["--conf", f"spark.master=local[{CORES}]"]
        command += ["--allow-unbounded"] if purge is None else ["--conf", f"penstock.purge={purge}"]
        run_python(command, here)
        lines = (here / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        read = {line["batch"]: line for line in map(json.loads, lines)}.values()
        found.append(
            Run(
                system,
                tuple(sum(line["rows_in"].values()) for line in read),
                tuple(line["state_rows"]["i"] for line in read),
                tuple(line["state_rows"]["b"] for line in read),
                tuple(line["promise_rows"] for line in read),
                tuple(line["seconds"] for line in read),
                np.array_equal(answered(here / "out"), answer),
            )
        )
    return found
