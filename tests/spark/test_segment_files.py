"""Segments as files of the checkpoint: the same answer over restarts, what is needed no more goes, damage is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli import app
from penstock.errors import UsageError
from penstock.spark.cells import key_of
from penstock.spark.segment_files import SETTING, SegmentFiles, least_bytes, of_cells_gone
from penstock.spark.worker_files import WorkerFolder
from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0)
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 2;
"""
ROWS = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.int64())])
ALL = {SETTING: "1", "spark.sql.streaming.minBatchesToRetain": "3"}
_BATCHES = 8


@pytest.fixture(autouse=True)
def _settings(spark: SparkSession) -> Any:
    yield
    for name in (*ALL, "penstock.cells"):
        spark.conf.unset(name)


def _write(bench: Bench, batches: range) -> None:
    for batch in batches:
        rows = [{"k": k, "n": 100 * batch + k, "ts": batch} for k in range(20)]
        bench.write("s", rows, ROWS)
        bench.write("t", rows, ROWS)


def _due(batches: int) -> dict[tuple[int, int], int]:
    pairs = [(s, t) for s in range(batches) for t in range(s, min(s + 3, batches))]
    return {(100 * s + k, 100 * t + k): 1 for s, t in pairs for k in range(20)}


def _files(bench: Bench, query: str = "out") -> list[Path]:
    return sorted((bench.folder / "checkpoint" / query / "segments").glob("*.arrow"))


def test_state_goes_on_from_its_files_and_old_ones_go(bench: Bench, spark: SparkSession) -> None:
    """A run in three pieces, with the files kept for three batches; then without files, from what has them."""
    sizes = []
    for piece in range(3):
        _write(bench, range(_BATCHES * piece, _BATCHES * (piece + 1)))
        assert bench.run(SCRIPT, conf=ALL).code == 0
        sizes.append(len(_files(bench)))
    assert 0 < sizes[2] <= sizes[0] * 1.5, sizes
    assert bench.sink() == _due(3 * _BATCHES)
    for name in ALL:
        spark.conf.unset(name)
    _write(bench, range(3 * _BATCHES, 4 * _BATCHES))
    assert bench.run(SCRIPT).code == 0
    assert bench.sink() == _due(4 * _BATCHES)


@pytest.mark.thorough
def test_what_reads_a_checkpoint_reads_its_files(bench: Bench) -> None:
    """`state` shows the rows that lie in files, and `rescale` deals them."""
    _write(bench, range(4))
    assert bench.run(SCRIPT, conf=ALL).code == 0
    assert _files(bench)
    checkpoint = str(bench.folder / "checkpoint")
    shown = CliRunner().invoke(app, ["state", checkpoint])
    assert (shown.exit_code, "n = 3" in shown.stdout) == (0, True), shown.stdout
    dealt = CliRunner().invoke(app, ["rescale", checkpoint, "--cells", "3"])
    assert dealt.exit_code == 0, dealt.stderr
    _write(bench, range(4, 6))
    ran = bench.run(SCRIPT, conf=ALL)
    assert ran.code == 0, ran.err
    assert bench.sink() == _due(6)


@pytest.mark.parametrize("damage", ["changed", *(pytest.param(d, marks=pytest.mark.thorough) for d in ("gone", "cut"))])
def test_a_file_that_is_damaged_is_told(bench: Bench, damage: str) -> None:
    _write(bench, range(3))
    assert bench.run(SCRIPT, conf=ALL).code == 0
    for file in _files(bench):
        data = file.read_bytes()
        match damage:
            case "gone":
                file.unlink()
            case "cut":
                file.write_bytes(data[:-1])
            case _:
                file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    _write(bench, range(3, 4))
    ran = bench.run(SCRIPT, conf=ALL)
    assert (ran.code, "the checkpoint lacks a part of its state" in ran.err) == (1, True), ran.err
    assert bench.sink() == _due(3)


def test_attempts_that_came_to_nothing_are_swept(tmp_path: Path) -> None:
    """Not what a commit names, nor what Spark may still go back to, nor another cell's."""
    files = SegmentFiles(WorkerFolder(str(tmp_path)), kept=3, least=1)
    named = files.write("cell-1", 2, b"named")
    for owner, batch in (("cell-1", 2), ("cell-1", 8), ("cell-11", 2)):
        files.write(owner, batch, b"left")
    files.sweep("cell-1", 10, [named.name])
    assert sorted(path.name.rpartition("-")[0] for path in tmp_path.iterdir()) == [
        "cell-1-000000002",
        "cell-1-000000008",
        "cell-11-000000002",
    ]
    assert bytes(files.read(named)) == b"named"


def test_files_of_cells_that_are_no_more_are_known_by_their_names(tmp_path: Path) -> None:
    files = SegmentFiles(WorkerFolder(str(tmp_path)), 3)
    keys = [key_of(n) for n in range(3)]
    names = {
        (owner, key): files.write(f"{owner}-{key}", 4, b"x").name for owner in ("cell", "1.second") for key in keys
    }
    gone = of_cells_gone([*names.values(), "another.arrow"], keys[:2])
    assert sorted(gone) == sorted(name for (_, key), name in names.items() if key == keys[2])


@pytest.mark.thorough
def test_files_of_cells_that_a_rescaled_query_has_no_more_are_swept(bench: Bench) -> None:
    _write(bench, range(_BATCHES))
    assert bench.run(SCRIPT, conf={**ALL, "penstock.cells": "4"}).code == 0
    every = {str(key_of(n)) for n in range(4)}

    def owners() -> set[str]:
        return {path.name.removeprefix("cell-").rsplit("-", 2)[0] for path in _files(bench)}

    assert owners() == every
    done = CliRunner().invoke(app, ["rescale", str(bench.folder / "checkpoint"), "--cells", "2"])
    assert done.exit_code == 0, done.stderr
    for piece in range(1, 3):
        _write(bench, range(_BATCHES * piece, _BATCHES * (piece + 1)))
        assert bench.run(SCRIPT, conf={**ALL, "penstock.cells": "2"}).code == 0
    assert owners() == {str(key_of(n)) for n in range(2)}
    assert bench.sink() == _due(3 * _BATCHES)


def test_the_setting_is_a_number() -> None:
    assert least_bytes("7") == 7
    with pytest.raises(UsageError, match=r"penstock\.segments is a number of bytes"):
        least_bytes("many")
