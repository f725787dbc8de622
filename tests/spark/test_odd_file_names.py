"""Files and folders of any name are read in order, those of folders within left out, however Spark writes a path."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.failures import failure_of
from penstock.spark.file_order import pattern_of
from penstock.spark.local_files import file_names
from penstock.spark.sources import read_stream
from penstock.sql import parse_script
from tests.spark.conftest import Bench
from tests.spark.test_order import KN, SCRIPT, Rows, last_rows

NAMES = ["a b", "100%", "ä", "x=1#2", "a%20b", "q+&", "(1)", "c;d,e", "%2F", "\u00a0n", "日本 \U0001f600", "it's"]
FOLDERS = ["s", "t", "a b", "ü b%20#1", "day=1 (x)", "日本%"]
KINDS = [("parquet", "penstock"), ("parquet", "spark"), ("json", "penstock")]


def put(bench: Bench, kind: str, folder: str, name: str, rows: Rows) -> None:
    """A file of that format."""
    if kind == "json":
        bench.write_text(folder, f"{name}.json", "".join(json.dumps(row) + "\n" for row in rows))
    else:
        bench.write(folder, rows, KN, f"{name}.parquet")


@pytest.mark.parametrize(("kind", "reader"), KINDS)
@pytest.mark.parametrize(
    "folders", [FOLDERS[2:4], pytest.param(FOLDERS[4:], marks=pytest.mark.thorough)], ids=["blanks", "signs"]
)
def test_files_of_any_name_are_read_in_order(bench: Bench, kind: str, reader: str, folders: list[str]) -> None:
    data: list[list[Rows]] = [[], []]
    for number, name in enumerate(NAMES):
        for folder, files in zip(folders, data, strict=True):
            files.append([{"k": (row * 5 + number) % 3, "n": number * 100 + row} for row in range(4)])
            put(bench, kind, folder, name, files[-1])
    script = SCRIPT.replace("{options}", ", maxFilesPerTrigger '5'").replace("{format}", kind)
    for plain, folder in zip("st", folders, strict=True):
        script = script.replace(f"{{data}}/{plain}'", f"{{data}}/{folder}'")
    ran = bench.run(script, unbounded=False, conf={"penstock.parquet": reader})
    assert ran.code == 0, ran.err
    assert "disk lists" not in ran.err
    batches = [tuple([r for f in files[first : first + 5] for r in f] for files in data) for first in (0, 5, 10)]
    assert bench.sink() == last_rows(batches, (7, 4))  # type: ignore[arg-type]


ALIKE = ["a^1", "a1", "a 1", "a!1", "a#1", "a-1", "a_1", "aB", "a%1", "a(1", "a~1", "a<1>"]


@pytest.mark.parametrize(("kind", "reader"), KINDS)
def test_files_of_one_time_come_in_one_order_whoever_reads_them(bench: Bench, kind: str, reader: str) -> None:
    """By their URLs, from batch to batch and within one."""
    data: dict[str, list[Rows]] = {"s": [], "t": []}
    for number, name in enumerate(sorted(ALIKE, key=lambda name: quote(name, safe="!()"))):
        for folder, files in data.items():
            files.append([{"k": (row * 5 + number) % 3, "n": number * 100 + row} for row in range(4)])
            put(bench, kind, folder, name, files[-1])
    for folder in data:
        for path in (bench.folder / "data" / folder).iterdir():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    script = SCRIPT.replace("{options}", ", maxFilesPerTrigger '5'").replace("{format}", kind)
    ran = bench.run(script, unbounded=False, conf={"penstock.parquet": reader})
    assert ran.code == 0, ran.err
    batches = [tuple([r for f in files[n : n + 5] for r in f] for files in data.values()) for n in (0, 5, 10)]
    assert bench.sink() == last_rows(batches, (7, 4))  # type: ignore[arg-type]


def frames(bench: Bench, spark: SparkSession, kind: str, folder: str) -> list[DataFrame]:
    """A stream of a flat folder, as its rows and as its files, each with what there is to tell them by."""
    put(bench, kind, folder, "a b%", [{"k": 1, "n": 2}])
    text = SCRIPT.replace("{options}", ", maxFilesPerTrigger '1'").replace("{format}", kind)
    stream = parse_script(bench.text(text.replace("{data}/s'", f"{{data}}/{folder}'"))).streams[0]
    assert pattern_of(stream) is not None
    rows = read_stream(spark, stream, in_order=True).selectExpr("CAST(n AS STRING) AS it")
    return [rows, file_names(spark, stream, True).selectExpr("path AS it")][: 2 if kind == "parquet" else 1]


def read(bench: Bench, frame: DataFrame, place: str) -> list[Any]:
    """What it gives by now, beside what it gave."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(bench.folder / f"{place} ck"))
    query = writer.trigger(availableNow=True).start(str(bench.folder / place))
    query.awaitTermination()
    return [row[0] for row in frame.sparkSession.read.schema("it STRING").parquet(str(bench.folder / place)).collect()]


