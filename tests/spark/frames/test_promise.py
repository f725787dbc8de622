"""Promises on DataFrames, found again in the jobs that read them."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.errors import NotSupportedYet, UsageError
from penstock.jobs import to_sql
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Streams, answer, at_rest, batch_answer, streams, write
from tests.spark.frames.test_adopt import twice


@pytest.fixture
def s(spark: SparkSession, bench: Bench) -> Streams:
    """Streams without watermarks."""
    write(bench, seed=3, files=2)
    return streams(spark, bench, watermarks="")


def test_promises_are_found_below_filters_columns_and_watermarks(s: Streams) -> None:
    orders = penstock.promise(s.a, penstock.PrimaryKey("ak"), penstock.Check("an > 0"))
    payments = penstock.promise(
        s.b,
        penstock.Ordered("bts", within="3 seconds"),
        penstock.Follows(orders, "ak", on="bk", within="2 hours"),
        penstock.Cooccurs(s.c, "ck", on="bk"),
    )
    above = orders.withWatermark("ats", "5 seconds").where("an > 1").select("ak", F.col("ats").alias("t"))
    joined = above.join(payments.alias("p"), F.expr("ak = p.bk AND p.bts BETWEEN t AND t + INTERVAL 1 HOUR"))
    text = to_sql(joined)
    assert (
        "EVENT TIME ats,\n  ORDERED BY ats WITHIN 5 SECONDS ON VIOLATION TRUST,\n"
        "  PRIMARY KEY (ak),\n  CHECK (an > 0)\n"
    ) in text
    # What is said of a stream that the job does not read is of no use to it.
    assert "ORDERED BY bts WITHIN 3 SECONDS,\n  FOLLOWS a (ak) ON (bk) WITHIN 2 HOURS\n);" in text
    assert "WHERE ((a.an > 1))" in text
    assert penstock.check(joined).verdict == "bounded"


@pytest.mark.thorough
def test_promises_make_a_join_bounded_and_the_answer_is_the_same(spark: SparkSession, bench: Bench, s: Streams) -> None:
    def job(streams: Streams) -> object:
        return streams.a.join(streams.b, F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 4 SECONDS"))

    assert penstock.check(job(s)).verdict == "unbounded"  # type: ignore[arg-type]
    penstock.promise(s.a, penstock.Ordered("ats", within="3 seconds"))
    penstock.promise(s.b, penstock.Ordered("bts", within="3 seconds"))
    adopted = penstock.adopt(job(s))  # type: ignore[arg-type]
    found = answer(bench, adopted, "adopted")
    assert found == batch_answer(job(at_rest(spark, bench))) != Counter()  # type: ignore[arg-type]


def test_what_is_promised_of_a_stream_holds_of_both_sides_of_a_self_join(s: Streams) -> None:
    bids = penstock.promise(s.a, penstock.Ordered("ats", within="3 seconds"))
    twin = bids.alias("x").join(
        bids.alias("y"), F.expr("x.ak = y.ak AND y.ats BETWEEN x.ats AND x.ats + INTERVAL 2 SECONDS")
    )
    assert to_sql(twin).count("CREATE STREAM") == 1
    assert penstock.check(twin).verdict == "bounded"


def test_a_promise_below_a_function_is_refused(s: Streams) -> None:
    orders = penstock.promise(s.a, penstock.PrimaryKey("ak")).withColumn("m", twice("an"))
    with pytest.raises(NotSupportedYet, match=r"<lambda>.* cannot be read"):
        penstock.check(orders.join(s.b, F.expr("ak = bk AND m > bn")))


def test_a_watermark_on_some_of_the_rows_that_are_promised_is_refused(s: Streams) -> None:
    orders = penstock.promise(s.a, penstock.PrimaryKey("ak")).where("an > 1").withWatermark("ats", "5 seconds")
    message = r"withWatermark above a filter above what is promised cannot be read(.|\n)*before the filter"
    with pytest.raises(NotSupportedYet, match=message):
        penstock.check(orders.join(s.b, F.expr("ak = bk")))


@pytest.mark.parametrize("above", ["explode", "dropDuplicates", "dropDuplicatesWithinWatermark", "mapInPandas"])
def test_what_stands_above_a_promise_and_is_not_read_is_refused_with_that(s: Streams, above: str) -> None:
    made = penstock.promise(s.a.withWatermark("ats", "1 minute"), penstock.PrimaryKey("an"))
    frames = {
        "explode": lambda: made.withColumn("e", F.explode(F.array("an", "ak"))),
        "dropDuplicates": lambda: made.dropDuplicates(["ak", "ats"]),
        "dropDuplicatesWithinWatermark": lambda: made.dropDuplicatesWithinWatermark(["ak"]),
        "mapInPandas": lambda: made.mapInPandas(lambda rows: rows, made.schema),
    }
    message = f"{above} above what is promised cannot be read(.|\n)*promise it of what {above} gives"
    with pytest.raises(NotSupportedYet, match=message):
        penstock.check(frames[above]().join(s.b, F.expr("ak = bk AND bts = ats")))


def test_what_is_no_promise_or_names_no_column_is_refused(s: Streams) -> None:
    with pytest.raises(UsageError, match=r"PRIMARY KEY \(akk\): the DataFrame has no column akk"):
        penstock.promise(s.a, penstock.PrimaryKey("akk"))
    with pytest.raises(UsageError, match="a promise is wanted"):
        penstock.promise(s.a, "PRIMARY KEY (ak)")  # type: ignore[arg-type]


def test_what_is_no_stream_is_refused(spark: SparkSession, bench: Bench, s: Streams) -> None:
    """Nothing would come of it: a job reads tables as they are, whatever is promised of them."""
    table = at_rest(spark, bench).a
    message = r"this DataFrame is not a stream(.|\n)*pass a DataFrame that spark.readStream made"
    with pytest.raises(UsageError, match=message):
        penstock.promise(table, penstock.PrimaryKey("ak"))
    with pytest.raises(UsageError, match=message):
        penstock.promise(s.b, penstock.Follows(table, "ak", on="bk", within="2 hours"))


def test_a_promise_stays_with_its_column_where_another_takes_its_name(s: Streams) -> None:
    """Spark takes a plan with its columns renamed for the same plan."""
    unique = penstock.promise(s.a, penstock.PrimaryKey("an"))
    swapped = unique.withColumnRenamed("an", "old").withColumnRenamed("ak", "an").withWatermark("ats", "1 minute")
    joined = swapped.join(
        s.b.withWatermark("bts", "1 minute"), F.expr("an = bk AND bts BETWEEN ats AND ats + INTERVAL 1 HOUR")
    )
    text = to_sql(joined.select("an", "old", "bn"))
    assert "PRIMARY KEY (an)" in text
    assert "ak BIGINT" in text, "the stream has the names of what was promised"
    assert penstock.check(joined).verdict == "bounded"


def test_a_table_joined_above_what_is_promised_is_refused_with_what_to_do(spark: SparkSession, s: Streams) -> None:
    table = spark.createDataFrame([(1, "one")], "tk BIGINT, name STRING")
    named = (
        penstock.promise(s.a, penstock.PrimaryKey("an")).withWatermark("ats", "1 minute").join(table, F.expr("ak = tk"))
    )
    joined = named.join(
        s.b.withWatermark("bts", "1 minute"), F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 1 HOUR")
    )
    with pytest.raises(NotSupportedYet, match="table above what is promised"):
        penstock.check(joined)


def test_a_promise_that_is_no_declaration_is_refused_where_it_is_made_and_a_later_one_takes_its_place(
    s: Streams,
) -> None:
    with pytest.raises(UsageError, match="expected a unit of time, found PARSECS"):
        penstock.promise(s.a, penstock.Ordered("ats", within="3 parsecs"))
    penstock.promise(s.a, penstock.Ordered("ats", within="3 seconds"), penstock.PrimaryKey("an"))
    again = penstock.promise(s.a, penstock.Ordered("ats", within="30 seconds"))
    text = to_sql(again.join(s.b, F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 1 HOUR")))
    assert "WITHIN 30 SECONDS" in text
    assert "WITHIN 3 SECONDS" not in text
    assert "PRIMARY KEY (an)" in text


def test_a_promise_of_renamed_columns_does_not_take_the_place_of_one_of_others(s: Streams) -> None:
    penstock.promise(s.a, penstock.PrimaryKey("an"))
    swapped = s.a.withColumnRenamed("an", "old").withColumnRenamed("ak", "an")
    penstock.promise(swapped, penstock.PrimaryKey("an"))
    text = to_sql(s.a.join(s.b, F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 1 HOUR")))
    assert "PRIMARY KEY (an)" in text
    assert "old" not in text
