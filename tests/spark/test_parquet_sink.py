"""Answers written by the workers: the files, types and log that Spark's own writer would have left, each batch once."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.spark.parquet_sink import _SinkLog, repeating
from penstock.spark.who_reads import PARQUET as READER
from tests.spark.conftest import Bench

TYPES: dict[str, tuple[str, Any, list[Any]]] = {
    "a": ("BOOLEAN", pa.bool_(), [True, False, None]),
    "b": ("TINYINT", pa.int8(), [-128, 127, None]),
    "c": ("SMALLINT", pa.int16(), [-(2**15), 2**15 - 1, None]),
    "d": ("INT", pa.int32(), [-(2**31), 2**31 - 1, None]),
    "e": ("BIGINT", pa.int64(), [-(2**63), 2**63 - 1, None]),
    "f": ("FLOAT", pa.float32(), [-0.5, 1.5, None]),
    "g": ("DOUBLE", pa.float64(), [-1e300, 1e-300, None]),
    "h": ("STRING", pa.string(), ["", "é\x00'\n", None]),
    "i": ("DATE", pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "j": (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [dt.datetime(1582, 1, 1, 0, 0, 0, 1, dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC), None],
    ),
}
SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}');\n"
STREAM = "CREATE STREAM {name} ({columns}) USING parquet OPTIONS (path '{data}/{name}', maxFilesPerTrigger '1');\n"
COLUMNS = ", ".join(f"{name} {kind}" for name, (kind, *_) in TYPES.items())
PAIRS = (
    STREAM.replace("{name}", "s").replace("{columns}", "k BIGINT, n BIGINT, PRIMARY KEY (k)")
    + STREAM.replace("{name}", "t").replace("{columns}", "k BIGINT, n BIGINT, FOLLOWS s (k) ON (k) WITHIN 5 ROWS")
    + SINK
    + "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;"
)
KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])


def _entered(folder: Path) -> list[str]:
    """The names of the files that the log of a sink lists."""
    logs = sorted((folder / "_spark_metadata").iterdir())
    lines = [line for log in logs if not log.name.startswith(".") for line in log.read_text().splitlines()[1:]]
    return sorted({Path(json.loads(line)["path"]).name for line in lines})


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet"))


def _is_ours(folder: Path) -> bool:
    """Whether all files with rows were written by Arrow and not by Spark."""
    found = [pq.ParquetFile(path).metadata for path in folder.glob("*.parquet")]
    return bool(found) and all("arrow" in one.created_by for one in found)


def _pieces(bench: Bench, batches: range) -> Counter[tuple[int, int]]:
    due: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        rows = [{"k": 100 * batch + k, "n": 100 * batch + k} for k in range(20)]
        bench.write("s", rows, KN)
        bench.write("t", [{**row, "n": -row["n"]} for row in rows], KN)
        due.update((row["n"], -row["n"]) for row in rows)
    return due


def _rows(bench: Bench, spark: SparkSession) -> Counter[Any]:
    """What Spark reads of the sink, which goes by its log."""
    return Counter(tuple(row) for row in spark.read.parquet(str(bench.folder / "out")).collect())


def test_all_plain_types_as_spark_writes_them(bench: Bench, spark: SparkSession) -> None:
    """The same rows, names, types, physical types, codec and marks as by Spark's writer."""
    schema = pa.schema([(name, kind) for name, (_, kind, _) in TYPES.items()])
    rows = [{name: values[place] for name, (*_, values) in TYPES.items()} for place in range(3)]
    bench.write("s", rows, schema)
    script = STREAM.replace("{name}", "s").replace("{columns}", COLUMNS) + SINK
    chosen = ", ".join(f"s.{name}" + (" AS `A b`" if name == "a" else "") for name in TYPES)
    script += f"INSERT INTO out SELECT {chosen} FROM s;"
    assert bench.run(script).code == 0
    assert _is_ours(bench.folder / "out")
    theirs = Bench(bench.folder / "theirs")
    theirs.folder.mkdir()
    (theirs.folder / "data").symlink_to(bench.folder / "data")
    assert theirs.run(script, conf={READER: "spark"}).code == 0
    spark.conf.unset(READER)
    assert not _is_ours(theirs.folder / "out")
    found, wanted = (spark.read.parquet(str(one.folder / "out")) for one in (bench, theirs))
    assert found.schema == wanted.schema
    assert [tuple(row) for row in found.collect()] == [tuple(row) for row in wanted.collect()] != []
    ours, spark_s = (_file_with_rows(one.folder / "out") for one in (bench, theirs))
    assert [(c.name, c.physical_type) for c in ours.schema] == [(c.name, c.physical_type) for c in spark_s.schema]
    assert _marks(ours) == _marks(spark_s)
    assert ours.metadata.row_group(0).column(0).compression == spark_s.metadata.row_group(0).column(0).compression


