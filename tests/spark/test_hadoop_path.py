"""Checkpoints on other file systems than the local disk, through Hadoop's FileSystem.

The second file system is Hadoop's own view of several (`viewfs`), whose folders are mounted from a local disk: it has a
scheme of its own, and only Hadoop knows where its files lie. A cluster of HDFS: `test_checkpoint_on_hdfs.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import DataError, UsageError
from penstock.spark import run_lock
from penstock.spark.checkpoint import Checkpoint, checkpoint_root
from penstock.spark.hadoop_path import HadoopPath, hadoop_settings, place_of, replace_text, worker_folder
from penstock.spark.run_lock import RunLock
from penstock.spark.worker_files import path_written
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, bag, written
from tests.spark.test_run import JOIN, KN, PLAIN, STREAMS, expected, is_clean, rows

MOUNT = "fs.viewfs.mounttable.penstock.link./kept"


@pytest.fixture
def viewed(spark: SparkSession, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A folder of another file system, and where it lies."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set(MOUNT, folder.as_uri())
    conf.set("fs.viewfs.impl.disable.cache", "true")
    yield "viewfs://penstock/kept", folder
    conf.unset(MOUNT)


def test_a_path_of_another_file_system_is_as_one_of_a_disk(spark: SparkSession, viewed: tuple[str, Path]) -> None:
    uri, folder = viewed
    place = place_of(spark, f"{uri}/a")
    assert isinstance(place, HadoopPath)
    assert not place.exists()
    place.mkdir()
    file = place / "b.json"
    replace_text(file, "eins ä")
    replace_text(file, "zwei ö")
    assert (folder / "a" / "b.json").read_text(encoding="utf-8") == file.read_text() == "zwei ö"
    assert [one.name for one in place.iterdir()] == ["b.json"]
    assert place.is_dir()
    assert not file.is_dir()
    assert file.create("three") is False
    assert (place / "c").create("three") is True
    (place / "d").touch()
    (place / "c").unlink()
    large = bytes(range(256)) * 10_000
    (place / "e").write_bytes(large)
    assert (place / "e").read_bytes() == (folder / "a" / "e").read_bytes() == large
    (place / "e").unlink()
    assert sorted(one.name for one in place.iterdir()) == ["b.json", "d"]
    assert str(file.with_suffix(".new")) == f"{uri}/a/b.new"


def test_a_file_that_was_being_replaced_is_the_new_one(spark: SparkSession, viewed: tuple[str, Path]) -> None:
    """The old one is gone, the new one waits: the process ended between the two."""
    uri, folder = viewed
    file = place_of(spark, uri) / "exact.json"
    replace_text(file, "old")
    (folder / "exact.json").unlink()
    (folder / ".exact.json.crc").unlink(missing_ok=True)
    (folder / "exact.json.waiting").write_text("new")
    assert file.exists()
    assert file.read_text() == "new"
    replace_text(file, "newer")
    assert file.read_text() == "newer"


def test_what_a_name_means_is_what_it_means_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    before = conf.get("fs.defaultFS")
    assert place_of(spark, "some/folder") == Path("some/folder")
    assert place_of(spark, tmp_path.as_uri()) == tmp_path
    try:
        conf.set("fs.defaultFS", "viewfs://penstock/")
        conf.set(MOUNT, tmp_path.as_uri())
        assert isinstance(place_of(spark, "/kept/folder"), HadoopPath)
        assert isinstance(place_of(spark, tmp_path.as_uri()), HadoopPath)
    finally:
        conf.set("fs.defaultFS", before)
        conf.unset(MOUNT)
    with pytest.raises(UsageError, match="--checkpoint nowhere://x: Spark does not reach this file system") as refused:
        checkpoint_root(spark, "nowhere://x")
    assert '"nowhere"' in str(refused.value.detail)


def test_a_file_system_that_does_not_answer_is_told_with_the_checkpoint(spark: SparkSession) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("ipc.client.connect.max.retries", "0")
    try:
        with pytest.raises(UsageError, match="--checkpoint hdfs://localhost:1/job: Spark does not reach") as refused:
            checkpoint_root(spark, "hdfs://localhost:1/job")
    finally:
        conf.unset("ipc.client.connect.max.retries")
    assert "Connection refused" in str(refused.value.detail)


def test_one_run_at_a_time_where_no_lock_of_the_system_is(
    spark: SparkSession, viewed: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lock, "RENEWED", 0.2)
    monkeypatch.setattr(run_lock, "PATIENCE", 1.0)
    uri, folder = viewed
    first, second = (RunLock(place_of(spark, uri)) for _ in range(2))
    first.hold(spark)
    with pytest.raises(DataError, match="another run is at work"):
        second.hold(spark)
    first.release()
    assert not (folder / "lock").exists()
    (folder / "lock").write_text('["a host that is gone", 7]')
    said: list[str] = []
    second.hold(spark, said.append)
    (note,) = said
    assert "this run watches for 1 seconds whether it is still at work" in note
    second.release()


def test_a_checkpoint_on_another_file_system_is_guarded_goes_on_and_keeps_rows_out(
    bench: Bench, viewed: tuple[str, Path]
) -> None:
    """Plan, state, quarantine and the way of its rows into a sink all lie there, and nothing lies elsewhere."""
    uri, folder = viewed
    script = (
        STREAMS.replace("{s}", ", PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO bad").replace("{t}", "")
        + "CREATE SINK bad USING parquet OPTIONS (path '{out}bad');"
        + JOIN
    )
    bench.write("s", [{"k": 1, "n": 1}, {"k": 2, "n": 2}], KN)
    bench.write("t", rows(0, 6), KN)
    first = bench.run(script, place=uri)
    assert first.code == 0, first.err
    known = json.loads((folder / "out" / "plan.json").read_text())
    assert known["query"] == "out"
    bench.write("s", [{"k": 2, "n": 3}, {"k": 3, "n": 4}], KN)
    second = bench.run(script, place=uri)
    assert second.code == 0, second.err
    assert bench.sink() == expected([{"k": 1, "n": 1}, {"k": 2, "n": 2}, {"k": 3, "n": 4}], rows(0, 6))
    assert written(bench.folder / "outbad") == bag([(2, 3)])
    assert not (folder / "out" / "lock").exists()
    assert not Path("viewfs:").exists()
    other = bench.run(script.replace("s.k = t.k", "s.k = t.n"), place=uri)
    assert is_clean(other, 2), other.err
    assert "was made by another query" in other.err


def lying_in(folder: Path) -> Bag:
    """What a sink holds whose log names its files by a URI that only Hadoop reads."""
    tables = (pq.read_table(file) for file in folder.glob("*.parquet"))
    return bag(tuple(row.values()) for table in tables for row in table.to_pylist())


def test_a_sink_on_another_file_system_swallows_nothing(bench: Bench, viewed: tuple[str, Path]) -> None:
    """Spark's file sink passes over batches that its log has: with a new checkpoint that would be all of them."""
    uri, folder = viewed
    script = PLAIN.replace("{out}", f"{uri}/answers") + JOIN
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    for _ in range(2):
        ran = bench.run(script)
        assert ran.code == 0, ran.err
        bench.write("s", rows(4, 4), KN)
    assert lying_in(folder / "answers") == expected(rows(0, 8), rows(0, 4))
    other = bench.run(script, checkpoint="another")
    assert is_clean(other, 1), other.err
    assert f"{uri}/answers holds the results of another run" in other.err
    within = bench.run(script, place=f"{uri}/answers/checkpoint")
    assert is_clean(within, 2), within.err
    assert "lie one in the other" in within.err


