"""Disks that are full or cannot be written, and clocks that jump.

Each ends with the exact answer or with one clear error, after which the same command goes on once the cause is gone.
The disks are small ones of memory; where the system does not let us mount them, these tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.runtime import Changes
from penstock.spark import cache
from penstock.spark.cache import WarmCache, sweep
from tests.measure import FULL, size
from tests.spark.conftest import Bench
from tests.spark.oracle import bag, written
from tests.spark.test_run import KN, expected, is_clean, rows

SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT) USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{sink}');
INSERT INTO out SELECT {hint} s.n, t.n AS m FROM s, t WHERE s.k = t.k;
"""
KB = 1 << 10


class Disk:
    """A small disk of memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        if os.getuid() or subprocess.run(_mount("size=4m", folder), capture_output=True, check=False).returncode:
            pytest.skip("no right to mount a disk")

    def fill(self, left: int) -> None:
        """Leave so many bytes."""
        found = os.statvfs(self.folder)
        with (self.folder / "filler").open("wb") as file:
            file.write(bytes(max(0, found.f_bavail * found.f_frsize - left)))

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def protect(self, *, from_writing: bool) -> None:
        subprocess.run(_mount(f"remount,{'ro' if from_writing else 'rw'}", self.folder), check=True)


def _mount(how: str, folder: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(folder)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    found = Disk(tmp_path / "disk")
    yield found
    subprocess.run(["umount", "-l", str(found.folder)], check=True)


def filled(bench: Bench, files: int = 2) -> None:
    for number in range(files):
        bench.write("s", rows(number * 100, 60), KN)
        bench.write("t", rows(1000 + number * 100, 60), KN)


def answer(files: int = 2) -> object:
    s = [row for number in range(files) for row in rows(number * 100, 60)]
    t = [row for number in range(files) for row in rows(1000 + number * 100, 60)]
    return expected(s, t)


@pytest.mark.parametrize(
    ("what", "fault"),
    [("sink", "full"), ("checkpoint", "read-only"), ("sink", "read-only"), ("checkpoint", "full")][: size(2, 4)],
)
def test_what_cannot_be_written_is_told_and_the_same_run_goes_on_afterwards(
    bench: Bench, disk: Disk, what: str, fault: str
) -> None:
    filled(bench)
    sink = disk.folder / "sink" if what == "sink" else bench.folder / "out"
    checkpoint = disk.folder / "checkpoint" if what == "checkpoint" else bench.folder / "checkpoint"
    script = SCRIPT.replace("{sink}", str(sink)).replace("{hint}", "")
    if fault == "full":
        disk.fill(left=8 * KB)
    else:
        disk.protect(from_writing=True)
    failed = bench.run(script, checkpoint=str(checkpoint))
    assert is_clean(failed, 1), failed.err
    assert "No space left" in failed.err if fault == "full" else "Read-only" in failed.err, failed.err
    if fault == "full":
        disk.free()
    else:
        disk.protect(from_writing=False)
    again = bench.run(script, checkpoint=str(checkpoint))
    assert again.code == 0, again.err
    assert written(sink) == answer()


@pytest.mark.skipif(not FULL, reason="takes three runs")
def test_an_archive_on_a_full_disk_is_told_and_goes_on_afterwards(bench: Bench, disk: Disk) -> None:
    filled(bench)
    hint = f"/*+ BUDGET(40 ROWS), ARCHIVE('{disk.folder}/archive') */"
    script = SCRIPT.replace("{sink}", "{out}").replace("{hint}", hint)
    disk.fill(left=4 * KB)
    failed = bench.run(script)
    assert is_clean(failed, 1), failed.err
    assert "No space left" in failed.err
    disk.free()
    again = bench.run(script)
    assert again.code == 0, again.err
    given = bench.sink()
    joined = bench.run(script, conf={"penstock.archive": "join"})
    assert joined.code == 0, joined.err
    (late,) = (disk.folder / "archive" / "answers").glob("[0-9]*")
    assert given + bag(map(tuple, (row.values() for row in pq.read_table(late).to_pylist()))) == answer()


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_cache_that_cannot_be_written_is_cold(disk: Disk, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(cache, "cache_root", lambda: disk.folder / "cache")
    warm = WarmCache("run", "cell")
    warm.store(None, "1", Changes({"a": b"x" * 100}, ()))
    assert warm.load("1") is not None
    if fault == "full":
        disk.fill(left=0)
    else:
        disk.protect(from_writing=True)
    warm.store("1", "2", Changes({"b": b"y" * (64 * KB)}, ()))
    assert warm.load("2") is None
    sweep()
    if fault == "full":
        disk.free()
    else:
        disk.protect(from_writing=False)
    warm.refill("3", {"b": b"z"})
    assert warm.load("3") is not None


@pytest.mark.thorough
def test_files_far_older_than_the_newest_are_read(bench: Bench) -> None:
    """A clock that jumped, or a backfill that keeps the times of its files; Spark passes over what is a week older."""
    script = SCRIPT.replace("{sink}", "{out}").replace("{hint}", "")
    filled(bench)
    os.utime(bench.folder / "data" / "s" / "0002.parquet", (1_900_000_000, 1_900_000_000))
    assert bench.run(script).code == 0
    bench.write("s", rows(200, 60), KN)
    os.utime(bench.folder / "data" / "s" / "0004.parquet", (1_000_000_000, 1_000_000_000))
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    s = [row for number in range(3) for row in rows(number * 100, 60)]
    t = [row for number in range(2) for row in rows(1000 + number * 100, 60)]
    assert bench.sink() == expected(s, t)


LOCAL = """
CREATE STREAM s (k BIGINT, local STRING, ts TIMESTAMP AS (CAST(local AS TIMESTAMP)), EVENT TIME ts, ORDERED BY ts)
  USING json OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, ms BIGINT, ts TIMESTAMP AS (timestamp_millis(ms)), EVENT TIME ts, ORDERED BY ts)
  USING json OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, s.local, t.ms FROM s, t
