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


def line_of(bench: Bench, text: str) -> int:
    """The line of the job that has a text."""
    lines = (bench.folder / "job.py").read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


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
    place = f"job.py:{line_of(bench, 'outputMode')}: query_2"
    assert f"{place}: error: Penstock knows the output modes append and update, not complete" in err


def test_what_was_found_before_a_job_failed_is_told_and_a_limit_with_its_place(bench: Bench) -> None:
    code, out, err = checked(bench, BOUNDED + "\nnear.limit(\n    3\n).writeStream.start()\nraise ValueError('late')")
    assert code == 2
    assert out.startswith("✓ near: BOUNDED")
    job = bench.folder / "job.py"
    made, started = (f"{job}:{line_of(bench, text)}" for text in ("near.limit", ").writeStream.start"))
    assert f"{started}: query_2: error: limit above what keeps state cannot be read, at {made}\n" in err
    assert f"job.py, line {line_of(bench, 'raise')}, failed: ValueError: late" in err


def test_a_job_reads_the_tables_that_its_queries_would_write(bench: Bench) -> None:
    reads = """
near = a.join(b, F.expr("ak = bk AND ats = bts"))
near.writeStream.format("memory").queryName("near").start().processAllAvailable()
spark.sql("SELECT count(*) FROM near").show()
near.writeStream.toTable("kept_pairs")
assert spark.table("kept_pairs").columns == near.columns
"""
    code, out, err = checked(bench, reads)
    assert (code, out.count("BOUNDED")) == (0, 2), err


def test_the_arguments_of_a_job(bench: Bench) -> None:
    asked = "\nimport argparse\np = argparse.ArgumentParser()\np.add_argument('--out', required=True)\np.parse_args()\n"
    code, _, err = checked(bench, asked + BOUNDED)
    assert (code, "ended with exit code 2" in err, "--args '…'" in err) == (2, True, True)
    code, out, _ = checked(bench, asked + BOUNDED, "--args", "--out 'a folder'")
    assert (code, out[:6]) == (0, "✓ near")


def test_an_adopted_job_is_checked_as_before(bench: Bench) -> None:
    adopted = "\nimport penstock\n" + BOUNDED.replace("near.writeStream", "penstock.adopt(near).writeStream")
    code, out, err = checked(bench, adopted)
    assert (code, out[:6]) == (0, "✓ near"), err


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