@pytest.mark.parametrize("folder", [*FOLDERS[2:4], *(pytest.param(f, marks=pytest.mark.thorough) for f in FOLDERS[4:])])
@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_what_lies_deeper_is_left_out_whatever_the_folder_is_called(
    bench: Bench, spark: SparkSession, kind: str, folder: str
) -> None:
    given = frames(bench, spark, kind, folder)
    for deeper in ("l", "later ö", "100%"):
        put(bench, kind, f"{folder}/{deeper}", "a b", [{"k": 1, "n": 3}])
    for number, frame in enumerate(given):
        (it,) = read(bench, frame, str(number))
        assert it == "2" or it.endswith(f"/{folder}/a b%.parquet")


@pytest.mark.parametrize("kind", ["parquet", pytest.param("json", marks=pytest.mark.thorough)])
def test_a_part_that_comes_later_is_not_lost(bench: Bench, spark: SparkSession, kind: str) -> None:
    """Spark would read it, from a plain folder: the query ends, and goes on with it."""
    given = frames(bench, spark, kind, "a b")
    put(bench, kind, "a b/day=1", "more", [{"k": 1, "n": 3}])
    for number, frame in enumerate(given):
        with pytest.raises(StreamingQueryException) as failed:
            read(bench, frame, str(number))
        told = failure_of("out", failed.value)
        assert str(told.message).startswith("stream s: file:")
        assert f"a%20b/day=1/more.{kind} lies in a folder that is a part of the data" in str(told.message)
        assert told.hint == "the same command goes on from there, and reads them"
    text = SCRIPT.replace("{options}", ", maxFilesPerTrigger '1'").replace("{format}", kind)
    stream = parse_script(bench.text(text.replace("{data}/s'", "{data}/a b'"))).streams[0]
    assert pattern_of(stream) is None
    again = read_stream(spark, stream, in_order=True).selectExpr("CAST(n AS STRING) AS it")
    assert sorted(read(bench, again, "0")) == ["2", "3"]


TABLE = """
CREATE STREAM s (k BIGINT) USING json OPTIONS (path '{data}/s');
CREATE TABLE d (k BIGINT, fee BIGINT) USING {format} OPTIONS (path '{data}/d');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, d.fee FROM s JOIN d ON s.k = d.k;
"""


@pytest.mark.parametrize("name", ["a%20b", pytest.param("q#1", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("broken", ["s", "d"])
def test_lines_of_such_files_are_searched(bench: Bench, broken: str, name: str) -> None:
    """Of a name with `%20` another one was looked for, and what was not there was passed over."""
    behind = {broken: '{"k": 9, "fee": 9}'}
    bench.write_text("s", f"{name}.json", '{"k": 1}' + behind.get("s", "") + "\n")
    bench.write_text("d", f"{name}.json", '{"k": 1, "fee": 5}' + behind.get("d", "") + "\n")
    ran = bench.run(TABLE.replace("{format}", "json"))
    assert ran.code in (1, 2)
    assert "line 1: something stands behind the first value of JSON" in ran.err


def test_columns_of_such_files_are_asked(bench: Bench) -> None:
    bench.write_text("s", "0.json", '{"k": 1}\n')
    both = pa.schema([("k", pa.int64()), ("fee", pa.int64())])
    for number in range(8):
        bench.write("d", [{"k": number, "fee": 5}], both, f"{number}.parquet")
    bench.write("d", [{"k": 9}], both.remove(1), "a%20b#1.parquet")
    ran = bench.run(TABLE.replace("{format}", "parquet"))
    assert ran.code in (1, 2)
    assert "a%2520b%231.parquet has no column fee, which is declared" in ran.err


ONE = """
CREATE STREAM s (k BIGINT, n BIGINT) USING {format} OPTIONS (path '{data}/{folder}'{options});
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT n FROM s;
"""
PATTERNS = ["x[1]", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("x?", "{x}", "x*"))]


@pytest.mark.parametrize(("kind", "reader"), KINDS)
@pytest.mark.parametrize("odd", PATTERNS)
@pytest.mark.parametrize("where", ["file", pytest.param("folder", marks=pytest.mark.thorough)])
def test_a_path_that_could_be_a_pattern_is_not_read_several_times(
    bench: Bench, kind: str, reader: str, odd: str, where: str
) -> None:
    """Spark does, where a batch has several files: it gives all of them for each such path."""
    folder, names = (odd, ["a", "b"]) if where == "folder" else ("s", [odd, "b"])
    for number, name in enumerate(names):
        put(bench, kind, folder, name, [{"k": 1, "n": number}])
    script = ONE.replace("{format}", kind).replace("{folder}", folder)
    ran = bench.run(script.replace("{options}", ""), conf={"penstock.parquet": reader})
    assert ran.code == 1
    assert "in its path, and Spark would give the rows of its batch several times" in ran.err
    assert "error: stream s: file:" in ran.err
    assert not list(bench.folder.glob("out/*.parquet"))
    again = bench.run(script.replace("{options}", ", maxFilesPerTrigger '1'"), conf={"penstock.parquet": reader})
    assert again.code == 1
    assert "must do batch 0 again, and Spark would give its rows several times" in again.err, "it keeps its files"
    alone = script.replace("{options}", ", maxFilesPerTrigger '1'").replace("{out}", "{out}/alone")
    one = bench.run(alone, checkpoint="another")
    assert one.code == 0, one.err
    assert bench.sink("alone") == {(0,): 1, (1,): 1}