WHERE s.k = t.k AND t.ts - s.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 45 MINUTES;
"""


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[dict[str, str]]:
    yield {"spark.sql.session.timeZone": "Europe/Berlin"}
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_an_hour_that_a_zone_leaves_out_is_none(bench: Bench, berlin: dict[str, str]) -> None:
    """Berlin, 31 March 2024: 01:59 is followed by 03:00. Bands and clocks are of instants, not of clocks on a wall."""
    spring = 1_711_846_800_000  # 01:00 UTC
    bench.write_text(
        "s", "0.json", '{"k": 1, "local": "2024-03-31 01:30:00"}\n{"k": 1, "local": "2024-03-31 01:59:00"}\n'
    )
    bench.write_text("s", "1.json", '{"k": 1, "local": "2024-03-31 03:01:00"}\n')
    times = [spring - 30 * 60_000, spring, spring + 16 * 60_000, spring + 50 * 60_000]
    bench.write_text("t", "0.json", "".join(f'{{"k": 1, "ms": {ms}}}\n' for ms in times[:2]))
    bench.write_text("t", "1.json", "".join(f'{{"k": 1, "ms": {ms}}}\n' for ms in times[2:]))
    ran = bench.run(LOCAL, unbounded=False, conf=berlin)
    assert ran.code == 0, ran.err
    at = {"2024-03-31 01:30:00": -30, "2024-03-31 01:59:00": -1, "2024-03-31 03:01:00": 1}
    due = [
        (1, local, ms)
        for local, minute in at.items()
        for ms in times
        if 0 <= ms - spring - minute * 60_000 <= 2_700_000
    ]
    assert bench.sink() == bag(due)
    assert ran.batches[-1]["exact"]
