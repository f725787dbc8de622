"""One shape run by each system, one after the other on the same files, and the answers compared.

Seconds are those that Spark tells of a batch. The first batch, in which Spark starts and the JVM compiles, and the
last, which has a row of each file and settles what is left, are left out on all sides; batches without rows count for
nobody.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from benchmarks.packets.memory import Watched
from benchmarks.packets.oracle import read_answer
from benchmarks.packets.runs import CORES, BatchFigures, fresh, run_python, told_batches
from benchmarks.shapes.data import Size, write
from benchmarks.shapes.shapes import SHAPES, Shape
from benchmarks.shapes.spark_side import Job
from benchmarks.shapes.topics import Source, source_of

from penstock.spark.session import PARTITIONS

PENSTOCK, DEFAULT, ROCKSDB = "Penstock", "Spark, default store", "Spark, RocksDB"
ROCKSDB_TIMES = 3
"""The aim beside Spark on RocksDB, as a multiple of that beside its default store."""


@dataclass(frozen=True)
class Run:
    """What one system did of one shape."""

    shape: str
    system: str
    batches: tuple[BatchFigures, ...]
    watched: Watched
    rows_out: int
    checkpoint: int
    """The bytes that its checkpoint has at the end, of which neither side has removed anything yet."""
    right: bool
    """Whether the answer is the one that Penstock gave, or, of Penstock, that there is one."""

    @property
    def steady(self) -> tuple[BatchFigures, ...]:
        """The batches that count."""
        return self.batches[1:-1]

    @property
    def rate(self) -> float:
        """Rows a second."""
        return sum(batch.rows for batch in self.steady) / sum(batch.seconds for batch in self.steady)

    @property
    def most_bytes(self) -> int:
        """The most bytes of state that it tells after a batch."""
        return max(batch.state_bytes for batch in self.batches)

    @property
    def checkpoint_a_batch(self) -> float:
        """The bytes that a batch adds to the checkpoint."""
        return self.checkpoint / len(self.batches)

    @property
    def typical(self) -> float:
        """Seconds of a batch."""
        return median(batch.seconds for batch in self.steady)


def measure(
    name: str, size: Size, home: Path, systems: tuple[str, ...], *, heap: str, say: Callable[[str], None]
) -> list[Run]:
    """All systems on one shape."""
    shape, data = SHAPES[name], fresh(home) / "data"
    write(data, shape.streams, size, shape.form)
    found: list[Run] = []
    ours: Any = None
    with source_of(shape, data, home) as source:
        for system in systems:
            place = fresh(home / system.replace(" ", "_").replace(",", ""))
            given = _Given(shape, size, data, place, source)
            if system == PENSTOCK:
                watched, batches = _penstock(given)
            else:
                watched, batches = _spark(given, rocksdb=system == ROCKSDB, heap=heap)
            answer = _in_order(read_answer(place / "out"))
            ours = answer if ours is None else ours
            right = bool(answer is not None and answer.equals(ours))
            rows = 0 if answer is None else answer.num_rows
            found.append(Run(name, system, batches, watched, rows, _bytes_in(place / "checkpoint"), right))
            say(f"{name}, {size}: {system}, {found[-1].rate:,.0f} rows a second{'' if right else ', ANOTHER ANSWER'}")
            shutil.rmtree(place)
    shutil.rmtree(data)
    return found


@dataclass(frozen=True)
class Spread:
    """On how many cores, over how many cells, and in how many tasks these are."""

    cores: int = CORES
    cells: int | None = None
    tasks: int | None = None
    """As many as cores where nobody says."""


def run_ours(shape: Shape, size: Size, build: Path, cases: Sequence[Spread]) -> Iterator[Run]:
    """Penstock alone on one shape, spread another way each time."""
    build.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=build) as folder:
        data = Path(folder) / "data"
        write(data, shape.streams, size, shape.form)
        for spread in cases:
            place = fresh(Path(folder) / "run")
            watched, batches = _penstock(_Given(shape, size, data, place, Source()), spread)
            answer = read_answer(place / "out")
            rows = 0 if answer is None else answer.num_rows
            yield Run(shape.name, PENSTOCK, batches, watched, rows, _bytes_in(place / "checkpoint"), rows > 0)


def run_one(shape: Shape, size: Size, data: Path, place: Path, system: str, *, heap: str = "8g") -> Watched:
    """One system on files that are there; its answer is in `place`/out."""
    given = _Given(shape, size, data, place, Source())
    if system == PENSTOCK:
        return _penstock(given)[0]
    return _spark(given, rocksdb=system == ROCKSDB, heap=heap)[0]


@dataclass(frozen=True)
class _Given:
    """What one system is given of a shape."""

    shape: Shape
    size: Size
    data: Path
    home: Path
    source: Source


def _penstock(given: _Given, spread: Spread = Spread()) -> tuple[Watched, tuple[BatchFigures, ...]]:
    """`penstock run`, as a user would."""
    home = given.home
    (home / "shape.sql").write_text(given.shape.script(given.data, home / "out", given.size, given.source.broker))
    command = ["-m", "penstock", "run", str(home / "shape.sql"), "--available-now"]
    command += ["--checkpoint", str(home / "checkpoint"), "--metrics", str(home / "metrics.jsonl")]
    settings = {
        "spark.master": f"local[{spread.cores}]",
        "spark.jars": given.source.jars,
        "penstock.cells": spread.cells,
        PARTITIONS: spread.tasks,
    }
    for name, value in settings.items():
        command += [] if value is None else ["--conf", f"{name}={value}"]
    watched = run_python(command, home)
    return watched, told_batches(home / "metrics.jsonl")


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _spark(given: _Given, *, rocksdb: bool, heap: str) -> tuple[Watched, tuple[BatchFigures, ...]]:
    home = given.home
    result = home / "batches.json"
    places = (str(given.data), str(home / "out"), str(home / "checkpoint"), str(result))
    size = (given.size.rows, given.size.batches)
    job = Job(given.shape.name, *places, rocksdb, heap, size, given.source.broker, given.source.jars)
    job.save(home / "job.json")
    watched = run_python(["-m", "benchmarks.shapes.spark_side", str(home / "job.json")], home)
    batches = [BatchFigures(**batch) for batch in json.loads(result.read_text(encoding="utf-8"))]
    return watched, tuple(batch for batch in batches if batch.rows)


def _in_order(answer: Any) -> Any:
    """The rows of an answer in one order, instants as microseconds."""
    if answer is None:
        return None
    columns = {}
    for name in answer.column_names:
        column = answer.column(name)
        columns[name] = column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
    table = pa.table(columns).sort_by([(name, "ascending") for name in columns])
    schema = pa.schema([pa.field(field.name, field.type) for field in table.schema])
    return table.cast(schema).combine_chunks()


def beside(shape: Shape, ours: Run, other: Run) -> tuple[float, float]:
    """How many times the other ours is, and how many it is to be."""
    aim = shape.aim * (ROCKSDB_TIMES if other.system == ROCKSDB and not shape.small else 1)
    return (other.typical / ours.typical if shape.small else ours.rate / other.rate), aim
