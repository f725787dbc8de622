"""Parquet files decoded by the packer: the same rows as Spark's reader gives, or a refusal that says why."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock import compile as way
from penstock.errors import DataError, UsageError
from penstock.spark.local_files import reads_files
from penstock.spark.parquet_files import read_pieces
from penstock.spark.types import arrow_schema
from penstock.spark.who_reads import PARQUET as READER
from tests.spark.conftest import Bench

NOON = dt.datetime(2024, 5, 1, 12)
GIVEN = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-100, None], pa.int8()),
    "int16": pa.array([-30_000, None], pa.int16()),
    "int32": pa.array([-(2**31), None], pa.int32()),
    "int64": pa.array([2**63 - 1, None], pa.int64()),
    "uint16": pa.array([7, None], pa.uint16()),
    "uint32": pa.array([2**32 - 1, None], pa.uint32()),
    "float": pa.array([1.5, None], pa.float32()),
    "double": pa.array([float("nan"), None]),
    "decimal": pa.array([Decimal(1), None], pa.decimal128(10, 0)),
    "string": pa.array(["é", None]),
    "large": pa.array(["x", None], pa.large_string()),
    "dictionary": pa.array(["x", None]).dictionary_encode(),
    "binary": pa.array([b"x", None]),
    "date": pa.array([NOON.date(), None]),
    "naive": pa.array([NOON, None], pa.timestamp("us")),
    "millis": pa.array([NOON, None], pa.timestamp("ms", "UTC")),
    "micros": pa.array([dt.datetime(9999, 12, 31), None], pa.timestamp("us", "UTC")),
    "nanos": pa.array([NOON, None], pa.timestamp("ns", "UTC")),
    "elsewhere": pa.array([NOON, None], pa.timestamp("us", "America/New_York")),
}
DECLARED = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP")


def test_every_type_is_read_as_spark_reads_it_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever is not refused equals what Spark gives; whatever has the declared type is not refused."""
    read = 0
    for name, column in GIVEN.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"c": column}), path)
        for declared in DECLARED:
            schema = arrow_schema(f"c {declared}")
            if (ours := _read_or_refused(f"file:{path}", schema)) is None:
                assert column.type != schema.field(0).type
                continue
            theirs = spark.read.schema(f"c {declared}").parquet(str(path)).toArrow()
            np.testing.assert_equal(ours.column(0).to_pylist(), theirs.column(0).to_pylist(), f"{name} as {declared}")
            read += 1
    assert read == 25


def _read_or_refused(path: str, schema: Any) -> Any:
    try:
        (table,) = read_pieces(path, schema)
    except DataError as refusal:
        if "is declared as" not in refusal.message or READER not in (refusal.hint or ""):
            raise
        return None
    return table


def test_times_that_spark_wrote_itself(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own default for timestamps is INT96."""
    frame = spark.sql(
        "SELECT timestamp'2024-05-01 12:00:00.123456' AS c UNION ALL SELECT timestamp'0900-01-01 00:00:00'"
    )
    for kind in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        frame.coalesce(1).write.parquet(str(tmp_path / kind))
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
        theirs = spark.read.schema("c TIMESTAMP").parquet(str(tmp_path / kind)).toArrow().column(0).to_pylist()
        (path,) = (tmp_path / kind).glob("*.parquet")
        ours = [table.column(0).to_pylist() for table in read_pieces(f"file:{path}", arrow_schema("c TIMESTAMP"))]
        assert [value for piece in ours for value in piece] == theirs


def test_a_time_that_microseconds_cannot_hold_is_no_other_time(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([2**62], pa.timestamp("ms", "UTC"))}), tmp_path / "f.parquet")
    with pytest.raises(DataError, match="column c that"):
        list(read_pieces(f"file:{tmp_path}/f.parquet", pa.schema([("c", pa.timestamp("us", "UTC"))])))


def test_a_column_without_any_value_has_no_type(tmp_path: Path) -> None:
    """As pandas writes a column of None."""
    pq.write_table(pa.table({"c": pa.nulls(2)}), tmp_path / "f.parquet")
    for wanted in (pa.int64(), pa.string(), pa.bool_(), pa.timestamp("us", "UTC")):
        (table,) = read_pieces(f"file:{tmp_path}/f.parquet", pa.schema([("c", wanted)]))
        assert table.column(0).to_pylist() == [None, None]


def test_a_file_without_rows_has_no_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([], pa.binary())}), tmp_path / "f.parquet")
    assert not list(read_pieces(f"file:{tmp_path}/f.parquet", pa.schema([("c", pa.int64())])))


def test_columns_by_name_whatever_the_case_and_none_that_is_not_there(tmp_path: Path) -> None:
    pq.write_table(pa.table({"B": [1, 2], "x": ["a", "b"]}), tmp_path / "f.parquet", row_group_size=1)
    (table,) = read_pieces(f"file:{tmp_path}/f.parquet", pa.schema([("b", pa.int64())]))
    assert table.to_pydict() == {"b": [1, 2]}
    with pytest.raises(DataError, match="has no column a, which is declared"):
        list(read_pieces(f"file:{tmp_path}/f.parquet", pa.schema([("a", pa.string()), ("b", pa.int64())])))
    pq.write_table(pa.table([[1], [2]], names=["b", "B"]), tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="several columns b"):
        list(read_pieces(f"file:{tmp_path}/twice.parquet", pa.schema([("b", pa.int64())])))


SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT, PRIMARY KEY (k)) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, FOLLOWS s (k) ON (k) WITHIN 5 ROWS)
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;
"""
KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])


