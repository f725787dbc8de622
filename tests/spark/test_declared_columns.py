"""A declared column that the data lacks is refused, whatever the format; it is never NULL in silence."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

import penstock
from penstock.errors import DataError
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


def test_a_field_of_json_that_is_spelt_otherwise_is_missing(bench: Bench) -> None:
    """Spark reads it as NULL: it tells upper and lower case apart in JSON, whatever the session says."""
    bench.write_text("s", "0.json", '{"K": 1, "n": 2}\n')
    ran = bench.run(script("k BIGINT, n BIGINT", "json", where=", s.n"))
    assert ran.code == 1
    assert "declares column k, which is not in any row of the first batch" in ran.err
    assert "there are: K, n" in ran.err


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


def write_orc(bench: Bench, rows: dict[str, list[object]]) -> None:
    path = bench.place("s", f"{bench.files:04d}.orc")
    aside = path.with_name("." + path.name)
    orc.write_table(pa.table(rows), str(aside))
    bench.date(aside, path)


@pytest.mark.thorough
def test_a_later_file_of_orc_lacks_a_column_or_has_another_type(bench: Bench) -> None:
    """Of either Spark gives NULL and says nothing."""
    for number in range(9):
        write_orc(bench, {"k": [number, number], "n": [number, None]})
    made = script("k BIGINT, n BIGINT", "orc", where=", s.n").replace("/s');", "/s') WHERE n > 4;")
    ran = bench.run(made)
    assert ran.code == 0, ran.err
    assert sum(bench.sink().values()) == 4
    write_orc(bench, {"k": [99]})
    lacking = bench.run(made)
    assert lacking.code == 1
    assert "0009.orc has no column n, which is declared" in lacking.err
    (bench.folder / "data" / "s" / "0009.orc").unlink()
    write_orc(bench, {"k": [99], "n": ["many"]})
    other = bench.run(made.replace("{out}", "{out}_other"), checkpoint="other")
    assert other.code == 1
    assert "0010.orc has column n as string, and it is declared as int64" in other.err


@pytest.mark.thorough
def test_a_later_file_of_avro_lacks_a_column(spark: SparkSession, bench: Bench) -> None:
    folder = str(bench.folder / "data" / "s")
    whole = spark.range(0, 9, 1, 9).selectExpr("id AS k", "id AS n", "named_struct('a', 1) AS m")
    whole.write.format("avro").save(folder)
    made = script("k BIGINT, n BIGINT, m STRUCT<a: INT>", "avro", where=", s.n")
    ran = bench.run(made)
    assert ran.code == 0, ran.err
    assert sum(bench.sink().values()) == 9
    spark.range(1).selectExpr("id AS k", "id AS n").coalesce(1).write.format("avro").mode("append").save(folder)
    lacking = bench.run(made)
    assert lacking.code == 1
    assert "has no column m, which is declared" in lacking.err


ROWS = """
CREATE STREAM s (k BIGINT) USING json OPTIONS (path '{data}/s');
CREATE TABLE d (k BIGINT, fee BIGINT) USING {format} OPTIONS (path '{data}/d'{options});
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, d.fee FROM s LEFT JOIN d ON s.k = d.k;
"""


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("json", '{"k": 1, "fees": 5}', "table d declares column fee, which is not in any row of it"),
        ("json", '{"k": 1, "fee": "five"}', "table d: a row does not read as declared in "),
        ("json", '{"k": 1, "fee": 5}{"k": 2, "fee": 5}', "line 1: something stands behind the first value of JSON"),
        pytest.param("csv", "fee,k\n5,1", "header", marks=pytest.mark.thorough),
        pytest.param("csv", "k,fee\n1,five", "table d: a row does not read as declared", marks=pytest.mark.thorough),
        pytest.param("csv", "k,fee\n1,5", "", marks=pytest.mark.thorough),
    ],
)
def test_a_table_has_what_it_declares(bench: Bench, kind: str, text: str, said: str) -> None:
    bench.write_text("s", "0.json", '{"k": 1}\n')
    bench.write_text("d", f"0.{kind}", f"{text}\n")
    options = ", header 'true'" if kind == "csv" else ""
    ran = bench.run(ROWS.replace("{format}", kind).replace("{options}", options))
    assert ran.code == (1 if said else 0)
    assert said in ran.err
    assert bench.sink() == ({} if said else {(1, 5): 1})


def test_a_dataframe_whose_values_may_not_fit_is_refused_where_spark_would_not_say_so(
    spark: SparkSession, bench: Bench
) -> None:
    bench.write_text("s", "0.json", json.dumps({"k": 3_000_000_000, "n": "x"}))
    frame = spark.readStream.schema("k BIGINT, n STRING").json(str(bench.folder / "data" / "s"))
    script = penstock.parse("CREATE STREAM s (k INT, n STRING); SELECT s.k, s.n FROM s;")
    penstock.stream(spark, script, inputs={"s": frame})
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(DataError, match="has k as BIGINT, declared as INT"):
            penstock.stream(spark, script, inputs={"s": frame})
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("path", ["s/day=1", "s/day=*", "s/*/in", "s"])
def test_a_folder_tells_a_column_below_the_path_that_is_read(bench: Bench, path: str) -> None:
    folder = bench.folder / "data" / "s" / "day=1" / ("in" if path == "s/*/in" else "")
    folder.mkdir(parents=True)
    (folder / "0.json").write_text('{"k": 1}\n')
    ran = bench.run(script("k BIGINT, day BIGINT", "json", where=", s.day").replace("{data}/s", f"{{data}}/{path}"))
    assert bench.sink() == ({(1, 1): 1} if path == "s" else {})
    assert ran.code == (0 if path == "s" else 1)
    assert path == "s" or "declares column day, which is not in any row of the first batch" in ran.err


@pytest.mark.thorough
def test_a_first_file_without_a_row_says_nothing_of_columns(bench: Bench) -> None:
    made = script("k BIGINT", "json", ", maxFilesPerTrigger '1'")
    bench.write_text("s", "0.json", "")
    assert bench.run(made).code == 0
    bench.write_text("s", "1.json", '{"k": 1}\n')
    ran = bench.run(made)
    assert ran.code == 0, ran.err
    assert bench.sink() == {(1,): 1}
