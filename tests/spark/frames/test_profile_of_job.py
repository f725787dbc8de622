"""What the data of a job keeps, as promises that can be pasted."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.errors import NotSupportedYet, UsageError
from penstock.jobs import profile
from penstock.spark.session import PARTITIONS
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import streams, write


@pytest.mark.thorough
def test_what_a_sample_keeps_bounds_the_job_once_it_is_pasted(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=3, files=2, keys=(1, 2, 3))
    s = streams(spark, bench, watermarks="")
    near = F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 4 SECONDS")
    assert penstock.check(s.a.join(s.b, near)).verdict == "unbounded"
    found = profile(s.a.join(s.b, near), rows=1000)
    assert found.code.startswith("penstock.promise(a, ")
    assert str(found).endswith(f"  {found.code.splitlines()[-1]}")
    assert "penstock.promise(a, " in found._repr_html_().replace("&quot;", '"')
    exec(found.code, {"penstock": penstock, "a": s.a, "b": s.b})
    assert penstock.check(s.a.join(s.b, near)).verdict == "bounded"


def test_a_profile_is_of_some_rows(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=3, files=0)
    s = streams(spark, bench)
    with pytest.raises(UsageError, match="rows is a whole number above 0, not -1"):
        profile(s.a.join(s.b, F.expr("ak = bk AND ats = bts")), rows=-1)


def test_a_default_session_is_measured_with_a_partition_for_each_core(
    spark: SparkSession, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(bench, seed=3, files=0)
    s = streams(spark, bench)
    known = str(spark.conf.get(PARTITIONS))

    def seen(session: SparkSession, *_: object) -> None:
        raise UsageError(f"in {session.conf.get(PARTITIONS)} partitions")

    monkeypatch.setattr("penstock.profile.run.profile_with", seen)
    spark.conf.unset(PARTITIONS)
    try:
        with pytest.raises(UsageError, match=f"in {max(2, spark.sparkContext.defaultParallelism)} partitions"):
            profile(s.a.join(s.b, F.expr("ak = bk AND ats = bts")))
        assert spark.conf.get(PARTITIONS, None) is None
    finally:
        spark.conf.set(PARTITIONS, known)


def test_answers_of_queries_have_no_data_to_measure(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=3, files=0)
    s = streams(spark, bench)
    once = s.a.join(s.b, F.expr("ak = bk AND ats = bts")).select("ak", "ats").distinct()
    with pytest.raises(NotSupportedYet, match="this one reads the answer of another"):
        profile(once.groupBy(F.window("ats", "4 seconds")).count())


def test_the_room_can_be_called() -> None:
    import penstock.profile.run

    with pytest.raises(UsageError, match="a DataFrame is wanted"):
        getattr(penstock, "profile")(7)  # noqa: B009 - to the type checker a module cannot be called
