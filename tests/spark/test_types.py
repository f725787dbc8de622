"""Every type of Spark goes through unharmed as a payload, NULL and extremes included, in any time zone of the session.

The rows are written, joined in one batch and compared by Spark itself; only what it reads back counts.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import NotSupportedYet
from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.oracle import bag

VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128Y", "127Y"],
    "SMALLINT": ["-32768S"],
    "INT": ["-2147483648"],
    "BIGINT": ["9223372036854775807"],
    "FLOAT": ["float('NaN')", "float('-Infinity')", "float('-0.0')"],
    "DOUBLE": ["double('NaN')", "1e-320D", "double('-0.0')"],
    "DECIMAL(38,10)": ["-1234567890123456789012345678.0123456789BD"],
    "DECIMAL(5,2)": ["-123.45BD"],
    "STRING": ["''", "'\\u0000é𝄞'"],
    "VARCHAR(10)": ["'abc'"],
    "BINARY": ["X''", "X'00FF'"],
    "DATE": ["DATE'0001-01-01'", "DATE'9999-12-31'"],
    "TIMESTAMP": ["TIMESTAMP'0001-01-01 00:00:00Z'", "TIMESTAMP'9999-12-31 23:59:59.999999Z'"],
    "TIMESTAMP_NTZ": ["TIMESTAMP_NTZ'1500-06-01 12:00:00.000001'"],
    "INTERVAL YEAR TO MONTH": ["INTERVAL '-1-2' YEAR TO MONTH", "INTERVAL '178956970-7' YEAR TO MONTH"],
    "INTERVAL YEAR": ["INTERVAL '3' YEAR"],
    "INTERVAL DAY TO SECOND": ["INTERVAL '-1 02:03:04.000005' DAY TO SECOND"],
    "ARRAY<INT>": ["array()", "array(1, NULL)"],
    "ARRAY<STRUCT<x: INT, y: STRING>>": ["array(named_struct('x', 1, 'y', 'z'), NULL)"],
    "MAP<STRING, ARRAY<INT>>": ["map()", "map('k', array(1, NULL), 'l', NULL)"],
    "STRUCT<x: INT, y: MAP<STRING, TIMESTAMP>>": [
        "named_struct('x', 1, 'y', map('t', TIMESTAMP'2024-01-01 00:00:00Z'))"
    ],
    "VARIANT": ["""parse_json('{"a": [1, null, 2.5]}')"""],
}


def column(number: int) -> str:
    return f"c{number:02d}"


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"] if FULL else ["America/New_York"])
def test_every_type_is_a_payload(bench: Bench, spark: SparkSession, zone: str) -> None:
    most = max(len(values) for values in VALUES.values())
    rows = []
    for row in range(most + 1):
        cells = []
        for kind, values in VALUES.items():
            value = values[row] if row < len(values) else "NULL"
            cells.append(f"CAST({value} AS {'STRING' if kind.startswith('VARCHAR') else kind})")
        rows.append(f"SELECT {row}L AS k, " + ", ".join(f"{c} AS {column(n)}" for n, c in enumerate(cells)))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        spark.sql(" UNION ALL ".join(rows)).coalesce(1).write.parquet(str(bench.folder / "data" / "s"))
        spark.range(most + 1).selectExpr("id AS k").coalesce(1).write.parquet(str(bench.folder / "data" / "t"))
        declared = ", ".join(f"{column(n)} {kind}" for n, kind in enumerate(VALUES))
        ran = bench.run(
            f"""
            CREATE STREAM s (k BIGINT, {declared}) USING parquet OPTIONS (path '{{data}}/s');
            CREATE STREAM t (k BIGINT) USING parquet OPTIONS (path '{{data}}/t');
            CREATE SINK out USING parquet OPTIONS (path '{{out}}');
            INSERT INTO out SELECT s.* FROM s, t WHERE s.k = t.k;
            """,
            conf={"spark.sql.session.timeZone": zone},
        )
        assert ran.code == 0, ran.err
        given, found = (read(spark, str(bench.folder / name)) for name in ("data/s", "out"))
        assert found == given
        assert given.total() == most + 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def read(spark: SparkSession, path: str) -> Any:
    """All rows as text; JSON keeps what a plain cast to text would hide, and has no word for -0.0 and NaN but text."""
    frame = spark.read.parquet(path)
    texts = []
    for field in frame.schema:
        if field.dataType.typeName() in ("array", "map", "struct", "variant"):
            texts.append(f"to_json({field.name})")
        elif field.dataType.typeName() == "binary":
            texts.append(f"hex({field.name})")
        else:
            texts.append(f"CAST({field.name} AS STRING)")
    return bag(frame.selectExpr(*texts).collect())


def test_types_that_arrow_cannot_carry_are_refused_before_anything_starts(spark: SparkSession) -> None:
    script = penstock.parse(
        """
        CREATE STREAM s (k BIGINT, p ARRAY<INTERVAL YEAR TO MONTH>);
        CREATE STREAM t (k BIGINT);
        SELECT s.p FROM s, t WHERE s.k = t.k;
        """
    )
    frame = spark.readStream.format("rate").load()
    inputs = {
        "s": frame.selectExpr("value AS k", "array(INTERVAL '1-2' YEAR TO MONTH) AS p"),
        "t": frame.selectExpr("value AS k"),
    }
    with pytest.raises(NotSupportedYet, match=r"s\.p, an ARRAY<INTERVAL YEAR TO MONTH>"):
        penstock.stream(spark, script, inputs=inputs, allow_unbounded=True)
