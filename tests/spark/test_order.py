"""The order of arrival is restored: (file modification time, path, row), whatever order Spark reads files in.

`[ROWS n]` makes the order visible. Files are written so that neither their names nor the order in which they are
written gives the order of their times.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.spark.file_order import listed_files, pattern_of, unheld
from penstock.spark.local_files import file_names
from penstock.spark.pack import heads_of
from penstock.spark.sources import read_stream, tells
from penstock.sql import parse_script
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, same

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT) USING {format} OPTIONS (path '{data}/s'{options});
CREATE STREAM t (k BIGINT, n BIGINT) USING {format} OPTIONS (path '{data}/t'{options});
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s [ROWS 7], t [ROWS 4] WHERE s.k = t.k;
"""
Rows = list[dict[str, Any]]


def last_rows(batches: list[tuple[Rows, Rows]], windows: tuple[int, int]) -> Bag:
    """One row after the other: it meets what is among the last n of the other stream, itself included in its own."""
    seen: tuple[Rows, Rows] = ([], [])
    found: Bag = Counter()
    for batch in batches:
        for own in (0, 1):
            for row in batch[own]:
                seen[own].append(row)
                for partner in seen[1 - own][-windows[1 - own] :]:
                    if same(row["k"], partner["k"]):
                        pair = (row, partner) if own == 0 else (partner, row)
                        found[pair[0]["n"], pair[1]["n"]] += 1
    return found


def write_files(bench: Bench, text: bool) -> dict[str, list[Rows]]:
    """Six files a stream, in order of their times; some have the same time and differ in their path."""
    names = ["e", "b", "f", "a", "c", "d"]
    times = [10, 20, 30, 40, 50, 50]
    data: dict[str, list[Rows]] = {}
    for offset, stream in enumerate("st"):
        files: list[Rows] = []
        for number in range(6):
            files.append([{"k": (row * 7 + number + offset) % 3, "n": number * 100 + row} for row in range(5 + number)])
        data[stream] = files
        for number in (3, 0, 5, 1, 4, 2):
            name = names[number]
            if text:
                path = bench.write_text(
                    stream, f"{name}.csv", "".join(f"{row['k']},{row['n']}\n" for row in files[number])
                )
            else:
                path = bench.write(stream, files[number], KN, f"{name}.parquet")
            os.utime(path, (1_700_000_000 + times[number], 1_700_000_000 + times[number]))
    return data


@pytest.mark.parametrize(("format_name", "cells"), [("parquet", "2"), ("csv", "3")])
def test_rows_windows_follow_file_time_path_and_row(bench: Bench, format_name: str, cells: str) -> None:
    data = write_files(bench, text=format_name == "csv")
    script = SCRIPT.replace("{format}", format_name).replace("{options}", "")
    ran = bench.run(script, unbounded=False, conf={"penstock.cells": cells})
    assert ran.code == 0, ran.err
    everything = ([r for f in data["s"] for r in f], [r for f in data["t"] for r in f])
    assert bench.sink() == last_rows([everything], (7, 4))
    assert ran.batches[-1]["state_tuples"] == {"s": 7, "t": 4}


def test_rows_windows_with_two_files_a_trigger(bench: Bench) -> None:
    data = write_files(bench, text=False)
    script = SCRIPT.replace("{format}", "parquet").replace("{options}", ", maxFilesPerTrigger '2'")
    ran = bench.run(script, unbounded=False)
    assert ran.code == 0, ran.err
    batches = [
        ([r for f in data["s"][start : start + 2] for r in f], [r for f in data["t"][start : start + 2] for r in f])
        for start in (0, 2, 4)
    ]
    assert bench.sink() == last_rows(batches, (7, 4))
    assert [line["rows_in"] for line in ran.batches] == [{"s": len(s), "t": len(t)} for s, t in batches]