def test_a_sink_without_a_scheme_lies_where_the_default_file_system_does(
    bench: Bench, spark: SparkSession, tmp_path: Path
) -> None:
    """It was looked for on the local disk, and the second run was told that it is gone."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    before = conf.get("fs.defaultFS")
    (tmp_path / "mounted").mkdir()
    script = PLAIN.replace("{data}", (tmp_path / "data").as_uri()).replace("{out}", "/kept/answers") + JOIN
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    try:
        conf.set("fs.defaultFS", "viewfs://penstock/")
        conf.set(MOUNT, (tmp_path / "mounted").as_uri())
        spark.conf.set("penstock.parquet", "spark")
        for _ in range(2):
            ran = bench.run(script, place="/kept/checkpoint")
            assert ran.code == 0, ran.err
            bench.write("s", rows(4, 4), KN)
    finally:
        conf.set("fs.defaultFS", before)
        conf.unset(MOUNT)
    assert lying_in(tmp_path / "mounted" / "answers") == expected(rows(0, 8), rows(0, 4))


def test_a_checkpoint_by_the_uri_of_a_disk_has_its_plan_beside_its_state(bench: Bench, tmp_path: Path) -> None:
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    uri = (tmp_path / "by uri").as_uri().replace("%20", " ")
    ran = bench.run(PLAIN + JOIN, place=uri)
    assert ran.code == 0, ran.err
    assert sorted(p.name for p in (tmp_path / "by uri" / "out").iterdir()) == [
        "exact.json",
        "lock",
        "lock.jvm",
        "plan.json",
        "spark",
    ]
    other = bench.run(PLAIN + JOIN.replace("s.k = t.k", "s.k = t.n"), place=uri)
    assert is_clean(other, 2), other.err


def test_workers_are_told_what_reaches_the_file_system(spark: SparkSession, viewed: tuple[str, Path]) -> None:
    uri, folder = viewed
    assert hadoop_settings(spark)[MOUNT] == folder.as_uri()
    away = worker_folder(spark, place_of(spark, uri))
    assert away.settings is not None
    assert MOUNT not in repr(away), "settings may hold secrets"
    here = worker_folder(spark, Path("some/folder"))
    assert here.root == str(Path("some/folder").absolute()), "workers stand elsewhere"
    assert Checkpoint(place_of(spark, uri), "q").is_new


@pytest.mark.thorough
def test_an_archive_on_another_file_system_gives_what_the_budget_lost(
    bench: Bench, spark: SparkSession, viewed: tuple[str, Path]
) -> None:
    uri, folder = viewed
    script = PLAIN + JOIN.replace("SELECT", f"SELECT /*+ BUDGET(8 ROWS), ARCHIVE('{uri}/archive') */")
    s, t = rows(0, 24, keys=6), rows(100, 24, keys=6)
    for start in (0, 12):
        bench.write("s", s[start : start + 12], KN)
        bench.write("t", t[start : start + 12], KN)
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    emitted = bench.sink()
    assert emitted != expected(s, t), "the budget lost some"
    assert list((folder / "archive").glob("cell-*/*.zip"))
    quiet = bench.run(script, conf={"penstock.archive": "join"})
    assert quiet.code == 0, quiet.err
    late = spark.read.parquet(f"{uri}/archive/answers/000000")
    assert emitted + bag([tuple(row) for row in late.collect()]) == expected(s, t)
    assert "nothing was archived" in bench.run(script, conf={"penstock.archive": "join"}).out
    other = bench.run(script, checkpoint="another")
    assert is_clean(other, 1), other.err
    assert not Path("viewfs:").exists()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/tmp/a#1?b%20c", "/tmp/a#1?b%20c"),
        ("file:/tmp/a#1?b%20c", "/tmp/a#1?b%20c"),
        ("file:///tmp/a#1", "/tmp/a#1"),
        ("s3a://bucket/a#1/b", "/a#1/b"),
        ("data/a#1", "data/a#1"),
    ],
)
def test_a_path_is_taken_as_it_is_written(spark: SparkSession, name: str, path: str) -> None:
    """As Hadoop takes it: two checkpoints `file:///ck#1` and `file:///ck#2` were one."""
    assert path_written(name) == path
    made = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(name)  # type: ignore[union-attr]
    assert made.toUri().getPath() == path
    if name.startswith("file:"):
        assert place_of(spark, name) == Path(path)