def _marks(file: Any) -> dict[str, Any]:
    marks = {name.decode(): value.decode() for name, value in file.metadata.metadata.items()}
    return {name: json.loads(value) if "row.metadata" in name else value for name, value in marks.items()}


def _file_with_rows(folder: Path) -> Any:
    return next(file for file in map(pq.ParquetFile, folder.glob("*.parquet")) if file.metadata.num_rows)


@pytest.mark.thorough
def test_each_writer_goes_on_where_the_other_was(bench: Bench, spark: SparkSession) -> None:
    """Twelve batches, so that Spark makes one log of the first ten."""
    due = _pieces(bench, range(4))
    assert bench.run(PAIRS).code == 0
    assert _is_ours(bench.folder / "out")
    due += _pieces(bench, range(4, 8))
    assert bench.run(PAIRS, conf={READER: "spark"}).code == 0
    assert not _is_ours(bench.folder / "out")
    spark.conf.unset(READER)
    due += _pieces(bench, range(8, 12))
    assert bench.run(PAIRS).code == 0
    assert _rows(bench, spark) == due
    assert _entered(bench.folder / "out") == _left(bench.folder / "out")


def test_a_batch_that_is_done_again_is_there_once(bench: Bench, spark: SparkSession) -> None:
    """Spark forgets that it committed the last batch: it runs again, and its rows are in the sink already."""
    due = _pieces(bench, range(3))
    assert bench.run(PAIRS).code == 0
    commits = bench.folder / "checkpoint" / "out" / "spark" / "commits"
    last = max((p for p in commits.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)
    due += _pieces(bench, range(3, 4))
    assert bench.run(PAIRS).code == 0
    assert _rows(bench, spark) == due
    assert _entered(bench.folder / "out") == _left(bench.folder / "out")


def test_a_batch_that_fails_leaves_no_file(bench: Bench, spark: SparkSession) -> None:
    due = _pieces(bench, range(2))
    bench.write("s", [{"k": 1, "n": 1}] * 3, KN)
    bench.write("t", [{"k": 77_777, "n": 1}], KN)
    fails = PAIRS.replace("PRIMARY KEY (k)", "PRIMARY KEY (k) ON VIOLATION FAIL")
    ran = bench.run(fails)
    assert (ran.code, "3 rows of s break PRIMARY KEY (k) ON s" in ran.err) == (1, True), ran.err
    assert _rows(bench, spark) == due
    assert _entered(bench.folder / "out") == _left(bench.folder / "out")


def test_a_query_knows_in_every_batch_where_it_was_called_from(
    bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Spark searches the stack for it as it makes each RDD; PySpark forgets it of a thread that collects."""
    _pieces(bench, range(3))
    seen, latest = [], _SinkLog.latest

    def noted(log: _SinkLog) -> int:
        seen.append(spark.sparkContext.getLocalProperty("callSite.short"))
        return latest(log)

    monkeypatch.setattr(_SinkLog, "latest", noted)
    assert bench.run(PAIRS).code == 0
    assert len(seen) >= 3
    assert len(set(seen)) == 1
    assert seen[0]


@pytest.mark.thorough
def test_a_sink_without_rows_has_its_columns(bench: Bench, spark: SparkSession) -> None:
    """As Spark's writer does, so that whoever reads it finds no rows and no error."""
    bench.write("s", [{"k": 1, "n": 1}], KN)
    bench.write("t", [{"k": 2, "n": 1}], KN)
    assert bench.run(PAIRS).code == 0
    found = spark.read.parquet(str(bench.folder / "out"))
    assert (found.columns, found.count(), _is_ours(bench.folder / "out")) == (["n", "m"], 0, True)


@pytest.mark.parametrize(
    ("select", "options"),
    [
        ("s.n + 1 AS n, t.n AS m", ""),
        pytest.param("s.n, t.n AS m", ", partitionBy 'm'", marks=pytest.mark.thorough),
        pytest.param("s.n, t.n AS m", ", compression 'gzip'", marks=pytest.mark.thorough),
    ],
)
def test_what_spark_must_do_spark_does(bench: Bench, select: str, options: str) -> None:
    _pieces(bench, range(1))
    script = PAIRS.replace("path '{out}'", f"path '{{out}}'{options}")
    assert bench.run(script.replace("s.n, t.n AS m", select)).code == 0
    files = list((bench.folder / "out").rglob("*.parquet"))
    assert files
    assert all("parquet-mr" in pq.ParquetFile(path).metadata.created_by for path in files)


def test_a_dictionary_is_made_of_columns_whose_values_repeat() -> None:
    rows = {"id": [f"id {number}" for number in range(3000)], "kind": ["a", None, "b"] * 1000, "x": [0.5] * 3000}
    table = pa.table({**rows, "k": list(range(3000))})
    assert repeating(table) == ["kind", "x"]
    assert repeating(table.slice(0, 0)) == ["id", "kind", "x", "k"]
