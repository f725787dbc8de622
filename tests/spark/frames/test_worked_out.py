"""Columns that a job works out of a watermark's, below its joins: the verdict knows what they are."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.jobs import to_sql
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Job, Streams, answer, at_rest, batch_answer, streams, write


def minute(frame: DataFrame, name: str) -> DataFrame:
    """With the minute of its time, as `h` of a and `g` of b."""
    return frame.withColumn({"a": "h", "b": "g"}[name], F.date_trunc("minute", f"{name}ts"))


BOUNDED: dict[str, Job] = {
    "minute": lambda s: minute(s.a, "a").join(minute(s.b, "b"), F.expr("ak = bk AND h = g"), "left_outer"),
    "the time left out": lambda s: s.a.select("ak", F.date_trunc("minute", "ats").alias("h")).join(
        s.b.select("bk", F.date_trunc("minute", "bts").alias("g")), F.expr("ak = bk AND h = g"), "full_outer"
    ),
    "renamed, the time left out": lambda s: (
        s.a.select("ak", F.date_trunc("minute", "ats").alias("h"))
        .select("ak", F.col("h").alias("m"))
        .join(minute(s.b, "b"), F.expr("ak = bk AND m = g"))
    ),
    "a window, the time left out": lambda s: s.a.select("ak", F.window("ats", "4 seconds").alias("w")).join(
        s.b.select("bk", F.window("bts", "4 seconds").alias("v")), F.expr("ak = bk AND w = v"), "left_outer"
    ),
    "a sliding window of a renamed time, left out": lambda s: (
        s.a.withColumnRenamed("ats", "t")
        .withColumn("w", F.window("t", "4 seconds", "2 seconds"))
        .drop("t")
        .join(s.b.select("bk", F.window("bts", "4 seconds", "2 seconds").alias("v")), F.expr("ak = bk AND w = v"))
    ),
    "the start of a window": lambda s: (
        s.a.withColumn("w", F.window("ats", "4 seconds"))
        .drop("ats")
        .join(s.b.withColumn("v", F.window("bts", "4 seconds")), F.expr("ak = bk AND w.start = v.start"), "left_outer")
    ),
    "the end of a window as a column": lambda s: s.a.select("ak", F.window("ats", "4 seconds").end.alias("w")).join(
        s.b.select("bk", F.window("bts", "4 seconds").end.alias("v")), F.expr("ak = bk AND w = v"), "right_outer"
    ),
    "groups by a window that was a key": lambda s: (
        s.a.select("ak", F.window("ats", "4 seconds").alias("w"))
        .join(s.b.select("bk", "bn", F.window("bts", "4 seconds").alias("v")), F.expr("ak = bk AND w = v"))
        .groupBy("w", "ak")
        .agg(F.sum("bn"), F.max("v.start"))
    ),
    "an end": lambda s: s.a.withColumn("end", F.expr("ats + INTERVAL 4 SECONDS")).join(
        s.b, F.expr("ak = bk AND bts BETWEEN ats AND end"), "right_outer"
    ),
    "day": lambda s: s.a.withColumn("h", F.to_date("ats")).join(
        s.b.withColumn("g", F.to_date("bts")), F.expr("ak = bk AND h = g")
    ),
    "renamed, above a filter": lambda s: (
        minute(s.a, "a")
        .where("an > 1")
        .select(F.col("h").alias("m"), F.col("ats").alias("t"), "ak")
        .join(minute(s.b, "b"), F.expr("ak = bk AND m = g"))
    ),
    "groups": lambda s: (
        minute(s.a, "a").join(s.b, F.expr("ak = bk AND ats = bts")).select("h", "bn").groupBy("h").agg(F.sum("bn"))
    ),
    "above an outer join it may be NULL": lambda s: (
        s.a.join(
            s.b.withColumn("g", F.expr("coalesce(date_trunc('minute', bts), TIMESTAMP '2020-01-01')")),
            F.expr("ak = bk AND bts = ats"),
            "left_outer",
        )
        .where("g IS NULL OR an > 1")
        .select("ak", "g")
    ),
}


@pytest.fixture
def s(spark: SparkSession, bench: Bench) -> Streams:
    """Streams that are only looked at."""
    write(bench, seed=1, files=0)
    return streams(spark, bench)


@pytest.mark.parametrize("name", BOUNDED)
def test_it_is_bounded(s: Streams, name: str) -> None:
    assert penstock.check(BOUNDED[name](s)).verdict == "bounded"


@pytest.mark.thorough
@pytest.mark.parametrize("name", BOUNDED)
def test_and_gives_what_spark_gives(spark: SparkSession, bench: Bench, name: str) -> None:
    write(bench, seed=5, files=2, without_time=0.1)
    adopted = penstock.adopt(BOUNDED[name](streams(spark, bench)))
    wanted = batch_answer(BOUNDED[name](at_rest(spark, bench)))
    assert answer(bench, adopted, "adopted") == wanted
    assert sum(wanted.values()) > 0


def test_the_condition_says_what_the_column_is(s: Streams) -> None:
    text = to_sql(BOUNDED["minute"](s))
    assert "(date_trunc('minute', a.ats)) = (date_trunc('minute', b.bts))" in text


def test_a_column_of_a_union_is_not_what_it_is_in_its_first_member(spark: SparkSession, bench: Bench) -> None:
    """Spark knows it by the same id; a watermark above the union makes it one leaf."""
    write(bench, seed=1, files=0)
    s = streams(spark, bench, watermarks="b")
    hours = s.c.toDF("ak", "an", "ats").withColumn("h", F.date_trunc("hour", "ats"))
    both = minute(s.a, "a").union(hours).withWatermark("ats", "3 seconds")
    joined = both.join(minute(s.b, "b"), F.expr("ak = bk AND h = g"))
    assert "date_trunc" not in to_sql(joined).split("FROM")[1].split("=")[-2]
    assert "a.h = " in to_sql(joined)
    windows = [
        frame.withColumn("w", F.window("ats", length)) for frame, length in ((s.a, "4 seconds"), (hours, "1 day"))
    ]
    pair = windows[0].select("ak", "ats", "w").union(windows[1].select("ak", "ats", "w"))
    timed = s.b.withColumn("v", F.window("bts", "4 seconds"))
    text = to_sql(pair.withWatermark("ats", "3 seconds").join(timed, F.expr("ak = bk AND w = v")))
    assert "INTERVAL" not in text


def test_a_window_above_a_union_is_not_what_it_is_in_its_first_member(s: Streams) -> None:
    """Each member keeps its own clock, so that the union is read, and its columns have the ids of the first."""

    def started(frame: DataFrame, time: str, length: str, *names: str) -> DataFrame:
        window = F.window(time, length)
        return frame.select(frame.columns[0], time, window.alias(names[0]), window.start.alias(names[1]))

    both = started(s.a, "ats", "4 seconds", "w", "at").union(started(s.c, "cts", "1 day", "w", "at"))
    for asked in ("w = v", "at = vat", "w.start = v.start"):
        joined = both.join(started(s.b, "bts", "4 seconds", "v", "vat"), F.expr(f"ak = bk AND {asked}"))
        assert "INTERVAL" not in to_sql(joined), asked


def test_the_start_of_one_window_and_the_end_of_another_are_not_of_one(s: Streams) -> None:
    one, other = s.a.withColumn("w", F.window("ats", "4 seconds")), s.b.withColumn("v", F.window("bts", "4 seconds"))
    assert "INTERVAL" not in to_sql(one.join(other, F.expr("ak = bk AND w.start = v.end")))


def test_groups_by_a_window_that_an_outer_join_may_make_null_are_not_by_the_call(s: Streams) -> None:
    """Rows without a match have one group, which the call leaves out."""
    timed = s.b.withColumn("v", F.window("bts", "4 seconds"))
    joined = s.a.join(timed, F.expr("ak = bk AND bts = ats"), "left_outer")
    assert "GROUP BY b.v" in to_sql(joined.groupBy("v").count())
    assert "GROUP BY window(b.bts, '4 seconds')" in to_sql(
        s.a.join(timed, F.expr("ak = bk AND bts = ats")).groupBy("v").count()
    )


def test_a_column_that_a_table_fills_with_null_is_not_worked_out_again(spark: SparkSession, s: Streams) -> None:
    table = spark.createDataFrame([(1, 5)], "id BIGINT, c INT").withColumn("x", F.expr("coalesce(c, 0)"))
    looked = s.a.join(table, F.expr("ak = id"), "left_outer")
    ended = looked.withColumn("end", F.expr("ats + make_interval(0, 0, 0, 0, 0, 0, x)")).drop("x")
    text = to_sql(ended.join(s.b, F.expr("ak = bk AND bts = end"), "left_outer"))
    assert "coalesce" not in text


def test_what_only_a_function_knows_is_not_called_unbounded(s: Streams) -> None:
    """A function of the user's may tie its column to the watermark: no input is shown that grows."""
    when = F.udf(lambda t: None if t is None else t.replace(second=0), "timestamp")
    joined = s.a.withColumn("h", when("ats")).join(s.b.withColumn("g", when("bts")), F.expr("ak = bk AND h = g"))
    verdict = penstock.check(joined)
    assert verdict.verdict == "undecided"
    assert verdict.witness is None
    assert "only Spark knows how h and g follow from a watermark's column" in " ".join(str(verdict).split())
    shown = s.a.withColumn("h", when("ats")).join(s.b, F.expr("ak = bk")).select("h", "bk")
    assert penstock.check(shown).verdict == "unbounded", "nothing asks for it"
