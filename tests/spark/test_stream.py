"""`penstock.stream`: streaming DataFrames in, a streaming DataFrame out, which composes with the rest of Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from penstock.errors import DataError, UsageError
from penstock.spark.session import PARTITIONS, PROVIDER, ROCKSDB, make_ready
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, bag, joined, same

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT);
CREATE STREAM t (k BIGINT, n BIGINT);
SELECT s.k, s.n, t.n AS m FROM s, t WHERE s.k = t.k;
"""
Rows = list[dict[str, Any]]
S: Rows = [{"k": n % 4, "n": n} for n in range(12)]
T: Rows = [{"k": n % 3, "n": n} for n in range(12)]


def inputs_of(bench: Bench, spark: SparkSession) -> dict[str, DataFrame]:
    for stream, rows in (("s", S), ("t", T)):
        for start in (0, 6):
            bench.write(stream, rows[start : start + 6], KN)
    reader = spark.readStream.schema("k BIGINT, n BIGINT")
    return {name: reader.parquet(str(bench.folder / "data" / name)) for name in "st"}


def collected(frame: DataFrame, name: str, folder: Path) -> Bag:
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return bag(frame.sparkSession.table(name).collect())


def test_bound_frames_and_further_operators(bench: Bench, spark: SparkSession) -> None:
    """Inputs with operators before them, even a repartition of files; a filter, a column and a static join after it."""
    inputs = inputs_of(bench, spark)
    inputs["S"] = inputs.pop("s").where("n < 10").repartition(3)
    answer = penstock.stream(spark, penstock.parse(SCRIPT), inputs=inputs, allow_unbounded=True)
    assert answer.isStreaming
    assert answer.columns == ["k", "n", "m"]
    names = spark.createDataFrame([(0, "zero"), (1, "one")], "k BIGINT, name STRING")
    composed = answer.where("m > 2").withColumn("sum", F.col("n") + F.col("m")).join(names, "k").select("name", "sum")
    expected = joined(
        [[row for row in S if row["n"] < 10], T],
        lambda s, t: same(s["k"], t["k"]) and t["n"] > 2 and s["k"] < 2,
        lambda s, t: (["zero", "one"][s["k"]], s["n"] + t["n"]),
    )
    assert collected(composed, "composed", bench.folder) == expected


@pytest.mark.thorough
def test_repartitioned_files_keep_every_row(bench: Bench, spark: SparkSession) -> None:
    """Rows of one block in several tasks: [ROWS n] asks for their place, and none may be lost for sharing it."""
    inputs = inputs_of(bench, spark)
    inputs["s"] = inputs["s"].repartition(3)
    script = penstock.parse(SCRIPT.replace("FROM s, t", "FROM s [ROWS 100], t [ROWS 100]"))
    answer = penstock.stream(spark, script, inputs=inputs)
    expected = joined([S, T], lambda s, t: same(s["k"], t["k"]), lambda s, t: (s["k"], s["n"], t["n"]))
    assert collected(answer, "repartitioned", bench.folder) == expected


def test_wrong_inputs_are_told(bench: Bench, spark: SparkSession) -> None:
    inputs = inputs_of(bench, spark)
    script = penstock.parse(SCRIPT)

    def stream(**changed: DataFrame) -> DataFrame:
        return penstock.stream(spark, script, inputs={**inputs, **changed}, allow_unbounded=True)

    with pytest.raises(UsageError, match="no streaming DataFrame"):
        stream(s=spark.range(3).selectExpr("id AS k", "id AS n"))
    with pytest.raises(DataError, match="stream s has no column n in its data"):
        stream(s=inputs["s"].drop("n"))
    with pytest.raises(UsageError, match="reads no stream u"):
        stream(u=inputs["s"])
    with pytest.raises(DataError, match="stream s is not of the declared types"):
        stream(s=inputs["s"].selectExpr("k", "array(n) AS n"))
    with pytest.raises(UsageError, match="stream t has no USING"):
        penstock.stream(spark, script, inputs={"s": inputs["s"]}, allow_unbounded=True)
    with pytest.raises(UsageError, match="unbounded"):
        penstock.stream(spark, script, inputs=inputs)


def test_a_default_session_is_made_ready_and_told_once(
    bench: Bench, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = inputs_of(bench, spark)
    known = {name: str(spark.conf.get(name)) for name in (PROVIDER, PARTITIONS)}
    try:
        for name in known:
            spark.conf.unset(name)
        answer = penstock.stream(spark, penstock.parse(SCRIPT), inputs=inputs, allow_unbounded=True)
        cores = spark.sparkContext.defaultParallelism
        told = f"penstock: set in this session: {PROVIDER}={ROCKSDB}, {PARTITIONS}={cores}\n"
        assert capsys.readouterr().err == told
        penstock.stream(spark, penstock.parse(SCRIPT), inputs=inputs, allow_unbounded=True)
        assert capsys.readouterr().err == ""
        assert collected(answer, "default", bench.folder) == joined(
            [S, T], lambda s, t: same(s["k"], t["k"]), lambda s, t: (s["k"], s["n"], t["n"])
        )
    finally:
        for name, value in known.items():
            spark.conf.set(name, value)


def test_workers_run_the_python_of_the_program_where_nobody_named_another(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "no-such-python3")
    monkeypatch.setenv("PYSPARK_PYTHON", "no-such-python3")
    make_ready(spark)
    assert context.pythonExec == "no-such-python3"
    monkeypatch.delenv("PYSPARK_PYTHON")
    make_ready(spark)
    assert context.pythonExec == sys.executable
    assert capsys.readouterr().err == f"penstock: set in this session: PYSPARK_PYTHON={sys.executable}\n"
    make_ready(spark)
    assert capsys.readouterr().err == ""


def test_a_client_of_spark_connect_is_told_what_to_use() -> None:
    with pytest.raises(UsageError, match="Spark Connect has none") as refused:
        make_ready(SimpleNamespace())  # type: ignore[arg-type]
    assert "classic SparkSession" in str(refused.value)


def test_another_state_store_is_refused(bench: Bench, spark: SparkSession) -> None:
    inputs = inputs_of(bench, spark)
    name = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(UsageError, match="RocksDB"):
            penstock.stream(spark, penstock.parse(SCRIPT), inputs=inputs, allow_unbounded=True)
    finally:
        spark.conf.set(name, ROCKSDB)


def test_quarantine_needs_a_place(bench: Bench, spark: SparkSession) -> None:
    inputs = inputs_of(bench, spark)
    text = SCRIPT.replace("s (k BIGINT, n BIGINT", "s (k BIGINT, n BIGINT, PRIMARY KEY (k) ON VIOLATION QUARANTINE")
    script = penstock.parse(text)
    with pytest.raises(UsageError, match="no place for the rows that break PRIMARY KEY"):
        penstock.stream(spark, script, inputs=inputs, allow_unbounded=True)
    spark.conf.set("penstock.quarantine", str(bench.folder / "kept-out"))
    try:
        answer = penstock.stream(spark, script, inputs=inputs, allow_unbounded=True)
        found = collected(answer, "quarantined", bench.folder)
    finally:
        spark.conf.unset("penstock.quarantine")
    first = list({row["k"]: row for row in reversed(S)}.values())
    assert found == joined([first, T], lambda s, t: same(s["k"], t["k"]), lambda s, t: (s["k"], s["n"], t["n"]))
    assert list((bench.folder / "kept-out").rglob("*.parquet"))
