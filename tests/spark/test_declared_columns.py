"""A declared column that the data lacks is refused, whatever the format; it is never NULL in silence."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.measure import size
from tests.spark.conftest import Bench

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s ({columns}) USING {format} OPTIONS (path '{data}/s'{options});
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k{where} FROM s;
"""


def script(columns: str, kind: str = "parquet", options: str = "", where: str = "") -> str:
    made = SCRIPT.replace("{columns}", columns).replace("{format}", kind).replace("{options}", options)
    return made.replace("{where}", where)


def fill(spark: SparkSession, bench: Bench, kind: str) -> None:
    """One file with the columns k and n."""
    match kind:
        case "parquet":
            bench.write("s", [{"k": 1, "n": 2}], KN)
        case "json":
            bench.write_text("s", "0.json", '{"k": 1, "n": 2}\n{"k": 3}\n')
        case "csv":
            bench.write_text("s", "0.csv", "k,n\n1,2\n")
        case _:
            frame = spark.createDataFrame([(1, 2)], "k BIGINT, n BIGINT").coalesce(1)
            frame.write.format(kind).save(str(bench.folder / "data" / "s"))


@pytest.mark.parametrize("kind", ["json", "csv", "parquet", "orc"][: size(2, 4)])
def test_a_column_that_no_file_has_is_refused(spark: SparkSession, bench: Bench, kind: str) -> None:
    fill(spark, bench, kind)
    options = ", header 'true'" if kind == "csv" else ""
    wrong = bench.run(script("k BIGINT, m BIGINT", kind, options, ", s.m").replace("{out}", "{out}_wrong"))
    assert wrong.code == 1
    assert "m" in wrong.err
    assert "Traceback" not in wrong.err
    right = bench.run(script("k BIGINT, n BIGINT", kind, options), checkpoint="other")
    assert right.code == 0, right.err
    assert sum(bench.sink().values()) == (2 if kind == "json" else 1)


def test_the_names_of_a_csv_header_and_not_the_places_of_its_columns(bench: Bench) -> None:
    bench.write_text("s", "0.csv", "n,k\n2,1\n")
    ran = bench.run(script("k BIGINT, n BIGINT", "csv", ", header 'true'", ", s.n"))
    assert ran.code == 1
    assert "header" in ran.err.lower()


@pytest.mark.parametrize("decoder", ["penstock", pytest.param("spark", marks=pytest.mark.thorough)])
def test_a_later_file_that_lacks_a_column_is_named(bench: Bench, decoder: str) -> None:
    bench.write("s", [{"k": 1, "n": 2}], KN)
    for number in range(8):
        bench.write("s", [{"k": number, "n": -1}], KN)
    made = script("k BIGINT, n BIGINT", where=", s.n")
    if decoder == "spark":
        made = made.replace("/s');", "/s') WHERE n > 0;")
    assert bench.run(made).code == 0
    rows = 1 if decoder == "spark" else 9
    assert sum(bench.sink().values()) == rows
    bench.write("s", [{"k": 5}], pa.schema([("k", pa.int64())]), name="lacking here.parquet")
    ran = bench.run(made)
    assert ran.code == 1
    assert "lacking" in ran.err
    assert "has no column n, which is declared" in ran.err
    assert sum(bench.sink().values()) == rows
