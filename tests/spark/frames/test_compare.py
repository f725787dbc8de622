"""One job both ways on the same rows; and what cannot be compared."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.errors import UsageError
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Job, streams, write
from tests.spark.frames.test_adopt import NEAR, twice

JOBS: dict[str, Job] = {
    "left": lambda s: s.a.join(s.b, F.expr(NEAR), "left_outer"),
    "counts": lambda s: s.a.join(s.b, F.expr(NEAR)).groupBy(F.window("ats", "4 seconds")).agg(F.avg("bn")),
    "functions and a twin": lambda s: s.a.where(twice("an") > 1).join(s.a.toDF("bk", "bn", "bts"), F.expr(NEAR)),
    "deduplicated": lambda s: s.a.select("ak", "ats").dropDuplicatesWithinWatermark().join(s.b, F.expr(NEAR)),
    "promised": lambda s: penstock.promise(s.a, penstock.PrimaryKey("an")).join(s.b, F.expr(NEAR)),
    "a map": lambda s: s.a.withColumn("m", F.expr("map(ak, an)")).where("ak > 0").join(s.b, F.expr(NEAR)),
}
QUICK = ("counts",)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in JOBS]
)
def test_both_ways_give_the_same(spark: SparkSession, bench: Bench, name: str) -> None:
    write(bench, seed=5, files=2)
    found = penstock.compare(JOBS[name](streams(spark, bench)), rows=100, batches=2)
    assert found.rows == 21 * (1 if name == "functions and a twin" else 2)
    assert found.answers.are_equal, str(found)
    assert found.answers.rows > 0
    assert found.spark.most_stored > 0
    assert found.adopted.rows_per_second > 0
    assert spark.conf.get("spark.sql.streaming.stateStore.providerClass").endswith("RocksDBStateStoreProvider")  # type: ignore[union-attr]


def test_what_cannot_be_compared_is_named(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=5, files=0)
    s = streams(spark, bench)
    with pytest.raises(UsageError, match="keeps no state"):
        penstock.compare(s.a.where("an > 1"))
    with pytest.raises(UsageError, match="batches is a whole number above 0, not '3'"):
        penstock.compare(JOBS["left"](streams(spark, bench)), batches="3")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="rows is a whole number above 0, not 0"):
        penstock.compare(s.a.join(s.b, F.expr(NEAR)), rows=0)
    with pytest.raises(UsageError, match="not complete"):
        penstock.compare(s.a.join(s.b, F.expr(NEAR)), mode="complete")


def test_a_source_without_rows_is_named(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=5, files=0)
    s = streams(spark, bench)
    for file in (bench.folder / "data" / "b").iterdir():
        file.unlink()
    with pytest.raises(UsageError, match="the source b gives no rows now"):
        penstock.compare(s.a.join(s.b, F.expr(NEAR)))
