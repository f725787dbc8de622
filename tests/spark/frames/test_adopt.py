"""Jobs as users write them, adopted: the same bag as Spark's own plan gives (`test_compare.py` has the quick one)."""

from __future__ import annotations

import pandas as pd  # type: ignore[import-untyped]
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import BooleanType, IntegerType

import penstock
from penstock.errors import NotSupportedYet, UsageError
from penstock.jobs import explain, profile, to_sql
from penstock.spark.session import set_meanwhile
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import Job, Streams, answer, counting, streams, write

NEAR = "ak = bk AND bts BETWEEN ats - INTERVAL 2 SECONDS AND ats + INTERVAL 4 SECONDS"
PROVIDER, PARTITIONS = "spark.sql.streaming.stateStore.providerClass", "spark.sql.shuffle.partitions"
twice = F.udf(lambda n: None if n is None else 2 * n, IntegerType())


def names(s: Streams) -> DataFrame:
    """A table."""
    return s.a.sparkSession.createDataFrame([(1, "one"), (2, "two")], "id BIGINT, name STRING")


def in_sql(s: Streams) -> DataFrame:
    """The same in SQL, over views."""
    s.a.createOrReplaceTempView("impressions")
    s.b.createOrReplaceTempView("clicks")
    return s.a.sparkSession.sql(
        "WITH dear AS (SELECT bk AS k, bts AS t, bn FROM clicks WHERE bn > 1) "
        "SELECT i.ak, upper(CAST(dear.bn AS STRING)) AS shown, i.ats FROM impressions i LEFT JOIN dear "
        "ON i.ak = dear.k AND dear.t BETWEEN i.ats AND i.ats + INTERVAL 4 SECONDS"
    )