def _files(bench: Bench, name: str = "a b%20#é.{}.parquet") -> None:
    for part in range(3):
        for stream in ("s", "t"):
            rows = [{"k": k, "n": 100 * part + k} for k in range(part * 10, part * 10 + 10)]
            bench.write(stream, rows, KN, name.format(part))


def test_both_readers_give_the_same(bench: Bench) -> None:
    """Names of files as odd as they may be."""
    _files(bench)
    ours = bench.run(SCRIPT)
    assert ours.code == 0, ours.err
    first = bench.sink()
    theirs = bench.run(SCRIPT.replace("{out}", "{out}/spark"), conf={READER: "spark"}, checkpoint="other")
    assert theirs.code == 0, theirs.err
    assert first == bench.sink("spark")
    assert len(first) == 30
    told = ("rows_in", "rows_out", "state_rows", "purged", "violations")
    after = theirs.batches[-len(ours.batches) :]
    assert [[line[key] for key in told] for line in ours.batches] == [[line[key] for key in told] for line in after]


def test_a_file_that_is_none_is_named(bench: Bench) -> None:
    _files(bench)
    bench.write_text("s", "broken.parquet", "this is no parquet file")
    ran = bench.run(SCRIPT)
    assert ran.code == 1
    assert "broken.parquet" in ran.err
    assert "hint" in ran.err
    assert "Traceback" not in ran.err


def test_a_column_of_another_type_is_named(bench: Bench) -> None:
    bench.write("s", [{"k": "x", "n": 1}], pa.schema([("k", pa.string()), ("n", pa.int64())]))
    bench.write("t", [{"k": 1, "n": 1}], KN)
    ran = bench.run(SCRIPT)
    assert ran.code == 1
    assert "has column k as string, and it is declared as int64" in ran.err


@pytest.mark.thorough
def test_a_column_in_the_names_of_folders_is_left_to_spark(bench: Bench) -> None:
    for k in range(3):
        bench.write("s", [{"n": k}], pa.schema([("n", pa.int64())]), f"k={k}/1.parquet")
        bench.write("t", [{"k": k, "n": k}], KN)
    ran = bench.run(SCRIPT)
    assert ran.code == 0, ran.err
    assert sum(bench.sink().values()) == 3
    for column in ("k", "n"):  # Spark takes the folder's value, whether the file has that column or not.
        bench.write("u", [{"n": 1}], pa.schema([("n", pa.int64())]), f"sub/{column}=1/1.parquet")
        with pytest.raises(DataError, match="name of a folder"):
            list(read_pieces(f"file:{bench.folder}/data/u/sub/{column}=1/1.parquet", KN))


@pytest.mark.parametrize(
    ("stream", "storage", "query", "filtered", "decodes"),
    [
        ("a BIGINT, b STRING", "parquet OPTIONS (path '/x')", "s.b", "", True),
        ("a BIGINT, b STRING", "parquet OPTIONS (path 'file:///x', maxFilesPerTrigger '2')", "s.b", "", True),
        ("a BIGINT, b STRING", "parquet OPTIONS (path 'hdfs://x/y')", "s.b", "", False),
        ("a BIGINT, b STRING", "parquet OPTIONS (path '/x/k=1')", "s.b", "", False),
        ("a BIGINT, b STRING", "parquet OPTIONS (path '/x', mergeSchema 'true')", "s.b", "", False),
        ("a BIGINT, b STRING", "orc OPTIONS (path '/x')", "s.b", "", False),
        ("a BIGINT, b STRING", "parquet OPTIONS (path '/x') WHERE a > 1", "s.b", "", False),
        ("a BIGINT, b DECIMAL(9, 2)", "parquet OPTIONS (path '/x')", "s.b", "", False),
        ("a BIGINT, b DECIMAL(9, 2)", "parquet OPTIONS (path '/x')", "s.a AS b", "", True),
        ("a BIGINT, b STRING AS (upper(a))", "parquet OPTIONS (path '/x')", "s.b", "", False),
        ("a BIGINT, b STRING AS (upper(a))", "parquet OPTIONS (path '/x')", "s.a AS b", "", True),
        ("a BIGINT, b STRING", "parquet OPTIONS (path '/x')", "s.b", " AND s.b LIKE 'x'", False),
        ("a BIGINT, b STRING, PUNCTUATED ON (a) WHEN b = 'x'", "parquet OPTIONS (path '/x')", "s.b", "", False),
    ],
)
def test_when_the_packer_decodes(stream: str, storage: str, query: str, filtered: str, decodes: bool) -> None:
    script = way.parse(
        f"CREATE STREAM s ({stream}) USING {storage}; CREATE STREAM t (a BIGINT); "
        f"SELECT {query} FROM s, t WHERE s.a = t.a{filtered}"
    )
    plan = way.plan(script)
    declared: Any = script.stream("s")
    nothing: dict[str, str] = {}
    assert reads_files(plan, declared, nothing.get) is decodes
    assert reads_files(plan, declared, {READER: "spark"}.get) is False
    with pytest.raises(UsageError, match="penstock or spark"):
        reads_files(plan, declared, {READER: "duck"}.get)
