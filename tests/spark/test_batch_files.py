"""Files that vanish between the moment Spark lists them and the moment it reads them; first files that come late."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.spark.batch_files import BatchFiles
from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM s (k BIGINT) USING {format} OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k FROM s;
"""
K = pa.schema([("k", pa.int64())])


@pytest.mark.parametrize("kind", ["parquet", pytest.param("json", marks=pytest.mark.thorough)])
def test_a_file_that_was_listed_and_is_gone_when_its_batch_begins_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for number in range(5):
        if kind == "parquet":
            bench.write("s", [{"k": number}], K, name=f"{number}.parquet")
        else:
            bench.write_text("s", f"{number}.json", f'{{"k": {number}}}\n')
    victim = bench.folder / "data" / "s" / f"4.{kind}"
    asked = BatchFiles.gone_of

    def asked_and_removed(files: BatchFiles, batch: int) -> list[Path]:
        victim.unlink(missing_ok=True)
        return asked(files, batch)

    monkeypatch.setattr(BatchFiles, "gone_of", asked_and_removed)
    ran = bench.run(SCRIPT.replace("{format}", kind), strict=True)
    assert sum(bench.sink().values()) == 4
    assert ran.code == 5, ran.err
    assert f"out: INEXACT: 1 file gone or empty before the batch was done that was to read them ({victim})" in ran.err
    again = bench.run(SCRIPT.replace("{format}", kind))
    assert "INEXACT" in again.err


def test_a_file_without_bytes_is_told(bench: Bench) -> None:
    """Somebody is still writing it, or lost it: Spark passes over it, and never comes back."""
    bench.write("s", [{"k": 1}], K, name="0.parquet")
    victim = bench.write("s", [{"k": 2}], K, name="1.parquet")
    os.truncate(victim, 0)
    ran = bench.run(SCRIPT.replace("{format}", "parquet"), strict=True)
    assert sum(bench.sink().values()) == 1
    assert ran.code == 5, ran.err
    assert f"out: INEXACT: 1 file gone or empty before the batch was done that was to read them ({victim})" in ran.err


@pytest.mark.thorough
def test_a_column_that_the_first_rows_of_json_lack_where_no_file_was_there_at_the_start(outside: Bench) -> None:
    outside.place("s", "0.json")
    process = outside.start(SCRIPT.replace("{format}", "json"), now=False)

    def write() -> None:
        while process.poll() is None and not list((outside.folder / "checkpoint").rglob("metadata")):
            time.sleep(0.2)
        time.sleep(1)
        outside.write_text("s", "0.json", '{"key": 1}\n')

    writer = threading.Thread(target=write)
    writer.start()
    ran = outside.finish(process, timeout=120)
    writer.join()
    assert ran.code == 1
    assert "stream s declares column k, which is not in any row of the first batch" in ran.err
