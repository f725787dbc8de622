"""`penstock check job.py`: what a job would start is judged, and nothing is started."""

from __future__ import annotations

import json
import subprocess
import sys
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
REFUSED = """
a.groupBy(F.window("ats", "1 hour")).count().writeStream.outputMode("update").format("console").start()
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


def test_a_query_that_cannot_be_read_and_one_that_would_not_be_adopted(bench: Bench) -> None:
    code, out, err = checked(bench, BOUNDED + UNREAD + REFUSED)
    assert code == 2
    assert "✓ query_3: BOUNDED" in out
    assert "penstock.adopt refuses it: the groups of this query are closed by watermarks" in " ".join(out.split())
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


NOWHERE = """
o = spark.readStream.schema("k BIGINT, ts TIMESTAMP").json("/no/such/place/orders/").withWatermark("ts", "1 minute")
p = spark.readStream.schema("pk BIGINT, pts TIMESTAMP").format("csv").option("path", "/no/such/place/paid").load()
c = spark.readStream.schema("ck BIGINT, cts TIMESTAMP").format("orc").load(path="/no/such/place/clicks")
p, c = p.withWatermark("pts", "1 minute"), c.withWatermark("cts", "1 minute")
o.join(p, F.expr("k = pk AND pts BETWEEN ts AND ts + INTERVAL 1 HOUR")).writeStream.start()
o.join(c, F.expr("k = ck AND cts BETWEEN ts AND ts + INTERVAL 1 HOUR")).writeStream.start()
"""


def test_folders_that_are_not_there(bench: Bench) -> None:
    code, out, err = checked(bench, NOWHERE)
    assert code == 0, err
    assert "✓ orders  bounded" in out
    assert "paid" in out
    assert "clicks" in out
    assert "note: not run: reading /no/such/place/orders" in err
    code, _, err = checked(bench, 'spark.readStream.json("/no/such/place/orders")')
    assert code == 2
    assert "PATH_NOT_FOUND" in err or "schema" in err.lower()


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


WRITES = """
spark.sql("CREATE TABLE IF NOT EXISTS dry_target (x BIGINT) USING parquet LOCATION 'DATA/target'")
spark.range(3).createOrReplaceTempView("dry_range")
spark.sql("INSERT INTO dry_target SELECT id FROM dry_range")
spark.sql("INSERT INTO dry_target SELECT id FROM {some}", some=spark.range(2))
spark.sql("INSERT OVERWRITE DIRECTORY 'DATA/overwritten' USING parquet SELECT :n AS n", {"n": 1})
spark.sql("WITH few AS (SELECT 1 AS x) INSERT INTO dry_target SELECT x FROM few").collect()
spark.sql("CREATE TABLE dry_made USING parquet LOCATION 'DATA/made' AS SELECT id AS x, 'a' AS y FROM dry_range")
assert spark.table("dry_made").columns == ["x", "y"]
spark.range(3).write.mode("overwrite").saveAsTable("dry_saved")
assert spark.table("dry_saved").columns == ["id"]
spark.range(3).writeTo("dry_written").createOrReplace()
assert spark.table("dry_written").columns == ["id"]
spark.range(3).rdd.map(str).saveAsTextFile("DATA/texts")
spark.range(3).foreachPartition(lambda rows: open("DATA/each", "w").close())
spark.range(3).mergeInto("dry_target", F.expr("x = id")).whenNotMatched().insertAll().merge()
assert spark.table("dry_target").count() == 0
assert spark.sql("SELECT 1 + :n AS two", args={"n": 1}).first()["two"] == 2
spark.sql("DROP TABLE dry_target")
spark.table("dry_target")
"""


def test_what_writes_a_batch_does_not_run_however_it_is_said(spark: SparkSession, bench: Bench) -> None:
    code, out, err = checked(bench, WRITES + BOUNDED)
    spark.sql("DROP TABLE IF EXISTS dry_target")
    for name in ("dry_range", "dry_made", "dry_saved", "dry_written"):
        spark.catalog.dropTempView(name)
    assert (code, out[:6]) == (0, "✓ near"), err
    told = [line.removeprefix("note: not run: ") for line in err.splitlines() if line.startswith("note: not run: ")]
    assert told[:-2] == [
        "INSERT in SQL",
        "CREATE TABLE … AS SELECT in SQL",
        "write.saveAsTable of a batch",
        "writeTo.createOrReplace of a batch",
        "RDD.saveAsTextFile of a batch",
        "DataFrame.foreachPartition of a batch",
        "mergeInto.merge of a batch",
        "DROP TABLE in SQL",
    ]
    made = {one.name for one in (bench.folder / "data").iterdir()}
    assert made & {"overwritten", "made", "texts", "each"} == set()


def test_a_job_on_spark_connect_is_told_so(bench: Bench) -> None:
    job = bench.folder / "job.py"
    job.write_text("from pyspark.sql import SparkSession\nSparkSession.builder.remote('sc://far.away').getOrCreate()\n")
    found = CliRunner().invoke(app, ["check", str(job)])
    assert found.exit_code == 2
    assert "job.py, line 2, failed: Penstock reads the plans of Spark itself, and Spark Connect" in found.stderr
    assert "hint: run the job with a classic SparkSession" in found.stderr
    # What was asked of a builder is remembered by Spark for the next.
    SparkSession.builder._options.pop("spark.remote", None)


@pytest.mark.thorough
def test_a_job_that_makes_its_own_context_runs_in_local_mode(bench: Bench) -> None:
    write(bench, seed=1, files=0)
    job = bench.folder / "job.py"
    own = 'SparkSession(SparkContext(conf=SparkConf().setMaster("spark://far.away:7077").setAppName("old")))'
    head = HEAD.replace('SparkSession.builder.appName("mine").master("spark://far.away:7077").getOrCreate()', own)
    asserted = "assert spark.sparkContext.master == 'local[*]'"
    text = f"from pyspark import SparkConf, SparkContext\n{head}{BOUNDED}{asserted}"
    job.write_text(text.replace("DATA", str(bench.folder / "data")))
    command = [sys.executable, "-m", "penstock", "check", str(job)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout[:6]) == (0, "✓ near"), done.stderr


def test_the_arguments_of_a_job(bench: Bench) -> None:
    asked = "\nimport argparse\np = argparse.ArgumentParser()\np.add_argument('--out', required=True)\np.parse_args()\n"
    code, _, err = checked(bench, asked + BOUNDED)
    assert (code, "ended with exit code 2" in err, "--args '…'" in err) == (2, True, True)
    code, out, _ = checked(bench, asked + BOUNDED, "--args", "--out 'a folder'")
    assert (code, out[:6]) == (0, "✓ near")
    code, _, err = checked(bench, "\nraise SystemExit('set OUT first')\n" + BOUNDED)
    assert (code, "job.py ended and said: set OUT first" in err) == (2, True), err


def test_an_adopted_job_is_checked_as_before(bench: Bench) -> None:
    adopted = "\nimport penstock\n" + BOUNDED.replace("near.writeStream", "penstock.adopt(near).writeStream")
    code, out, err = checked(bench, adopted)
    assert (code, out[:6]) == (0, "✓ near"), err


def test_an_adopted_job_without_a_bound_is_unbounded_as_before(bench: Bench) -> None:
    code, out, err = checked(bench, UNBOUNDED)
    assert (code, out[:9]) == (3, "✗ query_1"), err
    adopted = UNBOUNDED.replace("a.join", "import penstock; penstock.adopt(a.join").replace(".writeS", ").writeS", 1)
    again, said, err = checked(bench, adopted)
    assert (again, said) == (code, out), err


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
