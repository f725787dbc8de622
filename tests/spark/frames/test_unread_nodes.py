"""What of a job cannot be read: each is named, with its place and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import penstock
from penstock.errors import NotSupportedYet, UsageError
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Job, Streams, counting, streams, write
from tests.spark.frames.test_adopt import NEAR, names, twice


class Nothing(StatefulProcessor):
    """Keeps nothing and gives nothing."""

    def init(self, handle: Any) -> None:
        """Nothing to set up."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        """No rows."""
        yield from ()

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def s(spark: SparkSession, bench: Bench) -> Streams:
    """Streams that are only looked at."""
    write(bench, seed=1, files=0)
    return streams(spark, bench)


REFUSED: dict[str, tuple[Job, type[Exception], str]] = {
    "batch": (
        lambda s: s.a.sparkSession.createDataFrame([(1,)], "a INT"),
        UsageError,
        "this DataFrame is not a stream",
    ),
    "function in an outer join": (
        lambda s: s.a.join(s.b, (F.col("ak") == F.col("bk")) & (twice("an") > F.col("bn")), "left_outer"),
        NotSupportedYet,
        r"the expression \(<lambda>\(an\).* cannot be read, at .*test_unread_nodes.py:\d+",
    ),
    "limit": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).limit(5),
        NotSupportedYet,
        "limit above what keeps state cannot be read; it stands above line 1 of the SQL: ak = bk AND bts BETWEEN",
    ),
    "pandas in between": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).select("ats").mapInPandas(lambda rows: rows, "ats TIMESTAMP").distinct(),
        NotSupportedYet,
        "mapInPandas above what keeps state cannot be read",
    ),
    "a state of one's own in the middle": (
        lambda s: counting(s.a).join(s.b, F.expr("k = bk")),
        NotSupportedYet,
        "applyInPandasWithState of a stream cannot be read(.|\n)*write what it gives in a query of its own",
    ),
    "a state of one's own that asks for times": (
        lambda s: counting(s.a.join(s.b, F.expr(NEAR)), GroupStateTimeout.EventTimeTimeout),
        NotSupportedYet,
        "applyInPandasWithState above what keeps state cannot be read",
    ),
    "a watermark above a join": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).withWatermark("bts", "3 seconds").groupBy("bts").count(),
        NotSupportedYet,
        "withWatermark above what keeps state cannot be read(.|\n)*put it on the streams",
    ),
    "what is random": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).withColumn("u", F.rand()).groupBy("ats").agg(F.sum("u")),
        NotSupportedYet,
        "the expression rand.* AS u cannot be read; it stands above line 1 of the SQL: ak = bk",
    ),
    "dedup above an outer join": (
        lambda s: s.a.join(s.b, F.expr(NEAR), "left_outer").dropDuplicates(["ak", "ats"]),
        NotSupportedYet,
        "dropDuplicates by some of the columns of joined streams, with others read above it, cannot be read",
    ),
    "dedup within the watermark of joined streams": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).drop("bts").dropDuplicatesWithinWatermark(["ak"]),
        NotSupportedYet,
        "dropDuplicatesWithinWatermark above what keeps state cannot be read(.|\n)*before they are joined",
    ),
    "a table that keeps its rows": (
        lambda s: (
            s.a.join(s.b, F.expr(NEAR)).join(names(s), F.expr("ak + bn = id"), "right_outer").groupBy("name").count()
        ),
        NotSupportedYet,
        "a RIGHT OUTER join that keeps the rows of a table cannot be read, at line 1 of the SQL: ak \\+ bn = id",
    ),
    "two watermarks": (
        lambda s: s.a.withWatermark("ats", "9 seconds").join(s.b, F.expr(NEAR)),
        NotSupportedYet,
        "a second withWatermark on one stream cannot be read(.|\n)*keep one of them",
    ),
    "what the language has not": (
        lambda s: s.a.join(s.b, (F.abs(s.a.ak) == s.b.bk) & (F.hash(s.a.an, s.b.bn) > 0), "left_outer"),
        NotSupportedYet,
        r"not in Penstock's language: only Spark can evaluate hash(.|\n)*in the job: .*test_unread_nodes.py:\d+",
    ),
    "structs as keys": (
        lambda s: s.a.withColumn("p", F.struct("ak")).join(
            s.b.withColumn("q", F.struct("bk")), F.expr("p = q AND bts = ats")
        ),
        NotSupportedYet,
        "p is STRUCT(.|\n)*compare the fields",
    ),
    "windows of windows of a union": (
        lambda s: (
            s.a.groupBy(F.window("ats", "2 seconds"))
            .count()
            .union(s.c.groupBy(F.window("cts", "2 seconds")).count())
            .groupBy(F.window("window", "4 seconds"))
            .count()
        ),
        NotSupportedYet,
        "windows of windows are read above the groups that the shorter ones are of, and not above a union",
    ),
    "groups of one batch": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).groupBy("ak").applyInPandas(lambda rows: rows, "ak BIGINT"),
        NotSupportedYet,
        "applyInPandas above what keeps state cannot be read(.|\n)*its groups are those of one batch",
    ),
    "two streams in one function": (
        lambda s: s.a.groupBy("ak").cogroup(s.b.groupBy("bk")).applyInPandas(lambda a, _: a, "ak BIGINT"),
        NotSupportedYet,
        "cogroup of a stream cannot be read(.|\n)*join the streams",
    ),
    "order": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).orderBy("ats"),
        NotSupportedYet,
        # Spark 4.1 does not know the line of it.
        r"orderBy above what keeps state cannot be read(, at .*_nodes.py:\d+|; it stands above)(.|\n)*sort where",
    ),
    "a function over rows": (
        lambda s: s.a.withColumn("r", F.row_number().over(Window.partitionBy("ak").orderBy("ats"))),
        NotSupportedYet,
        r"a function OVER a window of a stream cannot be read, at .*test_unread_nodes.py:\d+(.|\n)*group by a window",
    ),
    "rollup": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).rollup("ak", "an").count(),
        NotSupportedYet,
        "cube, rollup or grouping sets above what keeps state cannot be read(.|\n)*write each of the groupings",
    ),
    "pivot": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).groupBy("ak").pivot("bn", [1, 2]).count(),
        NotSupportedYet,
        "the expression pivotfirst(.|\n)*write a column for each value",
    ),
    "what Spark only approximates": (
        lambda s: s.a.groupBy(F.window("ats", "4 seconds")).agg(F.approx_count_distinct("an")),
        NotSupportedYet,
        r"approx_count_distinct\(an\)(.|\n)*functions of Spark's that are exact",
    ),
    "explode in between": (
        lambda s: s.a.join(s.b, F.expr(NEAR)).withColumn("e", F.explode(F.array("an", "bn"))).groupBy("e").count(),
        NotSupportedYet,
        "explode above what keeps state cannot be read(.|\n)*on top of the answer",
    ),
    "a processor in the middle": (
        lambda s: (
            s.a.groupBy("ak")
            .transformWithStateInPandas(Nothing(), "k BIGINT", "append", "none")
            .join(s.b, F.expr("k = bk"))
        ),
        NotSupportedYet,
        "transformWithState of a stream cannot be read(.|\n)*write what it gives in a query of its own",
    ),
    "rows of one and not of the other": (
        lambda s: s.a.exceptAll(s.c),
        NotSupportedYet,
        "exceptAll or subtract of a stream cannot be read(.|\n)*keep what has no match",
    ),
    "the time of day": (
        lambda s: s.a.join(s.b, F.expr(f"{NEAR} AND ats < now()"), "left_outer"),
        NotSupportedYet,
        "now.* cannot be read",
    ),
    "a state of one's own alone": (
        lambda s: counting(s.a, GroupStateTimeout.EventTimeTimeout),
        NotSupportedYet,
        "applyInPandasWithState cannot be read(.|\n)*nothing else in this query keeps state: leave it to Spark",
    ),
    "a sample": (
        lambda s: s.a.sample(0.5).join(s.b, F.expr(NEAR)),
        NotSupportedYet,
        "sample of a stream cannot be read(.|\n)*keep rows by their keys",
    ),
    "a time of day": (
        lambda s: s.a.withColumn("x", F.expr("TIME'12:00:00'")).join(s.b, F.expr(NEAR)),
        NotSupportedYet,
        r"a column of type TIME\(6\) cannot be read: x(.|\n)*give it a plain type",
    ),
    "a collation": (
        lambda s: s.a.withColumn("x", F.expr("CAST(ak AS STRING) COLLATE UTF8_LCASE")).join(s.b, F.expr(NEAR)),
        NotSupportedYet,
        "a column of type STRING COLLATE UTF8_LCASE cannot be read: x(.|\n)*give it a plain type",
    ),
    "sessions whose gap is worked out of each row": (
        lambda s: s.a.groupBy(
            F.session_window("ats", F.expr("CASE WHEN an > 1 THEN '2 seconds' ELSE '5 seconds' END"))
        ).count(),
        NotSupportedYet,
        "a session_window whose gap is worked out of each row cannot be read(.|\n)*give all rows one gap",
    ),
    "groups in append mode": (
        lambda s: s.a.groupBy("ak").count(),
        UsageError,
        "the groups of this query change",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_named(s: Streams, name: str) -> None:
    job, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        penstock.adopt(job(s))