def test_files_of_one_time_come_by_path_from_batch_to_batch(bench: Bench) -> None:
    """Unpacked or copied at once, files have one time; a disk lists them in no order. Folders within are left out."""
    data: dict[str, list[Rows]] = {"s": [], "t": []}
    for number in range(12):
        for files in data.values():
            files.append([{"k": (row * 5 + number) % 3, "n": number * 100 + row} for row in range(4)])
    for number in (7, 2, 11, 0, 5, 9, 3, 10, 1, 8, 6, 4):
        bench.write("s", data["s"][number], KN, f"part {number:02d}.parquet")
        rows = "".join(f"{row['k']},{row['n']}\n" for row in data["t"][number])
        bench.write_text("t", f"{number:02d}%20.csv", rows)
    for stream in data:
        for path in (bench.folder / "data" / stream).iterdir():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    script = SCRIPT.replace("{options}", ", maxFilesPerTrigger '4'").replace("{format}", "parquet", 1)
    ran = bench.run(script.replace("{format}", "csv"), unbounded=False)
    assert ran.code == 0, ran.err
    assert "disk lists" not in ran.err
    s, t = ([[r for f in files[start : start + 4] for r in f] for start in (0, 4, 8)] for files in data.values())
    assert bench.sink() == last_rows(list(zip(s, t, strict=True)), (7, 4))


def test_folders_that_come_later_are_left_out_as_of_a_plain_folder(bench: Bench, spark: SparkSession) -> None:
    bench.write("s", [{"k": 1, "n": 2}], KN)
    script = parse_script(
        bench.text(SCRIPT.replace("{options}", ", maxFilesPerTrigger '1'").replace("{format}", "parquet"))
    )
    stream = script.streams[0]
    assert pattern_of(stream) is not None
    frames = [read_stream(spark, stream, in_order=True).select("n"), file_names(spark, stream, True).select("path")]
    bench.write("s/later", [{"k": 1, "n": 3}], KN)
    assert pattern_of(stream) is None
    for number, frame in enumerate(frames):
        written = frame.writeStream.format("memory").queryName(f"seen_{number}").trigger(availableNow=True).start()
        written.awaitTermination()
        (row,) = spark.table(f"seen_{number}").collect()
        assert row[0] == 2 or row[0].endswith("/s/0000.parquet")


@pytest.mark.parametrize(
    ("path", "options", "is_told"),
    [
        ("{folder}/flat", "", False),
        ("{folder}/flat", ", maxFilesPerTrigger '1'", False),
        ("{folder}/flat/*.json", ", maxFilesPerTrigger '1'", False),
        ("s3a://bucket/deep", ", maxFilesPerTrigger '1'", False),
        ("{folder}/deep", ", maxFilesPerTrigger '1'", True),
        ("{folder}/deep", "", False),
        ("{folder}/*/*", ", maxBytesPerTrigger '1'", True),
        ("{folder}/flat", ", maxFilesPerTrigger '1', recursiveFileLookup 'true'", True),
    ],
)
def test_where_the_order_of_files_cannot_be_held_it_is_told(
    tmp_path: Path, path: str, options: str, is_told: bool
) -> None:
    for folder in ("flat", "deep/day=1"):
        (tmp_path / folder).mkdir(parents=True)
    text = f"CREATE STREAM s (k BIGINT) USING json OPTIONS (path '{path}'{options})".replace("{folder}", str(tmp_path))
    why = unheld(parse_script(text).streams[0])
    assert (why is not None) == is_told
    if why is not None:
        assert "files of s that have the same modification time" in why