JOBS: dict[str, Job] = {
    "inner": lambda s: s.a.join(s.b, F.expr(NEAR)),
    "left": lambda s: s.a.join(s.b, F.expr(NEAR), "left_outer").select("ak", "an", "bts", "bn"),
    "right": lambda s: s.a.join(s.b, F.expr(NEAR), "right_outer"),
    "full": lambda s: s.a.join(s.b, F.expr(NEAR), "full_outer"),
    "semi": lambda s: s.a.join(s.b, F.expr(NEAR), "left_semi"),
    "non-equi": lambda s: s.a.join(s.b, F.expr(f"{NEAR} AND an < bn"), "left_outer"),
    "conditions above": lambda s: s.a.join(s.b, F.col("ak") == F.col("bk")).where(
        "bts >= ats AND bts <= ats + interval 4 seconds AND an + bn > 2"
    ),
    "functions on top": lambda s: s.a.join(s.b, F.expr(NEAR)).where(twice("an") > 2).select(twice("bn"), "ats"),
    "functions below": lambda s: s.a.withColumn("m", twice("an")).join(s.b, F.expr(f"{NEAR} AND m > bn")),
    "function in an inner join": lambda s: s.a.join(s.b, F.expr(NEAR) & (twice("an") > F.col("bn"))).select("ak", "bn"),
    "three": lambda s: (
        s.a.join(s.b, F.expr("ak = bk AND ats = bts")).drop("bts").join(s.c, F.expr("ak = ck AND ats = cts"))
    ),
    "count": lambda s: (
        s.a.join(s.b, F.expr("ak = bk AND ats = bts"), "left_outer")
        .groupBy(F.window("ats", "4 seconds"), "ak")
        .agg(F.count("bk").alias("n"), F.sum("bn"))
        .select("window.start", "ak", F.col("n") + 1)
    ),
    "sliding": lambda s: s.a.groupBy(F.window("ats", "4 seconds", "2 seconds", "1 second"), "ak").agg(
        F.sum("an").alias("s"), F.max("an"), F.avg("an")
    ),
    "sliding windows as a column": lambda s: (
        s.a.withColumn("w", F.window("ats", "4 seconds", "2 seconds")).groupBy("w", "ak").agg(F.count("*"), F.max("an"))
    ),
    "sliding windows in SQL below groups": lambda s: (
        s.a.select("*", F.window("ats", "4 seconds", "2 seconds")).alias("x").groupBy("window").agg(F.sum("an"))
    ),
    "odd slide": lambda s: s.a.groupBy(F.window("ats", "4 seconds", "3 seconds")).count(),
    "dedup": lambda s: s.a.dropDuplicates(["ak", "ats"]).drop("an").join(s.b, F.expr(NEAR)),
    "dedup within": lambda s: s.a.select("ak", "ats").dropDuplicatesWithinWatermark().join(s.b, F.expr(NEAR)),
    "self": lambda s: (
        s.a.alias("x")
        .join(s.a.alias("y"), F.expr("x.ak = y.ak AND y.ats > x.ats AND y.ats < x.ats + interval 2 seconds"))
        .select("x.ak", "x.ats", F.col("y.ats").alias("later"))
    ),
    "union": lambda s: s.a.union(s.c).join(s.b, F.expr(NEAR)),
    "sql": in_sql,
    "windows of groups": lambda s: (
        s.a.groupBy(F.window("ats", "4 seconds").alias("w"))
        .agg(F.count("*").alias("n"))
        .join(s.b.groupBy(F.window("bts", "4 seconds").alias("w")).agg(F.count("*").alias("m")), "w")
    ),
    "windows of windows": lambda s: (
        s.a.groupBy(F.window("ats", "2 seconds"), "ak")
        .agg(F.count("*").alias("n"))
        .groupBy(F.window("window", "4 seconds", "4 seconds", "1 second"))
        .agg(F.sum("n"), F.count("*"))
    ),
    "sliding windows of sliding windows of a join": lambda s: (
        s.a.join(s.b, F.expr("ak = bk AND ats = bts"))
        .groupBy(F.window("ats", "4 seconds", "2 seconds").alias("w"), "ak")
        .agg(F.count("*").alias("n"))
        .where("n > 1")
        .select("ak", "n", F.window_time("w").alias("t"))
        .groupBy(F.window("t", "6 seconds", "3 seconds"), "ak")
        .agg(F.sum("n"), F.max("t"))
    ),
    "groups by the window of groups": lambda s: (
        s.a.groupBy(F.window("ats", "4 seconds"), "ak", "an")
        .count()
        .groupBy("window", "ak")
        .agg(F.count("*"), F.max("count"))
    ),
    "groups by the time of a window": lambda s: (
        s.a.groupBy(F.window("ats", "2 seconds"), "ak")
        .count()
        .groupBy(F.window_time("window").alias("t"))
        .agg(F.sum("count"))
    ),
    "windows of sessions": lambda s: (
        s.a.groupBy(F.session_window("ats", "1 second"), "ak")
        .count()
        .groupBy(F.window(F.window_time("session_window"), "5 seconds"))
        .agg(F.sum("count"), F.count("*"))
    ),
    "the time of a window as a time of a join": lambda s: (
        s.a.groupBy(F.window("ats", "2 seconds"), "ak")
        .count()
        .withColumn("t", F.window_time("window"))
        .drop("window")
        .join(s.b, F.expr("ak = bk AND bts BETWEEN t - INTERVAL 2 SECONDS AND t"))
        .select("ak", "count", "t", "bn")
    ),
    "session": lambda s: s.a.groupBy(F.session_window("ats", "1 second"), "ak").agg(F.count("*"), F.max("an")),
    "session of a join": lambda s: (
        s.a.join(s.b, F.expr("ak = bk AND ats = bts")).groupBy(F.session_window("ats", "1 second"), "ak").count()
    ),
    "fields of structs": lambda s: s.a.select(F.struct("ak", "ats").alias("p"), "ats", "an").join(
        s.b.select(F.struct(F.struct("bk").alias("key")).alias("q"), "bts"),
        F.expr("p.ak = q.key.bk AND bts BETWEEN p.ats AND ats + INTERVAL 4 SECONDS"),
        "left_outer",
    ),
    "structs, arrays and maps of an outer join": lambda s: s.a.withColumn("p", F.struct("an", F.struct("ak"))).join(
        s.b.select("bk", "bts", F.array("bn", F.lit(None)).alias("l"), F.create_map(F.lit("n"), "bn").alias("m")),
        F.expr(NEAR),
        "left_outer",
    ),
    "union of missing columns": lambda s: (
        s.a.unionByName(s.c.toDF("ak", "cn", "ats"), allowMissingColumns=True)
        .where("an IS NULL OR cn IS NULL")
        .join(s.b, F.expr(f"{NEAR} AND coalesce(an, cn) = bn"), "left_outer")
    ),
    "dedup above": lambda s: s.a.join(s.b, F.expr(NEAR)).dropDuplicates(["ak", "ats"]).select("ak", "ats"),
    "table in between": lambda s: (
        s.a.join(s.b, F.expr(NEAR))
        .select("ak", "ats", "bk", "bn")
        .join(names(s), F.expr("bk = id"))
        .groupBy(F.window("ats", "4 seconds"), "name")
        .agg(F.sum("bn"))
    ),
    "table by columns of both": lambda s: (
        s.a.join(s.b, F.expr(NEAR), "left_outer")
        .join(names(s), F.expr("ak = id AND (bn > id OR an > 1)"))
        .groupBy(F.window("ats", "4 seconds"), "name")
        .agg(F.sum("bn"))
    ),
    "outer table by columns of both": lambda s: (
        s.a.join(s.b, F.expr(NEAR), "left_outer")
        .drop("bts")
        .join(names(s), F.expr("ak = id AND bn > id"), "left_outer")
        .groupBy(F.window("ats", "4 seconds"), "name")
        .agg(F.sum("bn"), F.count("*"))
    ),
    "table above groups": lambda s: (
        s.a.groupBy(F.window("ats", "4 seconds"), "ak").count().join(names(s), F.expr("ak = id"), "left")
    ),
    "rows that a function leaves out": lambda s: s.a.where(twice("an") > 3).join(s.b, F.expr(NEAR), "left_outer"),
    "rows that the watermark saw": lambda s: (
        s.a.join(names(s), F.expr("ak = id")).where(twice("an") < 30).join(s.b, F.expr(NEAR), "left_outer")
    ),
    "rows without a value, and partitions, in between": lambda s: (
        s.a.join(s.b, F.expr(NEAR), "left_outer")
        .dropna(subset=["bn", "ak"])
        .repartition(3)
        .groupBy(F.window("ats", "4 seconds"))
        .agg(F.count("*"), F.sum("bn"))
    ),
    "seconds as texts in an outer join": lambda s: s.a.withColumn("at", F.date_format("ats", "HH:mm:ss")).join(
        s.b.withColumn("bat", F.date_format("bts", "HH:mm:ss")).withColumn("y", F.year("bts")),
        F.expr(f"{NEAR} AND y = year(ats) AND at = bat"),
        "left_outer",
    ),
    "lambdas of an outer join and of groups": lambda s: (
        s.a.withColumn("l", F.array("an", F.lit(2)))
        .join(s.b, F.expr(f"{NEAR} AND exists(l, x -> x > 2)"), "left_outer")
        .groupBy(F.window("ats", "4 seconds"), F.expr("aggregate(l, 0, (acc, x) -> acc + coalesce(x, 0))").alias("sum"))
        .agg(
            F.array_sort(F.collect_list("bn")).alias("sorted"),
            F.max(F.expr("size(filter(transform(l, x -> size(filter(l, y -> y > x))), x -> x > 0))")),
        )
    ),
    "structs and percentiles of groups": lambda s: (
        s.a.join(s.b, F.expr(NEAR))
        .groupBy(F.window("ats", "4 seconds"), F.struct(F.col("ak").alias("of"), "an").alias("key"))
        .agg(
            F.sort_array(F.collect_list(F.struct(F.col("bts").alias("at"), "bn"))),
            F.expr("percentile(bn, 0.3)"),
        )
    ),
    "dedup that hides the time": lambda s: s.a.dropDuplicates(["ak"]).join(s.b, F.expr(NEAR), "left_outer").drop("an"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", JOBS)
def test_an_adopted_job_gives_what_spark_gives(spark: SparkSession, bench: Bench, name: str) -> None:
    # Spark's FULL OUTER join of streams lets NULL meet NULL, which no other join of its does.
    keys = (1, 2, 3) if name == "full" else (None, 1, 2, 3)
    write(bench, seed=1, keys=keys)
    frame = JOBS[name](streams(spark, bench))
    adopted = penstock.adopt(frame, allow_unbounded=name.startswith("dedup that"))
    assert adopted.dtypes == frame.dtypes
    wanted = answer(bench, frame, "spark")
    assert answer(bench, adopted, "adopted") == wanted
    assert sum(wanted.values()) > 0


@pytest.mark.thorough
def test_a_state_of_one_s_own_stands_on_top_of_the_answer(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, keys=(1, 2, 3))
    s = streams(spark, bench)
    # Spark allows one column with a watermark below a state.
    frame = counting(s.a.join(s.b, F.expr(NEAR)).drop("bts"))
    found, wanted = answer(bench, penstock.adopt(frame), "adopted"), answer(bench, frame, "spark")
    assert {key: max(n for k, _, n in found if k == key) for key in (1, 2, 3)} == {
        key: max(n for k, _, n in wanted if k == key) for key in (1, 2, 3)
    }


@pytest.fixture
def s(spark: SparkSession, bench: Bench) -> Streams:
    """Streams that are only looked at."""
    write(bench, seed=1, files=0)
    return streams(spark, bench)


def test_a_job_is_shown_as_the_script_that_it_is(s: Streams) -> None:
    joined = s.a.join(s.b, F.expr(NEAR), "left_outer").where(twice("bn") > 2).select("ak", "bn")
    assert to_sql(joined) == (
        "CREATE STREAM a (\n  ak BIGINT,\n  ats TIMESTAMP,\n  EVENT TIME ats,\n"
        "  ORDERED BY ats WITHIN 3 SECONDS ON VIOLATION TRUST\n);\n\n"
        "CREATE STREAM b (\n  bk BIGINT,\n  bn INT,\n  bts TIMESTAMP,\n  EVENT TIME bts,\n"
        "  ORDERED BY bts WITHIN 3 SECONDS ON VIOLATION TRUST\n);\n\n"
        "SELECT a.ak AS ak, b.bn AS bn\nFROM a\n"
        "  LEFT OUTER JOIN b ON ((a.ak = b.bk)) AND ((b.bts >= a.ats + (- INTERVAL '02' SECOND)))"
        " AND ((b.bts <= a.ats + INTERVAL '04' SECOND));\n"
    )


def test_a_part_of_a_filter_that_can_be_read_is_read_and_the_whole_stays_on_top(s: Streams) -> None:
    near = F.expr("bts BETWEEN ats AND ats + INTERVAL 4 SECONDS")
    joined = s.a.join(s.b, F.expr("ak = bk")).where(near & (twice("an") > F.col("bn")))
    assert penstock.check(joined).verdict == "bounded"
    assert penstock.check(s.a.join(s.b, F.expr("ak = bk"))).verdict == "unbounded"
    plan = penstock.adopt(joined)._jdf.queryExecution().analyzed().treeString()
    assert "<lambda>(an" in plan


def test_a_function_in_the_condition_of_an_inner_join_is_asked_on_top(s: Streams) -> None:
    joined = s.a.join(s.b, F.expr(NEAR) & (twice("an") > F.col("bn"))).select("ak", F.col("bn") + 1)
    assert penstock.check(joined).verdict == "bounded"
    adopted = penstock.adopt(joined)
    assert adopted.dtypes == joined.dtypes
    assert "Filter (<lambda>(an" in adopted._jdf.queryExecution().analyzed().treeString()


def test_a_job_without_state_is_left_as_it_is(s: Streams) -> None:
    plain = s.a.where("an > 1").withColumn("m", twice("an"))
    assert penstock.adopt(plain) is plain
    assert penstock.check(plain).verdict == "bounded"


def test_a_join_with_a_table_stays_below_or_on_top(spark: SparkSession, s: Streams) -> None:
    table = spark.createDataFrame([(1, "one")], "id BIGINT, name STRING")
    below = s.a.join(table, F.expr("ak = id"), "left").join(s.b, F.expr(NEAR))
    assert "name STRING" in to_sql(below)
    above = s.a.join(s.b, F.expr(NEAR)).join(table, F.expr("ak = id"), "left")
    assert "name" not in to_sql(above)
    assert penstock.adopt(above).dtypes == above.dtypes


def test_a_table_by_columns_of_both_streams_is_looked_into_by_spark(spark: SparkSession, s: Streams) -> None:
    looked_up = JOBS["outer table by columns of both"](s)
    text = to_sql(looked_up)
    assert "CREATE TABLE" in text
    assert "LEFT OUTER JOIN" in text
    assert penstock.check(looked_up).verdict == "bounded"
    assert penstock.adopt(looked_up).dtypes == looked_up.dtypes
    assert not [one.name for one in spark.catalog.listTables() if one.name.startswith("penstock_")]


def test_unbounded_jobs_are_refused_unless_allowed(s: Streams) -> None:
    joined = s.a.join(s.b, F.expr("ak = bk"))
    with pytest.raises(UsageError, match="unbounded"):
        penstock.adopt(joined)
    assert penstock.adopt(joined, allow_unbounded=True).dtypes == joined.dtypes


def test_what_spark_deduplicates_counts_in_the_verdict(s: Streams) -> None:
    for_ever = s.a.dropDuplicates(["ak"])
    assert penstock.check(for_ever).verdict == "unbounded"
    assert penstock.adopt(for_ever) is for_ever
    joined = for_ever.withColumn("m", twice("an")).join(s.b, F.expr(NEAR))
    verdict = penstock.check(joined)
    assert {one.alias: one.finding.verdict for one in verdict.streams} == {
        "a": "bounded",
        "b": "bounded",
        "(dropDuplicates)": "unbounded",
    }
    assert "dropDuplicates by ak remembers every value for ever" in str(verdict)
    with pytest.raises(UsageError, match="remembers every value for ever"):
        penstock.adopt(joined)
    assert penstock.adopt(joined, allow_unbounded=True).dtypes == joined.dtypes
    assert penstock.check(s.a.dropDuplicates(["ak", "ats"]).join(s.b, F.expr(NEAR))).verdict == "bounded"
    assert penstock.check(s.a.dropDuplicatesWithinWatermark(["ak"]).join(s.b, F.expr(NEAR))).verdict == "bounded"


def test_what_lets_spark_forget_is_the_fix(spark: SparkSession, bench: Bench, s: Streams) -> None:
    verdict = penstock.check(s.a.dropDuplicates(["ak"]))
    assert verdict.job_fixes == (('a.dropDuplicatesWithinWatermark(["ak"])',),)
    for text in (str(verdict), verdict._repr_html_()):  # type: ignore[attr-defined]
        assert "dropDuplicatesWithinWatermark([" in text
        assert "BUDGET" not in text
        assert "it needs no state" not in text
    plain = streams(spark, bench, watermarks="")
    joined = plain.a.dropDuplicates(["ak", "an"]).join(plain.b, F.expr("ak = bk"))
    assert (penstock.check(joined).job_fixes or ())[0] == (
        'a.withWatermark("ats", "10 minutes")',
        'b.withWatermark("bts", "10 minutes")',
        "in the condition of the inner join: AND bts BETWEEN ats - INTERVAL 1 HOUR AND ats + INTERVAL 1 HOUR",
        'a.dropDuplicatesWithinWatermark(["ak", "an"])',
    )
    untimed = penstock.check(s.a.select("ak").dropDuplicates())
    assert untimed.job_fixes == ()
    assert "BUDGET" not in str(untimed)


def test_what_a_state_of_one_s_own_holds_nobody_knows(s: Streams) -> None:
    verdict = penstock.check(counting(s.a.join(s.b, F.expr(NEAR)).drop("bts")))
    assert verdict.verdict == "undecided"
    assert "what the function of applyInPandasWithState keeps is its own" in str(verdict)


def test_an_adopted_job_is_known_again(s: Streams) -> None:
    joined = s.a.join(s.b, F.expr(NEAR))
    adopted = penstock.adopt(joined, query="near")
    assert penstock.adopt(adopted) is adopted
    shown = adopted.where("an > 1").withColumn("m", twice("an"))
    assert penstock.adopt(shown) is shown
    assert str(penstock.check(shown)) == str(penstock.check(joined, "near"))
    assert to_sql(adopted) == to_sql(joined)
    with pytest.raises(UsageError, match="a part of this DataFrame is adopted already"):
        penstock.check(adopted.join(s.c, F.expr("ak = ck AND ats = cts")))


def test_what_would_bound_it_is_said_where_it_is_refused(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, files=0)
    plain = streams(spark, bench, watermarks="")
    with pytest.raises(NotSupportedYet, match=r'write, in the job: a.withWatermark\("ats", "10 minutes"\)'):
        penstock.adopt(plain.a.groupBy(F.window("ats", "4 seconds")).count())


def test_the_name_of_a_query_is_the_one_that_is_given(s: Streams) -> None:
    assert penstock.check(s.a.join(s.b, F.expr(NEAR)), query="clicked").query == "clicked"


@pytest.mark.usefixtures("spark")
def test_what_is_no_dataframe_is_named() -> None:
    with pytest.raises(UsageError, match="a DataFrame is wanted, and this is of type int"):
        penstock.adopt(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"of type pandas\.DataFrame"):
        penstock.adopt(pd.DataFrame())
    for ask in (penstock.check, penstock.adopt, to_sql):
        with pytest.raises(UsageError, match="a DataFrame is wanted, and this is of type Column"):
            ask(F.col("ak"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a running or ended query of Spark's is wanted, and this is of type Column"):
        penstock.metrics(F.col("ak"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"not complete(.|\n)*in update mode, by key"):
        penstock.adopt(7, mode="complete")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"not apend(.|\n)*did you mean append"):
        penstock.adopt(7, mode="apend")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not None"):
        penstock.adopt(7, mode=None)  # type: ignore[arg-type]


def test_what_a_session_lacks_is_set_and_said_once(
    spark: SparkSession, s: Streams, capsys: pytest.CaptureFixture[str]
) -> None:
    joined = s.a.join(s.b, F.expr(NEAR))
    known = {name: str(spark.conf.get(name)) for name in (PROVIDER, PARTITIONS)}
    try:
        for name in known:
            spark.conf.unset(name)
        penstock.adopt(joined)
        assert spark.conf.get(PROVIDER) == known[PROVIDER]
        cores = spark.sparkContext.defaultParallelism
        assert spark.conf.get(PARTITIONS) == str(cores)
        said = capsys.readouterr().err
        assert said == f"penstock: set in this session: {PROVIDER}={known[PROVIDER]}, {PARTITIONS}={cores}\n"
        penstock.adopt(joined)
        assert capsys.readouterr().err == ""
    finally:
        for name, value in known.items():
            spark.conf.set(name, value)


def test_inputs_run_the_python_of_the_program_in_the_first_query_of_a_session(
    spark: SparkSession, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(bench, seed=1, files=1)
    # The clock of what Spark deduplicates is told by a function of ours below the query: it notes its Python at once.
    frame = JOBS["dedup that hides the time"](streams(spark, bench))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for number in range(2):
        monkeypatch.setattr(spark.sparkContext, "pythonExec", "no-such-python3")
        profile(frame) if number else answer(bench, penstock.adopt(frame, allow_unbounded=True), "adopted")


def test_the_last_moment_of_a_window_is_worked_out_with_its_groups(s: Streams) -> None:
    text = to_sql(JOBS["windows of windows"](s))
    assert "(window(a.ats, '2 seconds').end - INTERVAL 1 MICROSECOND) AS window_time" in text
    for name in (
        "windows of windows",
        "sliding windows of sliding windows of a join",
        "windows of sessions",
        "groups by the window of groups",
        "groups by the time of a window",
    ):
        frame = JOBS[name](s)
        assert penstock.check(frame).verdict == "bounded", name
        assert penstock.adopt(frame).dtypes == frame.dtypes


def test_spark_asks_filters_before_it_takes_a_watermark_but_those_on_the_time(s: Streams) -> None:
    is_early = F.udf(lambda t: t is None or t.year < 3000, BooleanType())
    near = F.expr(NEAR)
    assert "passes" not in to_sql(s.a.where(twice("an") < 30).join(s.b, near, "left_outer"))
    assert "passes" in to_sql(s.a.where(is_early("ats")).join(s.b, near, "left_outer"))


def test_the_time_of_a_window_below_a_join_has_not_the_delay_of_its_clock(s: Streams) -> None:
    # Spark notes the watermark of `ats` with it; a row three seconds late may lie two windows back.
    timed = s.a.withColumn("w", F.window("ats", "2 seconds")).withColumn("t", F.window_time("w")).drop("w")
    joined = timed.join(s.b, F.expr("ak = bk AND bts BETWEEN t AND t + INTERVAL 1 SECOND"))
    text = to_sql(joined)
    assert "ORDERED BY ats WITHIN 3 SECONDS" in text
    assert "ORDERED BY t " not in text
    assert penstock.check(joined).verdict == "undecided"
    fields = JOBS["fields of structs"](s)
    assert penstock.check(fields).verdict == "bounded"
    bounded = timed.drop("ats").withColumnRenamed("t", "u").join(s.b, F.expr("ak = bk AND bts = u"))
    assert "ORDERED BY u " not in to_sql(bounded)
    hidden = timed.select(F.struct("t", "ak").alias("p")).select("p.t", "p.ak").join(s.b, F.expr("ak = bk AND bts = t"))
    assert "ORDERED BY t " not in to_sql(hidden)


def test_rows_of_overlapping_windows_that_are_no_key_stay_as_many_as_they_are(s: Streams) -> None:
    twice_each = s.a.withColumn("w", F.window("ats", "4 seconds", "2 seconds"))
    assert "window(" in to_sql(twice_each.groupBy("w").count())
    for frame in (
        twice_each.groupBy("ak").count(),
        twice_each.withColumn("n", F.col("an") + 1).groupBy("w", "n").count(),
        twice_each.withColumn("v", F.col("w")).groupBy("w", "v").count(),
        twice_each.withColumnRenamed("ak", "bk").groupBy("w", "bk").count(),
    ):
        assert "window(" not in to_sql(frame)


def test_groups_in_update_mode(s: Streams) -> None:
    assert penstock.adopt(s.a.groupBy("ak").count(), mode="update", allow_unbounded=True).columns == ["ak", "count"]
    with pytest.raises(UsageError, match="each is emitted once"):
        penstock.adopt(s.a.groupBy(F.window("ats", "4 seconds")).count(), mode="update")


def notices(frame: DataFrame, mode: str | None = None) -> str:
    """What is said beside a verdict of what does not run."""
    verdict = penstock.check(frame, mode=mode)
    return "; ".join(str(one) for one in verdict.notices if "refuses" in str(one) or "does not start" in str(one))


def test_check_tells_of_the_mode_that_adopt_would_refuse(s: Streams) -> None:
    windows, keys = s.a.groupBy(F.window("ats", "4 seconds")).count(), s.a.agg(F.count("*"))
    for frame, taken, refused in ((windows, "append", "update"), (keys, "update", "append")):
        assert penstock.check(frame, mode=taken).verdict == "bounded"
        assert notices(frame, taken) == ""
        penstock.adopt(frame, mode=taken)
        with pytest.raises(UsageError) as told:
            penstock.adopt(frame, mode=refused)
        assert notices(frame, refused) == f"penstock.adopt refuses it: {told.value.message}; {told.value.hint}"
    assert notices(windows) == ""
    assert "emitted once" not in notices(penstock.adopt(windows), "update")
    with pytest.raises(UsageError, match="not complete"):
        penstock.check(windows, mode="complete")
    with pytest.raises(UsageError, match="mode is for a DataFrame"):
        penstock.check(penstock.parse("CREATE STREAM s (k INT); SELECT k FROM s;"), mode="update")


def test_check_tells_of_what_spark_itself_does_not_start(s: Streams) -> None:
    meets = F.expr("ak = ck AND cts BETWEEN ats AND ats + INTERVAL 2 SECONDS")
    three = s.a.join(s.b, F.expr(NEAR)).join(s.c, meets)
    assert "rows carry ats and bts" in notices(three)
    assert notices(penstock.adopt(three)) == ""
    # Nobody reads the second time after the first join: Spark leaves it out, and starts the query.
    assert notices(s.a.join(s.b, F.expr(NEAR)).drop("bts").join(s.c, meets).select("ak", "cn")) == ""


def test_that_spark_goes_by_the_greatest_watermark_is_told(
    spark: SparkSession, s: Streams, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "Spark drops the rows of a stream that lags behind the others, and penstock.adopt joins them"
    joined, alone = s.a.join(s.b, F.expr(NEAR)), s.a.groupBy(F.window("ats", "4 seconds")).count()
    with set_meanwhile(spark, {"spark.sql.streaming.multipleWatermarkPolicy": "max"}):
        assert told in " ".join(str(penstock.check(joined)).split())
        penstock.adopt(joined)
        assert told in capsys.readouterr().err
        assert "lags behind" not in str(penstock.check(alone))
    assert "lags behind" not in str(penstock.check(joined))


def test_several_watermarks_in_what_stays_spark_s_are_refused(s: Streams) -> None:
    twice = s.a.withColumn("again", F.col("ats")).dropDuplicatesWithinWatermark(["ak"]).join(s.b, F.expr(NEAR))
    with pytest.raises(UsageError, match="rows carry ats and again") as told:
        penstock.adopt(twice)
    assert notices(twice) == f"penstock.adopt refuses it: {told.value.message}; {told.value.hint}"


def test_errors_of_sql_are_spark_s_own_after_a_check(spark: SparkSession, s: Streams) -> None:
    penstock.check(s.a.join(s.b, F.expr(NEAR)))
    with pytest.raises(AnalysisException):
        spark.sql("SELECT nonsense")


def test_the_first_fix_is_what_a_spark_user_knows(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, files=0)
    plain = streams(spark, bench, watermarks="")
    verdict = penstock.check(plain.a.join(plain.b, F.expr("ak = bk")))
    assert verdict.job_fixes is not None
    assert verdict.job_fixes[0] == (
        'a.withWatermark("ats", "10 minutes")',
        'b.withWatermark("bts", "10 minutes")',
        "in the condition of the inner join: AND bts BETWEEN ats - INTERVAL 1 HOUR AND ats + INTERVAL 1 HOUR",
    )
    assert verdict.job_fixes[1][0].startswith("penstock.promise(b, penstock.Follows(a, ")
    assert "fix  one of these, in the job\n    1  a.withWatermark" in str(verdict)
    assert "a.withWatermark" in verdict._repr_html_()  # type: ignore[attr-defined]


def test_a_budget_and_a_policy_are_arguments(s: Streams) -> None:
    joined = s.a.join(s.b, F.expr("ak = bk"))
    assert penstock.check(joined, budget="10 rows").verdict == "bounded"
    assert penstock.adopt(joined, budget="10 rows", evict="prob").dtypes == joined.dtypes
    assert "WITHIN 3 SECONDS ON VIOLATION FAIL" in to_sql(joined, on_violation="fail")
    assert "BUDGET" in str(explain(joined, budget="10 rows")).upper()
    with pytest.raises(UsageError, match="there is no argument bugdet"):
        penstock.adopt(joined, bugdet="10 rows")  # type: ignore[call-arg]
