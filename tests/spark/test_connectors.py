"""A format that needs a package of its own: one sentence says what to install, before anything starts."""

from __future__ import annotations

import pytest

from penstock.spark.connectors import package_hint
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, expected, rows

STREAM = "CREATE STREAM s (k BIGINT) USING {format} OPTIONS (path '{data}/s'); "
SINK = "CREATE SINK out USING {format} OPTIONS (path '{out}'); INSERT INTO out "
PACKAGES = {"delta": "io.delta:delta-spark_4.", "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4."}


@pytest.mark.parametrize("kind", PACKAGES)
def test_what_to_install_is_said_of_a_stream_and_of_a_sink(bench: Bench, kind: str) -> None:
    ran = bench.run(STREAM.replace("{format}", kind) + "SELECT k FROM s;")
    assert ran.code == 2
    assert f"stream s: Spark has no format {kind} here, which a package of its own brings" in ran.err
    assert f"--conf spark.jars.packages={PACKAGES[kind]}" in ran.err
    parquet = STREAM.replace("{format}", "parquet")
    ran = bench.run(parquet + SINK.replace("{format}", kind) + "SELECT k FROM s;")
    assert ran.code == 2
    assert f"sink out: Spark has no format {kind} here" in ran.err
    assert not (bench.folder / "checkpoint").exists()


def test_the_hint_is_true_of_a_registry_that_lacks_the_version_of_this_spark() -> None:
    """The registry may have a package weeks after Spark, or for a Spark before: nobody asks it to write the hint."""
    kafka = package_hint("kafka", "4.3.0")
    assert kafka is not None
    assert (
        "packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0; if the Maven registry has none of it yet, 4.2.0;"
        in kafka
    )
    avro = package_hint("avro", "5.0.1")
    assert avro is not None
    assert "packages=org.apache.spark:spark-avro_2.13:5.0.1; without a network" in avro, "there is no 4.-1"
    delta = package_hint("delta", "4.3.0")
    assert delta is not None
    assert (
        "packages=io.delta:delta-spark_4.3_2.13:VERSION, its newest; if the Maven registry has none for Spark 4.3 yet,"
        in delta
    )
    assert package_hint("parquet", "4.3.0") is None


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("jsn", "did you mean json?"),
        ("parquett", "did you mean parquet?"),
        ("org.nobody.Source", "if a package brings it: --conf spark.jars.packages=…"),
    ],
)
def test_a_format_that_is_none_is_told_with_the_nearest(bench: Bench, kind: str, hint: str) -> None:
    """Spark says `jsn.DefaultSource` of it."""
    parquet = STREAM.replace("{format}", "parquet")
    table = parquet + "CREATE TABLE d (k BIGINT, m BIGINT) USING {format} OPTIONS (path '{data}/d'); "
    scripts = {
        "stream s": STREAM + "SELECT k FROM s;",
        "sink out": parquet + SINK + "SELECT k FROM s;",
        "table d": table + "SELECT s.k, d.m FROM s JOIN d ON s.k = d.k;",
    }
    bench.write("s", rows(0, 6, keys=3), KN)
    for what, script in scripts.items():
        ran = bench.run(script.replace("{format}", kind))
        assert ran.code == 2, what
        assert f"error: {what}: Spark has no format {kind} here\n  hint: {hint}" in ran.err


def test_a_function_of_python_is_no_format(bench: Bench) -> None:
    parquet = STREAM.replace("{format}", "parquet")
    ran = bench.run(parquet + SINK.replace("{format}", "foreachBatch") + "SELECT k FROM s;")
    assert ran.code == 2
    assert "sink out: USING foreachBatch is no format, but a call of a function of Python" in ran.err


def test_a_sink_has_the_folders_that_it_asks_for(bench: Bench) -> None:
    bench.write("s", rows(0, 6, keys=3), KN)
    bench.write("t", rows(0, 6, keys=3), KN)
    ran = bench.run(PLAIN.replace("path '{out}'", "path '{out}', partitionBy 'm'") + JOIN)
    assert ran.code == 0, ran.err
    answer = expected(rows(0, 6, keys=3), rows(0, 6, keys=3))
    assert {path.name for path in (bench.folder / "out").glob("m=*")} == {f"m={m}" for _, m in answer}
