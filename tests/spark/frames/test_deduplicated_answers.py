"""`dropDuplicates` by some columns of joined streams, with others read: Spark's own, on the answer.

Which of the rows is kept, no column says: so the other columns here follow from those that rows are told apart by.
"""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.errors import NotSupportedYet, UsageError
from penstock.jobs import to_sql
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Streams, answer, streams, write
from tests.spark.frames.test_adopt import NEAR, twice


def paid(s: Streams, kind: str = "inner") -> DataFrame:
    """Joined, with a column that no key is, and one time, as Spark demands below a state."""
    return s.a.join(s.b, F.expr(NEAR), kind).select("ak", "ats", twice("ak").alias("m"))


@pytest.fixture
def s(spark: SparkSession, bench: Bench) -> Streams:
    """Streams that are only looked at."""
    write(bench, seed=1, files=0)
    return streams(spark, bench)


def test_the_answer_has_a_watermark_as_far_behind_as_its_rows_may_come(s: Streams) -> None:
    job = paid(s).dropDuplicates(["ak", "ats"])
    verdict = penstock.check(job)
    assert verdict.verdict == "bounded"
    assert [one.alias for one in verdict.streams] == ["a", "b", "(dropDuplicates)"]
    adopted = penstock.adopt(job)
    assert adopted.dtypes == job.dtypes
    plan = adopted._jdf.queryExecution().analyzed().treeString()
    # The band is six seconds wide, and three may pass until a row comes; a row on the watermark itself is late.
    assert plan.count("EventTimeWatermark") == 1
    assert "9.001 seconds" in plan
    assert str(penstock.check(adopted)) == str(verdict)


def test_without_a_time_among_its_columns_it_remembers_for_ever(s: Streams) -> None:
    job = paid(s).dropDuplicates(["ak"])
    assert penstock.check(job).verdict == "unbounded"
    with pytest.raises(UsageError, match="dropDuplicates by ak remembers every value for ever"):
        penstock.adopt(job)
    assert penstock.adopt(job, allow_unbounded=True).dtypes == job.dtypes


def test_a_stream_that_is_deduplicated_too_needs_its_watermark(s: Streams) -> None:
    once = s.b.dropDuplicatesWithinWatermark(["bk"])
    with pytest.raises(NotSupportedYet, match=r"one of which is deduplicated too(.|\n)*deduplicate the streams alone"):
        penstock.adopt(s.a.join(once, F.expr(NEAR)).drop("bts").dropDuplicates(["ak", "ats"]))


def test_a_union_of_streams_is_left_to_spark(s: Streams) -> None:
    job = s.a.union(s.c).dropDuplicates(["ak", "ats"])
    assert penstock.adopt(job) is job
    assert penstock.check(job).verdict == "bounded"


def test_a_row_that_may_come_sooner_than_in_spark_is_not_chosen(s: Streams) -> None:
    with pytest.raises(NotSupportedYet, match=r'depends on when each is emitted(.|\n)*groupBy\("ak", "ats"\)'):
        penstock.adopt(paid(s, "left_outer").dropDuplicates(["ak", "ats"]))
    groups = paid(s).dropDuplicates(["ak", "ats"]).groupBy(F.window("ats", "4 seconds")).agg(F.sum("m"))
    with pytest.raises(NotSupportedYet, match="dropDuplicates by some of the columns of joined streams"):
        penstock.check(groups)


def test_a_part_that_is_adopted_is_known_below_what_was_not(s: Streams) -> None:
    adopted = penstock.adopt(paid(s).dropDuplicates(["ak", "ats"]))
    assert to_sql(adopted.where("m > 2")).startswith("CREATE STREAM a")
    with pytest.raises(UsageError, match="a part of this DataFrame is adopted already"):
        penstock.check(adopted.dropDuplicates(["m"]))


@pytest.mark.thorough
@pytest.mark.parametrize("is_last", [True, False])
def test_it_gives_what_spark_gives(spark: SparkSession, bench: Bench, is_last: bool) -> None:
    write(bench, seed=3, files=4)
    frame = paid(streams(spark, bench)).dropDuplicates(["ak", "ats"])
    frame = frame if is_last else frame.where(twice("ak") > 2).withColumn("x", F.expr("m + 1"))
    wanted = answer(bench, frame, "spark")
    assert answer(bench, penstock.adopt(frame), "adopted") == wanted
    assert sum(wanted.values()) > 0
