"""A value that does not read as its declared type is counted and answered as ON MALFORMED says; never a silent NULL."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import UsageError
from penstock.spark.malformed import reading_options
from penstock.sql import parse_script
from tests.spark.conftest import Bench
from tests.spark.oracle import bag

SCRIPT = """
CREATE STREAM s (name STRING, k BIGINT, n INT, ts TIMESTAMP AS (timestamp_seconds(k)){s}) USING json
  OPTIONS (path '{data}/s') WHERE k < 100;
CREATE STREAM t (k BIGINT, price DOUBLE{t}) USING csv OPTIONS (path '{data}/t');
CREATE SINK out USING parquet OPTIONS (path '{out}/answer');
CREATE SINK odd USING parquet OPTIONS (path '{out}/odd');
INSERT INTO out SELECT s.name, s.n, t.price FROM s, t WHERE s.k = t.k;
"""
GOOD = '{"name": "a", "k": 1, "n": 2}\n{"name": null, "k": 2, "n": null}\n'
WRONG = '{"name": "c", "k": 3, "n": "many"}\n'
BROKEN = '{"name": "d", "k"\n'


def fill(bench: Bench) -> None:
    bench.write_text("s", "0.json", GOOD)
    bench.write_text("s", "1.json", '{"name": "b", "k": "x", "n": 1}\n' + WRONG + BROKEN)
    bench.write_text("t", "0.csv", "1,1.5\n2,\n3,2\n4\n3,cheap\n")


def script(s: str = "", t: str = "") -> str:
    return SCRIPT.replace("{s}", s).replace("{t}", t)


def test_fail_is_the_default_and_names_file_row_and_column(bench: Bench) -> None:
    bench.write_text("s", "0.json", GOOD)
    bench.write_text("s", "1.json", WRONG)
    bench.write_text("t", "0.csv", "1,1.5\n")
    ran = bench.run(script())
    assert ran.code == 1
    assert "stream s: a row does not read as declared" in ran.err
    assert "1.json" in ran.err
    assert '"n": "many"' in ran.err
    assert "it gives no value of n INT" in ran.err
    assert "ON MALFORMED" in ran.err
    assert not list((bench.folder / "out" / "answer").glob("*.parquet"))
    again = bench.run(script(s=", ON MALFORMED NULL"))
    assert again.code == 0, again.err
    assert bench.sink("answer") == bag([("a", 2, 1.5)])
    assert [line["malformed"] for line in again.batches] == [{"s": 1, "t": 0}]


def test_null_goes_on_and_counts(bench: Bench) -> None:
    fill(bench)
    ran = bench.run(script(", ON MALFORMED NULL", ", ON MALFORMED NULL"))
    assert ran.code == 0, ran.err
    assert bench.sink("answer") == bag([("a", 2, 1.5), (None, None, None), ("c", None, 2.0), ("c", None, None)])
    assert [line["malformed"] for line in ran.batches] == [{"s": 3, "t": 2}]
    assert "3 rows of s do not read as declared" in ran.err


def test_quarantine_keeps_the_text_and_its_file_once(bench: Bench, spark: SparkSession) -> None:
    fill(bench)
    asked = script(", ON MALFORMED QUARANTINE", ", ON MALFORMED QUARANTINE INTO odd")
    ran = bench.run(asked)
    assert ran.code == 0, ran.err
    assert bench.sink("answer") == bag([("a", 2, 1.5), (None, None, None)])
    assert [line["malformed"] for line in ran.batches] == [{"s": 3, "t": 2}]
    assert [line["rows_in"] for line in ran.batches] == [{"s": 2, "t": 3}], "rows in quarantine are not in the query"
    (file,) = (bench.folder / "checkpoint" / "out" / "quarantine").glob("malformed-s-*/*.parquet")
    kept = pq.read_table(file).to_pylist()
    assert [row["record"] for row in kept[1:]] == [WRONG.strip(), BROKEN.strip()]
    assert all(row["source_file"].endswith("/s/1.json") for row in kept)
    assert sorted(row["record"] for row in spark.read.parquet(str(bench.folder / "out" / "odd")).collect()) == [
        "3,cheap",
        "4",
    ]
    bench.write_text("t", "1.csv", "1,2.5\n1,x\n")
    (bench.folder / "data" / "t" / "2.csv").write_bytes(b"1,\xff\xfe\n")
    assert bench.run(asked).code == 0
    odd = pq.read_table(bench.folder / "out" / "odd").column("record").to_pylist()
    assert sorted(odd) == ["1,x", "1,\ufffd\ufffd", "3,cheap", "4"], "bytes that are no UTF-8 are told as such"
    assert bench.sink("answer")["a", 2, 2.5] == 1


def test_a_query_that_reads_no_column_sees_broken_rows_too(bench: Bench) -> None:
    bench.write_text("s", "0.json", GOOD + WRONG + BROKEN)
    made = script(s=", ON MALFORMED NULL").split("INSERT")[0].replace("WHERE k < 100", "")
    ran = bench.run(made + "INSERT INTO out SELECT 1 AS one FROM s;")
    assert ran.code == 0, ran.err
    assert bench.sink("answer") == bag([(1,)] * 4)
    assert [line["malformed"] for line in ran.batches] == [{"s": 2}]


def test_dropping_rows_in_silence_is_refused() -> None:
    text = "CREATE STREAM s (k INT) USING json OPTIONS (path 'x', mode 'DROPMALFORMED')"
    with pytest.raises(UsageError, match="nobody counts"):
        reading_options(parse_script(text).streams[0])


def test_a_stream_that_declares_the_text_of_malformed_rows_takes_them(bench: Bench) -> None:
    bench.write_text("s", "0.json", GOOD + WRONG)
    declared = "CREATE STREAM s (k BIGINT, n INT, _corrupt_record STRING) USING json OPTIONS (path '{data}/s');"
    rest = script().partition("WHERE k < 100;")[2].split("INSERT")[0]
    ran = bench.run(declared + rest + "INSERT INTO out SELECT s.k, s.n, s._corrupt_record AS bad FROM s;")
    assert ran.code == 0, ran.err
    assert bench.sink("answer") == bag([(1, 2, None), (2, None, None), (3, None, WRONG.strip())])
    assert [line["malformed"] for line in ran.batches] == [{"s": 1}]


LINES = """
CREATE STREAM s (k BIGINT, ts TIMESTAMP AS (timestamp_seconds(k)){s}) USING json OPTIONS (path '{data}/s'){where};
CREATE STREAM t (k BIGINT, ts TIMESTAMP AS (timestamp_seconds(k)){t}) USING json OPTIONS (path '{data}/t');
CREATE SINK out USING parquet OPTIONS (path '{out}/answer');
INSERT INTO out SELECT s.k FROM s, t WHERE s.k = t.k;
"""
ORDERED = ", EVENT TIME ts, ORDERED BY ts WITHIN 1 HOUR"


@pytest.mark.parametrize(
    ("more", "where"),
    [
        (ORDERED, ""),
        pytest.param("", "", marks=pytest.mark.thorough),
        pytest.param(ORDERED, " WHERE k = 2", marks=pytest.mark.thorough),
        pytest.param(", ON MALFORMED QUARANTINE", "", marks=pytest.mark.thorough),
    ],
)
def test_a_line_of_json_with_a_second_value_is_not_read_in_part(bench: Bench, more: str, where: str) -> None:
    text = LINES.replace("{s}", more).replace("{t}", ORDERED if ORDERED in more else "").replace("{where}", where)
    bench.write_text("s", "0.json", '{"k": 2}\n')
    bench.write_text("t", "0.json", '{"k": 1}\n{"k": 2}\n{"k": 3}\n')
    first = bench.run(text)
    assert first.code == 0, first.err
    assert bench.sink("answer") == {(2,): 1}
    bench.write_text("s", "1 of two.json", '{"k": 1}{"k": 2}\n{"k": 3}\n')
    ran = bench.run(text)
    assert ran.code == 1
    assert "1%20of%20two.json, line 1: something stands behind the first value of JSON" in ran.err
    assert '{"k": 1}{"k": 2}' in ran.err
    assert bench.sink("answer") == {(2,): 1}, "the batch is not committed"
    (bench.folder / "data" / "s" / "1 of two.json").write_text('{"k": 1}\n{"k": 2}\n{"k": 3}\n')
    mended = bench.run(text)
    assert mended.code == 0, mended.err
    assert bench.sink("answer") == ({(2,): 2} if where else {(1,): 1, (2,): 2, (3,): 1})


@pytest.mark.thorough
def test_who_takes_what_spark_reads_takes_the_first_value(bench: Bench) -> None:
    null = ", ON MALFORMED NULL"
    bench.write_text("s", "0.json", '{"k": 1}{"k": 2}\n{"k": 3}}\n')
    bench.write_text("t", "0.json", '{"k": 1}\n{"k": 2}\n{"k": 3}\n')
    ran = bench.run(LINES.replace("{s}", null).replace("{t}", "").replace("{where}", ""))
    assert ran.code == 0, ran.err
    assert bench.sink("answer") == {(1,): 1, (3,): 1}


def test_nor_where_a_table_is_joined_first(bench: Bench) -> None:
    text = """
    CREATE STREAM s (k BIGINT) USING json OPTIONS (path '{data}/s');
    CREATE TABLE d (k BIGINT, fee BIGINT) USING json OPTIONS (path '{data}/d');
    CREATE SINK out USING parquet OPTIONS (path '{out}/answer');
    INSERT INTO out SELECT s.k, d.fee FROM s JOIN d ON s.k = d.k;
    """
    bench.write_text("d", "0.json", '{"k": 2, "fee": 5}\n')
    bench.write_text("s", "0.json", '{"k": 1}{"k": 2}\n')
    ran = bench.run(text)
    assert ran.code == 1
    assert "0.json, line 1: something stands behind the first value of JSON" in ran.err
