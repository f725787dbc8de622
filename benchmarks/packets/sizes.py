"""The sizes at which the packets are measured: the one that the issue states, and a quick one for the test suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.packets.data import RATES

FILES_A_BATCH = 2
"""Of each stream: on two cores the scan of a batch is two tasks a stream."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    seconds: int = 600
    """Of event time."""
    rows_a_batch: int = 900_000
    small_batch: int = 120_000
    """Rows a batch where the fixed cost of a batch weighs."""
    standing: tuple[int, int] = (20_000, 2_000_000)
    """Rows that stand in state while batches of `standing_batch` rows come."""
    standing_batch: int = 100_000
    standing_batches: int = 12
    long_factor: int = 10
    rates: Mapping[str, int] = field(default_factory=lambda: dict(RATES))
    broken_down: tuple[str, ...] = ("promises", "windows")
    """The scripts whose batches are taken apart."""
    heap: str = "8g"
    """Of the JVM that runs Spark's own joins: they need it. Penstock runs with its own default of 2 GiB."""
    all_systems: bool = True
    """Whether Penstock with windows alone, and Spark's joins on RocksDB, run too."""
    tuned: bool = False
    """Whether Spark's joins also run with the engine's file manager: how much of the difference that is."""
    beside: Path | None = None
    """The Python of another Penstock, which runs the same script beside this one."""
    judged: bool = True
    """Whether the targets of the issue are meant for this size."""

    @property
    def rate(self) -> int:
        """Rows a second of event time, all streams together."""
        return sum(self.rates.values())

    def file_seconds(self, rows_a_batch: int) -> float:
        """Event time of a file, so that a batch has about so many rows."""
        return rows_a_batch / self.rate / FILES_A_BATCH

    def __str__(self) -> str:
        streams = ", ".join(f"{name.upper()} {rate:,}" for name, rate in self.rates.items())
        return (
            f"{streams} rows a second of event time for {self.seconds} s ({self.rate * self.seconds:,} rows), "
            f"about {self.rows_a_batch:,} rows a batch"
        )


FULL = Size()
QUICK = Size(
    seconds=150,
    rows_a_batch=45_000,
    small_batch=12_000,
    standing=(2_000, 50_000),
    standing_batch=10_000,
    standing_batches=6,
    long_factor=3,
    rates={name: rate // 10 for name, rate in RATES.items()},
    broken_down=("promises",),
    heap="2g",
    all_systems=False,
    judged=False,
)
