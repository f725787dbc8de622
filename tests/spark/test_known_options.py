"""Options that Spark passes over are told; those that it knows are not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.compile import plan
from penstock.spark.known_options import known_options, unknown_options
from penstock.spark.told import opening_lines
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
        ("kafka", "kafka.client.id 'x', subscribe 't', value.timestampFormat 'y', VALUE.ALLOWCOMMENTS 'true'"),
        ("kafka", "subscribe 't', value.format 'AVRO', value.schemaFile 'x.avsc', value.schemaId '1'"),
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
        ("kafka", "subscribe 't', value.formt 'avro'", "no option value.formt, and Spark passes over it; did you mean"),
        ("kafka", "subscribe 't', value.timestmpFormat 'y'", "did you mean value.timestampFormat?"),
        ("kafka", "subscribe 't', value.schema 'long'", "kafka knows no option value.schema"),
        ("kafka", "subscribe 't', key.columns 'k'", "kafka knows no option key.columns"),
    ],
)
def test_what_spark_passes_over_is_told(spark: SparkSession, kind: str, options: str, says: str) -> None:
    assert says in told(spark, kind, options)
    assert "did you mean maxFilesPerTrigger?" in told(spark, "parquet", "path 'x', maxFilePerTrigger '1'")
    assert "sink out: csv knows no option compresion" in told(spark, "parquet", "path 'x'", "csv", "compresion 'gzip'")
    without_keys = told(spark, "parquet", "path 'x'", "kafka", "topic 't', key.column 'k'")
    assert (
        "sink out: kafka knows no option key.column, and Spark passes over it; did you mean key.columns?"
        in without_keys
    )


def test_the_lists_are_there_in_this_spark(spark: SparkSession) -> None:
    for kind in ("csv", "json", "parquet", "orc", "text"):
        assert len(known_options(spark, kind, is_sink=False)) > 12


def test_a_run_tells_it_and_goes_on(bench: Bench) -> None:
    bench.write("s", rows(0, 2), KN)
    bench.write("t", rows(0, 2), KN)
    ran = bench.run((PLAIN + JOIN).replace("maxFilesPerTrigger", "maxFilePerTrigger"))
    assert ran.code == 0, ran.err
    assert "note: stream s: parquet knows no option maxFilePerTrigger" in ran.err


def test_a_misspelt_column_of_records_is_told() -> None:
    """It would be a field of their values, which has none: NULL in every row."""
    text = """CREATE STREAM o (id BIGINT, _offest BIGINT, _key STRING, _id STRING, _day DATE AS (to_date(_timestmp)),
      _timestmp TIMESTAMP) USING kafka OPTIONS (subscribe 't'); SELECT id FROM o;"""
    script = penstock.parse(text)
    (query,) = script.queries
    notes = opening_lines(script, [(query, plan(script))], has_checkpoint=True)
    assert notes == [
        "note: query_1: o._offest is read from the value of a record; did you mean _offset, which is its own?",
        "note: query_1: o._timestmp is read from the value of a record; did you mean _timestamp, which is its own?",
    ]
