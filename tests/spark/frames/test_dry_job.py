"""`penstock check job.py`: what a job would start is judged, and nothing is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import penstock
from penstock.cli import app
from penstock.errors import UsageError
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import streams, write

HEAD = """
import sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.appName("mine").master("spark://far.away:7077").getOrCreate()

def read(name):
    frame = spark.readStream.schema("k BIGINT, n INT, ts TIMESTAMP").parquet("DATA/" + name)
    return frame.toDF(name + "k", name + "n", name + "ts").withWatermark(name + "ts", "3 seconds")

a, b = read("a"), read("b")
print("hello from the job", file=sys.stdout)
"""
BOUNDED = """
near = a.join(b, F.expr("ak = bk AND bts BETWEEN ats AND ats + INTERVAL 1 HOUR"))
spark.read.parquet("DATA/a").write.mode("overwrite").parquet("DATA/copy")
query = near.writeStream.queryName("near").foreachBatch(lambda rows, batch: 1 / 0).start()
while query.isActive:
    pass
query.awaitTermination()
"""
UNBOUNDED = """
a.join(b, F.expr("ak = bk")).writeStream.format("noop").toTable("pairs")
spark.streams.awaitAnyTermination()
"""
UNREAD = """
a.groupBy("ak").count().writeStream.outputMode("complete").format("console").start()
"""


def checked(bench: Bench, text: str, *options: str) -> tuple[int, str, str]:
    """The exit code, and what was said."""
    write(bench, seed=1, files=0)
    job = bench.folder / "job.py"
    job.write_text((HEAD + text).replace("DATA", str(bench.folder / "data")))
    found = CliRunner().invoke(app, ["check", str(job), *options])
    return found.exit_code, found.stdout, found.stderr


def test_a_bounded_job(bench: Bench) -> None:
    code, out, err = checked(bench, BOUNDED)
    assert code == 0, err
    assert out.startswith("✓ near: BOUNDED")
    assert "hello from the job" in err
    assert "note: not run: write.parquet of a batch" in err
    assert "note: not run: the function of foreachBatch of near" in err
    assert not (bench.folder / "data" / "copy").exists()


def test_an_unbounded_job_and_its_json(bench: Bench) -> None:
    code, out, _ = checked(bench, BOUNDED + UNBOUNDED, "--json")
    assert code == 3
    assert [q["verdict"] for q in json.loads(out)["queries"]] == ["bounded", "unbounded"]


def test_a_query_that_cannot_be_read(bench: Bench) -> None:
    code, _, err = checked(bench, BOUNDED + UNREAD)
    assert code == 2
    assert "query_2: error: Penstock knows the output modes append and update, not complete" in err


def test_jobs_that_fail_or_start_nothing(bench: Bench, tmp_path: Path) -> None:
    assert checked(bench, "")[2].endswith("hint: a job is checked by what its start() would run\n")
    code, _, err = checked(bench, "spark.table('nowhere')")
    assert code == 2
    assert "job.py, line 12, failed: AnalysisException" in err
    found = CliRunner().invoke(app, ["check", str(tmp_path / "none.py")])
    assert found.exit_code == 2
    assert "there is no file" in found.stderr


@pytest.mark.thorough
def test_metrics_of_an_adopted_query(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, files=2)
    s = streams(spark, bench)
    adopted = penstock.adopt(s.a.join(s.b, (s.a.ak == s.b.bk) & (s.a.ats == s.b.bts)), query="pairs")
    seen: list[int] = []
    query = (
        adopted.writeStream.foreachBatch(lambda rows, _: seen.append(rows.count()))
        .option("checkpointLocation", str(bench.folder / "kept"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    table = penstock.metrics(query)
    assert [line["query"] for line in table] == ["pairs"] * len(table)
    assert sum(line["rows_out"] for line in table) == sum(seen)
    assert sum(line["rows_in"]["a"] for line in table) == 21
    assert str(table).splitlines()[0].split()[:2] == ["batch", "rows_in"]
    assert table._repr_html_().count("<tr>") == len(table) + 1
    assert any(name.startswith("penstock_") for name in query.recentProgress[0]["observedMetrics"])


def test_a_query_that_is_not_adopted_has_no_metrics() -> None:
    class Plain:
        recentProgress = ()  # noqa: N815 - as Spark has it

    with pytest.raises(UsageError, match="no batch of this query has counts of Penstock's"):
        penstock.metrics(Plain())  # type: ignore[arg-type]