def test_rows_windows_over_files_read_in_several_blocks(bench: Bench) -> None:
    """Only the first block of a file begins with its row 0; the others must be put in order all the same."""
    data: dict[str, list[Rows]] = {"s": [], "t": []}
    for number in range(2):
        for stream, files in data.items():
            rows = [{"k": (row * 5 + number) % 3, "n": number * 100_000 + row} for row in range(400)]
            files.append(rows)
            path = bench.write(stream, rows, KN, f"{'ba'[number]}.parquet")
            when = path.stat().st_mtime
            pq.write_table(pq.read_table(path), path, row_group_size=50)
            os.utime(path, (when, when))
    script = SCRIPT.replace("{format}", "parquet").replace("{options}", "")
    conf = {"spark.sql.files.maxPartitionBytes": "3000", "spark.sql.files.openCostInBytes": "0"}
    ran = bench.run(script, unbounded=False, conf=conf)
    assert ran.code == 0, ran.err
    everything = ([r for f in data["s"] for r in f], [r for f in data["t"] for r in f])
    assert bench.sink() == last_rows([everything], (7, 4))


def test_rows_windows_where_the_head_of_a_file_is_no_row_of_the_stream(bench: Bench) -> None:
    data = write_files(bench, text=False)
    script = (
        SCRIPT.replace("{format}", "parquet")
        .replace("{options}", "")
        .replace(");\nCREATE SINK", ")\n  WHERE n % 100 > 1;\nCREATE SINK")
    )
    ran = bench.run(script, unbounded=False)
    assert ran.code == 0, ran.err
    everything = (
        [r for f in data["s"] for r in f],
        [r for f in data["t"] for r in f if r["n"] % 100 > 1],
    )
    assert bench.sink() == last_rows([everything], (7, 4))


@pytest.mark.parametrize(
    ("places", "heads"),
    [
        (["1/0/a", "1/0/a", "1/0/b", "1/9/b", "1/9/b"], [0, 2, 3]),
        (["1/0/a", None, None, "1/0/b", None], [0, 3]),
        (["1/0/a", "1/0/b", None], [0, 1]),
        ([None, None, "1/0/a", None], [0, 2]),
        ([None], [0]),
        (["1/9/b", "1/9/b", "1/0/a", None], [0, 2]),
    ],
)
def test_a_piece_begins_where_another_place_is_told(places: list[str | None], heads: list[int]) -> None:
    assert heads_of(pa.array(places, pa.string())).tolist() == heads


def test_the_files_of_a_flat_folder_are_listed_as_spark_lists_them(tmp_path: Path, spark: SparkSession) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    for place, name in enumerate(("b.parquet", "a b.parquet", "_log", ".hidden", "c%20d.parquet", "e._COPYING_")):
        pq.write_table(pa.table({"k": [place]}), folder / name)
        os.utime(folder / name, (1_700_000_000 + place // 2, 1_700_000_000 + place // 2))
    script = "CREATE STREAM s (k BIGINT) USING parquet OPTIONS (path '{}'{}); SELECT s.k FROM s;"

    def listed(more: str = "") -> list[str] | None:
        return listed_files(parse_script(script.format(folder, more)).streams[0])

    rows = spark.read.format("binaryFile").load(str(folder)).select("path", "modificationTime").collect()
    assert listed() == [row["path"] for row in sorted(rows, key=lambda row: (row["modificationTime"], row["path"]))]
    assert listed(", pathGlobFilter 'a*'") is None
    (folder / "k=1").mkdir()
    assert listed() is None


def test_where_a_row_is_from_is_told_by_its_own_stream_alone(tmp_path: Path, spark: SparkSession) -> None:
    """A table that a stream is joined with has files, too: they say nothing of the order of the stream."""
    for name in ("s", "t"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"k": [1, 2]}), tmp_path / name / "0.parquet")
    files, table = (
        spark.readStream.schema("k BIGINT").parquet(str(tmp_path / "s")),
        spark.read.parquet(str(tmp_path / "t")),
    )
    rate = spark.readStream.format("rate").load().selectExpr("value AS k")
    told = {"files": files.where("k > 0"), "table": table, "beside a table": files.join(table, "k", "left")}
    told |= {"of no file": rate, "of no file, beside a table": rate.join(table, "k")}
    assert [name for name, frame in told.items() if tells(frame, "file_path")] == ["files", "table"]
