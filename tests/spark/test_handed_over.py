"""Large tables by files: the same rows, removed when their batch is over, with the rows where no file can be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.runtime.state.store import from_ipc, to_ipc
from penstock.spark import handed_over
from penstock.spark.cache import cache_root, forget, new_run
from penstock.spark.handed_over import HandedOver, handed
from tests.spark.conftest import Bench

LARGE = pa.table({"n": range(100_000), "text": [f"row {n}" for n in range(100_000)]})
SMALL = LARGE.slice(0, 10)


@pytest.fixture
def files() -> Iterator[HandedOver]:
    made = HandedOver(str(cache_root()), new_run())
    yield made
    forget(made.run)


def at_batch(monkeypatch: pytest.MonkeyPatch, number: int, query: str = "q") -> None:
    told = {handed_over.BATCH: str(number), handed_over._QUERY: query}
    context = SimpleNamespace(get=lambda: SimpleNamespace(getLocalProperty=told.get))
    monkeypatch.setattr(handed_over, "TaskContext", context)


def there(files: HandedOver) -> list[Path]:
    return sorted(path for path in (cache_root() / files.run).rglob("*") if path.is_file())


def test_what_is_handed_over_is_what_was_given(files: HandedOver) -> None:
    values: list[Any] = [LARGE, SMALL, LARGE.slice(7, 50_000), pa.table({}), None, b"", b"bytes"]
    column = files.column(values)
    assert column.nbytes < LARGE.nbytes / 100
    payloads = [column[n].as_buffer() for n in range(4)]
    assert [from_ipc(handed(payload)) for payload in payloads] == values[:4]
    # Spark hands payloads over as bytes, too.
    assert [from_ipc(handed(payload.to_pybytes())) for payload in payloads] == values[:4]
    assert column[4:].to_pylist() == [None, b"", b"bytes"]
    assert handed(b"") == b""
    assert len(there(files)) == 1
    assert from_ipc(handed(files.payload(LARGE))) == LARGE
    assert files.payload(SMALL) == to_ipc(SMALL)


def test_they_go_when_a_later_batch_of_their_query_begins(files: HandedOver, monkeypatch: pytest.MonkeyPatch) -> None:
    at_batch(monkeypatch, 9)
    first = files.payload(LARGE)
    rows = from_ipc(handed(first))
    at_batch(monkeypatch, 3, "another")
    other = files.payload(LARGE)
    at_batch(monkeypatch, 9)
    again = files.payload(LARGE)
    assert len(there(files)) == 3, "a task of the same batch may be done again"
    at_batch(monkeypatch, 10)
    files.column([SMALL])
    assert len(there(files)) == 1, "a batch of few rows removes them too"
    for gone in (first, again):
        with pytest.raises(FileNotFoundError):
            handed(gone)
    assert rows == LARGE, "who has mapped a file keeps it"
    assert from_ipc(handed(other)) == LARGE


@pytest.mark.parametrize("failing", ["posix_fallocate", "open"])
def test_without_room_the_bytes_go_with_the_rows(
    files: HandedOver, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    assert files.payload(LARGE) == to_ipc(LARGE)
    assert from_ipc(files.column([LARGE])[0].as_buffer()) == LARGE
    monkeypatch.undo()
    assert there(files) == []


SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT) USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, t.n FROM s, t WHERE s.k = t.k;
"""
KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_run_hands_over_by_files_and_leaves_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """Where nobody forgets them, those of the last batch are there, and of it alone."""
    made: list[str] = []
    new, own = handed_over.HandedOver, bench.folder / "caches"

    def noted(root: str, run: str) -> HandedOver:
        made.append(run)
        return new(str(own) if elsewhere else root, run)

    monkeypatch.setattr("penstock.spark.stream.HandedOver", noted)
    for number in range(3):
        for stream in "st":
            bench.write(stream, [{"k": k, "n": number} for k in range(80_000)], KN)
    ran = bench.run(SCRIPT)
    assert ran.code == 0, ran.err
    assert sum(bench.sink().values()) == 9 * 80_000
    assert made
    assert not any((cache_root() / run).exists() for run in made)
    assert {path.name.partition("-")[0] for path in own.rglob("*-*") if path.is_file()} == (
        {f"{2:012d}"} if elsewhere else set()
    )


def test_frames_hand_nothing_over_by_files(bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two queries of one frame the first that ends would take the files of the other with it."""
    monkeypatch.setattr("penstock.spark.stream.HandedOver", lambda *_: pytest.fail("made for a frame"))
    for stream in "st":
        bench.write(stream, [{"k": k, "n": 1} for k in range(40_000)], KN)
    frame = penstock.stream(spark, penstock.parse(bench.text(SCRIPT)), allow_unbounded=True)
    writer = frame.writeStream.format("parquet").option("path", str(bench.folder / "out" / "one"))
    query = writer.option("checkpointLocation", str(bench.folder / "kept")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert sum(bench.sink("one").values()) == 40_000
