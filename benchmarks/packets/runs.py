"""One run of one system over the files, in a process of its own, and the figures of its batches.

Every system is measured alike: the seconds of a batch are those that Spark reports for its trigger, the steady rate
leaves the first batch out, batches without rows count for nobody, and state is the most that stood after any batch.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.packets.data import script
from benchmarks.packets.memory import Watched, run_watched
from benchmarks.packets.sizes import FILES_A_BATCH
from benchmarks.packets.spark_joins import Job

ROOT = Path(__file__).parents[2]
CORES = 2


@dataclass(frozen=True)
class BatchFigures:
    """One batch that had rows."""

    rows: int
    seconds: float
    state_rows: int
    promise_rows: int
    state_bytes: int


@dataclass(frozen=True)
class Run:
    """What one system did."""

    system: str
    batches: tuple[BatchFigures, ...]
    watched: Watched
    answer: Path

    @property
    def rows(self) -> int:
        """Rows read."""
        return sum(batch.rows for batch in self.batches)

    @property
    def overall(self) -> float:
        """Rows a second over all batches."""
        return self.rows / sum(batch.seconds for batch in self.batches)

    @property
    def steady(self) -> float:
        """Rows a second, the first batch left out."""
        later = self.batches[1:]
        return sum(batch.rows for batch in later) / sum(batch.seconds for batch in later)

    @property
    def state_rows(self) -> int:
        """The most rows kept after a batch."""
        return max(batch.state_rows for batch in self.batches)

    @property
    def promise_rows(self) -> int:
        """The most promises kept after a batch."""
        return max(batch.promise_rows for batch in self.batches)

    @property
    def kept(self) -> int:
        """The most rows and promises kept together."""
        return max(batch.state_rows + batch.promise_rows for batch in self.batches)

    @property
    def state_bytes(self) -> int:
        """The most bytes of state."""
        return max(batch.state_bytes for batch in self.batches)


def run_penstock(
    system: str,
    data: Path,
    home: Path,
    *,
    promises: bool,
    window: str = "60 SECONDS",
    lateness: str = "3 SECONDS",
    python: Path | None = None,
) -> Run:
    """`penstock run`, as a user would; with `python`, that of the Penstock which is installed there."""
    home = fresh(home)
    text = script(data, home / "out", FILES_A_BATCH, promises=promises, window=window, lateness=lateness)
    (home / "packets.sql").write_text(text, encoding="utf-8")
    command = ["-m", "penstock", "run", str(home / "packets.sql"), "--available-now"]
    command += ["--checkpoint", str(home / "checkpoint"), "--metrics", str(home / "metrics.jsonl")]
    watched = run_python([*command, "--conf", f"spark.master=local[{CORES}]"], home, python)
    return Run(system, told_batches(home / "metrics.jsonl"), watched, home / "out")


def told_batches(metrics: Path) -> tuple[BatchFigures, ...]:
    """The batches with rows of a `penstock run`, as its metrics tell them."""
    lines = metrics.read_text(encoding="utf-8").splitlines()
    # A replayed batch may appear twice: the last line counts.
    by_batch = {line["batch"]: line for line in map(json.loads, lines)}
    batches = [
        BatchFigures(
            sum(line["rows_in"].values()),
            line["seconds"],
            sum(line["state_rows"].values()),
            line["promise_rows"],
            line["state_bytes"],
        )
        for line in by_batch.values()
    ]
    return tuple(batch for batch in batches if batch.rows)


def run_spark_joins(
    system: str, data: Path, home: Path, *, rocksdb: bool, heap: str, our_file_manager: bool = False
) -> Run:
    """Spark's own joins, on its default store or on RocksDB."""
    home = fresh(home)
    result = home / "batches.json"
    places = (str(data), str(home / "out"), str(home / "checkpoint"), str(result))
    job = Job(*places, FILES_A_BATCH, rocksdb, heap, our_file_manager)
    job.save(home / "job.json")
    watched = run_python(["-m", "benchmarks.packets.spark_joins", str(home / "job.json")], home)
    batches = [BatchFigures(**batch) for batch in json.loads(result.read_text(encoding="utf-8"))]
    return Run(system, tuple(batch for batch in batches if batch.rows), watched, home / "out")


def run_oracle(data: Path, home: Path) -> tuple[Path, Watched]:
    """The one-shot join: where its answer is, and what it took."""
    home = fresh(home)
    answer = home / "answer.parquet"
    return answer, run_python(["-m", "benchmarks.packets.oracle", str(data), str(answer)], home)


def run_python(arguments: Sequence[str], home: Path, python: Path | None = None) -> Watched:
    """This Python, the repository on its path, or another as it is, with these arguments; its words in `home`/log."""
    used = sys.executable if python is None else str(python.absolute())
    environment = {
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))) if python is None else "",
        "PYSPARK_PYTHON": used,
        "PYSPARK_DRIVER_PYTHON": used,
    }
    return run_watched([used, *arguments], home / "log", environment)


def fresh(home: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home
