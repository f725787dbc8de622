"""Random jobs on random data, adopted, against Spark's answer on the same rows at rest.

The shapes are those of Spark's own suites of stream-stream joins: every kind of join, watermarks on either or both
sides, ranges of time, equal times, conditions that are no equalities, self-joins, deduplication and unions below,
projections, filters and windowed counts above. Rows have NULL keys, NULL values and NULL times. The oracle is the batch
answer: Spark's streams never give a row of an outer join without a time, and let NULL meet NULL in FULL OUTER joins;
`test_adopt.py` compares with these streams.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import IntegerType

import penstock
from penstock.jobs import to_sql
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Streams, answer, at_rest, batch_answer, streams, write

twice = F.udf(lambda n: None if n is None else 2 * n, IntegerType())

BELOW: dict[str, Callable[[Streams], DataFrame]] = {
    "plain": lambda s: s.a,
    "filtered": lambda s: s.a.where("an > 1 OR ak = 2"),
    "function": lambda s: s.a.withColumn("an", twice("an")),
    "distinct": lambda s: s.a.dropDuplicates(),
    "key": lambda s: s.a.select("ak", "ats", F.lit(1).alias("an")).dropDuplicates(["ak", "ats"]),
    "union": lambda s: s.a.unionAll(s.c),
    "renamed": lambda s: s.a.select(F.col("an"), (F.col("ak") + 0).alias("ak"), F.col("ats")),
}
TIMES = {
    "range": "bts BETWEEN ats - INTERVAL 2 SECONDS AND ats + INTERVAL 4 SECONDS",
    "after": "bts >= ats AND bts < ats + INTERVAL 2 SECONDS",
    "difference": "ats - bts <= INTERVAL 1 SECOND AND bts - ats <= INTERVAL '1.5' SECONDS",
    "equal": "ats = bts",
}
EXTRA = (
    "",
    " AND an < bn",
    " AND an + bn > 3",
    " AND an <> bn",
    " AND coalesce(an, 0) <= bn",
    " AND bn > 1",
    " AND an IS NULL",
)
KINDS = ("inner", "inner", "left_outer", "right_outer", "full_outer", "left_semi")
ABOVE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "all": lambda joined: joined,
    "some": lambda joined: joined.select("ak", "ats", F.expr("an + 1 AS m")),
    "filter": lambda joined: joined.where("an IS NULL OR an > 1"),
    "function": lambda joined: joined.where(twice("an") > 2).withColumn("x", twice("an")),
    "count": lambda joined: joined.groupBy(F.window("ats", "4 seconds"), "ak").agg(F.count("an"), F.max("an")),
    "slide": lambda joined: joined.groupBy(F.window("ats", "3 seconds", "2 seconds")).agg(F.sum("an"), F.count("*")),
}


NEAR = f"ak = bk AND {TIMES['range']}"
SHAPES: dict[str, Callable[[Streams], DataFrame]] = {
    "groups of an outer join": lambda s: (
        s.a.join(s.b, F.expr(NEAR), "left_outer")
        .groupBy(F.window("ats", "4 seconds"))
        .agg(F.count("bk"), F.countDistinct("bn"), F.avg("bn"), F.min("bts"))
    ),
    "outer joins of three": lambda s: s.a.join(s.b, F.expr(NEAR), "left_outer").join(
        s.c, F.expr("ak = ck AND cts BETWEEN ats AND ats + INTERVAL 2 SECONDS"), "left_outer"
    ),
    "a join on the right": lambda s: s.c.join(
        s.a.join(s.b, F.expr(NEAR)), F.expr("ck = ak AND cts = bts"), "left_outer"
    ),
    # Spark's own stream refuses it: two columns of a side carry its watermark.
    "window as a key": lambda s: s.a.withColumn("w", F.window("ats", "4 seconds")).join(
        s.b.withColumn("v", F.window("bts", "4 seconds")), F.expr("ak = bk AND w = v"), "left_outer"
    ),
    "distinct above": lambda s: s.a.join(s.b, F.expr(NEAR)).select("ak", "ats").distinct(),
    "union above": lambda s: s.a.join(s.b, F.expr(NEAR)).select("ak", "ats").union(s.c.select("ck", "cts")),
    "groups of a union": lambda s: s.a.union(s.c).groupBy(F.window("ats", "3 seconds"), "ak").agg(F.sum("an")),
    "keys of two types": lambda s: s.a.join(s.b, F.expr("an = bk AND ats = bts"), "full_outer"),
    "keys that are expressions": lambda s: s.a.withColumn("ks", F.expr("concat('k', ak)")).join(
        s.b, F.expr("upper(ks) = concat('K', bk) AND ats = bts"), "left_outer"
    ),
    "NULL meets NULL": lambda s: s.a.join(s.b, F.expr("ak <=> bk AND ats = bts"), "left_outer"),
    "case": lambda s: s.a.join(s.b, F.expr(f"{NEAR} AND CASE WHEN an > bn THEN bn ELSE an END > 1"), "left_semi"),
    "decimals": lambda s: (
        s.a.join(s.b, F.expr("ak = bk AND ats = bts"))
        .groupBy(F.window("ats", "4 seconds"))
        .agg(F.sum(F.expr("CAST(an AS DECIMAL(10, 2)) / 3")), F.sum(F.expr("an * 0.5D")))
    ),
    "having": lambda s: s.a.groupBy(F.window("ats", "4 seconds"), "ak").agg(F.count("*").alias("n")).where("n > 1"),
    "a join of groups": lambda s: (
        s.a.groupBy(F.window("ats", "2 seconds").alias("w"), "ak")
        .agg(F.count("*").alias("n"))
        .select("ak", F.col("w.end").alias("e"), "n")
        .join(s.b, F.expr("ak = bk AND bts BETWEEN e AND e + INTERVAL 2 SECONDS"))
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_gives_what_spark_gives(spark: SparkSession, bench: Bench, name: str) -> None:
    write(bench, seed=7, files=2, without_time=0.1)
    adopted = penstock.adopt(SHAPES[name](streams(spark, bench)), allow_unbounded=True)
    wanted = batch_answer(SHAPES[name](at_rest(spark, bench)))
    assert answer(bench, adopted, "adopted") == wanted
    assert sum(wanted.values()) > 0


def job(draw: random.Random) -> tuple[Callable[[Streams], DataFrame], str]:
    """A job, and what it is made of."""
    below, times, extra = draw.choice(list(BELOW)), draw.choice(list(TIMES)), draw.choice(EXTRA)
    kind, above = draw.choice(KINDS), draw.choice(list(ABOVE))
    in_where = kind == "inner" and draw.random() < 0.5
    twin = draw.random() < 0.15

    def made(s: Streams) -> DataFrame:
        left = BELOW[below](s)
        right = s.a.toDF("bk", "bn", "bts") if twin else s.b
        if in_where:
            joined = left.join(right, F.expr("ak = bk")).where(TIMES[times] + extra)
        else:
            joined = left.join(right, F.expr(f"ak = bk AND {TIMES[times]}{extra}"), kind)
        return ABOVE[above](joined)

    return made, f"{below} {kind} {times}{extra} {above}{' where' if in_where else ''}{' twin' if twin else ''}"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(30))
def test_a_random_job_gives_what_spark_gives(spark: SparkSession, bench: Bench, seed: int) -> None:
    draw = random.Random(seed)
    made, said = job(draw)
    with_nulls = draw.random() < 0.5
    write(bench, seed, files=draw.choice((1, 2, 3)), without_time=0.1 if with_nulls else 0.0)
    frame = made(streams(spark, bench))
    adopted = penstock.adopt(frame, allow_unbounded=True)
    found = answer(bench, adopted, "adopted")
    wanted = batch_answer(made(at_rest(spark, bench)))
    assert found == wanted, f"{said}\n{to_sql(frame)}"
