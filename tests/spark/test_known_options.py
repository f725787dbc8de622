"""Options that Spark passes over are told; those that it knows are not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.spark.known_options import known_options, unknown_options
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, rows

SCRIPT = """
CREATE STREAM a (k BIGINT) USING {kind} OPTIONS ({options});
CREATE SINK out USING {sink} OPTIONS (path 'y', {given});
INSERT INTO out SELECT a.k FROM a;
"""


def told(
    spark: SparkSession, kind: str, options: str, sink: str = "parquet", given: str = "compression 'snappy'"
) -> str:
    script = penstock.parse(SCRIPT.format(kind=kind, options=options, sink=sink, given=given))
    return "\n".join(unknown_options(spark, script))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (
            "parquet",
            "path 'x', maxFilesPerTrigger '1', MAXFILEAGE '1d', recursiveFileLookup 'true', pathGlobFilter '*'",
        ),
        ("csv", "path 'x', header 'true', sep ';', dateFormat 'y', lineSep '|', ignoreCorruptFiles 'true'"),
        ("json", "path 'x', multiLine 'true', timestampFormat 'y', allowComments 'true'"),
        ("orc", "path 'x', orc.compress 'zlib', mergeSchema 'true'"),
        ("text", "path 'x', wholetext 'true'"),
        ("kafka", "kafka.bootstrap.servers 'h:1', subscribe 't', startingOffsets 'earliest', value.format 'json'"),
        ("delta", "path 'x', whatever 'y'"),
    ],
)
def test_what_spark_knows_is_not_told(spark: SparkSession, kind: str, options: str) -> None:
    assert told(spark, kind, options) == ""


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("parquet", "path 'x', maxFilePerTrigger '1'", "knows no option maxFilePerTrigger"),
        ("csv", "path 'x', delimeter ';'", "knows no option delimeter"),
        ("json", "path 'x', header 'true'", "json knows no option header"),
        (
            "kafka",
            "kafka.bootstrap.servers 'h:1', subscribe 't', startingOffset 'latest'",
            "did you mean startingOffsets?",
        ),
    ],
)
def test_what_spark_passes_over_is_told(spark: SparkSession, kind: str, options: str, says: str) -> None:
    assert says in told(spark, kind, options)
    assert "did you mean maxFilesPerTrigger?" in told(spark, "parquet", "path 'x', maxFilePerTrigger '1'")
    assert "sink out: csv knows no option compresion" in told(spark, "parquet", "path 'x'", "csv", "compresion 'gzip'")


def test_the_lists_are_there_in_this_spark(spark: SparkSession) -> None:
    for kind in ("csv", "json", "parquet", "orc", "text"):
        assert len(known_options(spark, kind, is_sink=False)) > 12


def test_a_run_tells_it_and_goes_on(bench: Bench) -> None:
    bench.write("s", rows(0, 2), KN)
    bench.write("t", rows(0, 2), KN)
    ran = bench.run((PLAIN + JOIN).replace("maxFilesPerTrigger", "maxFilePerTrigger"))
    assert ran.code == 0, ran.err
    assert "note: stream s: parquet knows no option maxFilePerTrigger" in ran.err
