"""A checkpoint on HDFS: a driver that was killed and starts again, rows kept out, and nothing on this disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.hadoop_path import place_of
from tests.hdfs.namenode import Hdfs
from tests.maven import lacking
from tests.spark.conftest import Bench
from tests.spark.oracle import bag, written
from tests.spark.test_run import JOIN, KN, STREAMS, expected, is_clean, rows

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))

SCRIPT = (
    STREAMS.replace("{s}", ", PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO bad").replace("{t}", "")
    + "CREATE SINK bad USING parquet OPTIONS (path '{out}bad');"
    + JOIN
)


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[Hdfs]:
    started = Hdfs(tmp_path / "hdfs")
    started.start()
    yield started
    started.stop()


def test_a_query_goes_on_from_hdfs_after_its_driver_was_killed(bench: Bench, spark: SparkSession, hdfs: Hdfs) -> None:
    s, t = rows(0, 30, keys=30), rows(100, 20, keys=30)
    place = f"{hdfs.uri}/checkpoints/job"
    for part in range(2):
        bench.write("s", s[part * 10 : part * 10 + 10], KN)
        bench.write("t", t[part * 10 : part * 10 + 10], KN)
    ran = bench.run(SCRIPT, place=place)
    assert ran.code == 0, ran.err
    folder = place_of(spark, place) / "out"
    assert json.loads((folder / "plan.json").read_text())["query"] == "out"
    # As a driver leaves it that was killed: its lock is there, its last batch is not committed.
    (folder / "lock").write_text('["a host that is gone", 3]')
    commits = folder / "spark" / "commits"
    (commits / max((one.name for one in commits.iterdir()), key=int)).unlink()
    bench.write("s", [*s[20:], {"k": 1, "n": 99}], KN)
    again = bench.run(SCRIPT, place=place)
    assert again.code == 0, again.err
    assert bench.sink() == expected(s, t)
    assert written(bench.folder / "outbad") == bag([(1, 99)])
    assert not (folder / "lock").exists()
    other = bench.run(SCRIPT.replace("s.k = t.k", "s.k = t.n"), place=place)
    assert is_clean(other, 2), other.err
    assert not Path("hdfs:").exists()
