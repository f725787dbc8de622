"""JSON that is not plain, met while a query runs: Spark reads that stream from there on; nothing is lost or twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock import compile as way
from penstock.errors import UsageError
from penstock.spark.left_to_spark import met_in
from penstock.spark.local_files import reads_files
from penstock.spark.who_reads import JSON, PARQUET
from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM a (id BIGINT, name STRING, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 10 SECONDS{policy})
  USING json OPTIONS (path '{data}/a', maxFilesPerTrigger '1');
CREATE STREAM b (id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 10 SECONDS)
  USING json OPTIONS (path '{data}/b', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT a.id, a.name FROM a JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;
"""
ODD = {
    "a number where text is declared": '"name":7',
    "an object where text is declared": '"name":{"of":"x"}',
    "single quotes": "'name':'x'",
    "a time with a short month": '"ts":"2024-5-1T00:02:02.25Z"',
    "a blank line": None,
}


def written(bench: Bench, stream: str, number: int, *, odd: str | None = "") -> list[dict[str, Any]]:
    """A file of four rows, the third with another field written in an odd way."""
    rows = [
        {"id": 10 * number + n, "name": f"n{n}", "ts": f"2024-05-01T00:0{number}:0{n}.250Z", "more": {"of": [n]}}
        for n in range(4)
    ]
    lines = [json.dumps(row, separators=(",", ":")) for row in rows]
    if odd is None:
        lines.insert(2, "")
    elif odd:
        name = odd.split(":")[0].strip("\"'")
        lines[2] = "{" + ",".join([odd] + [f'"{k}":{json.dumps(v)}' for k, v in rows[2].items() if k != name]) + "}"
    bench.write_text(stream, f"{number}.json", "\n".join(lines) + "\n")
    return rows


@pytest.mark.parametrize("odd", list(ODD))
def test_a_query_goes_on_with_spark_as_the_reader(bench: Bench, odd: str) -> None:
    for number in range(4):
        written(bench, "a", number, odd=ODD[odd] if number == 2 else "")
        written(bench, "b", number)
    script = SCRIPT.replace("{policy}", "")
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    assert "a/2.json holds JSON that is not plain; Spark reads a from here on" in ran.err
    assert "Spark reads b" not in ran.err
    assert sum(line["rows_in"]["a"] for line in ran.batches) == 16
    numbers = [line["batch"] for line in ran.batches]
    assert numbers == sorted(set(numbers))
    found = bench.sink()
    theirs = bench.run(script.replace("{out}", "{out}/spark"), conf={JSON: "spark"}, checkpoint="checkpoint2")
    assert theirs.code == 0, theirs.err
    assert "not plain" not in theirs.err
    assert found == bench.sink("spark")
    assert sum(found.values()) == 16


def test_what_is_malformed_is_told_as_spark_reads_it(bench: Bench) -> None:
    for number in range(3):
        written(bench, "a", number, odd='"id":"x"' if number == 1 else "")
        written(bench, "b", number)
    ran = bench.run(SCRIPT.replace("{policy}", ""))
    assert ran.code == 1
    assert "stream a: a row does not read as declared in file:" in ran.err
    kept = bench.run(SCRIPT.replace("{policy}", ", ON MALFORMED QUARANTINE"))
    assert kept.code == 0, kept.err
    assert sum(line["malformed"]["a"] for line in kept.batches) == 1
    assert sum(bench.sink().values()) == 11


def test_a_folder_that_begins_with_other_lines_is_read_by_spark_from_the_start(bench: Bench) -> None:
    for number in range(2):
        written(bench, "a", number, odd='"name":7' if number == 0 else "")
        written(bench, "b", number)
    ran = bench.run(SCRIPT.replace("{policy}", ""))
    assert ran.code == 0, ran.err
    assert "not plain" not in ran.err
    assert sum(bench.sink().values()) == 8


def test_a_run_that_has_no_checkpoint_has_spark_read_from_the_beginning(bench: Bench) -> None:
    written(bench, "a", 0, odd='"name":7')
    written(bench, "b", 0)
    text = (
        SCRIPT.replace("{policy}", "").replace("INSERT INTO out ", "").replace("CREATE SINK out", "-- CREATE SINK out")
    )
    ran = bench.run(text, checkpoint=None)
    assert ran.code == 0, ran.err
    assert "not plain" not in ran.err


@pytest.mark.usefixtures("spark")
def test_a_dataframe_has_spark_read_unless_it_is_asked() -> None:
    script = way.parse(SCRIPT.replace("{policy}", "").replace("{data}", "/x").replace("{out}", "/y"))
    stream = script.stream("a")
    assert stream is not None
    plan = way.plan(script)
    settings: dict[str, str] = {}
    assert not reads_files(plan, stream, settings.get)
    settings = {JSON: "penstock"}
    assert reads_files(plan, stream, settings.get)
    assert not reads_files(plan, stream, {**settings, "spark.sql.legacy.timeParserPolicy": "LEGACY"}.get)
    for reader in (JSON, PARQUET):
        with pytest.raises(UsageError, match=f"{reader} is penstock or spark, not duck"):
            reads_files(plan, stream, {reader: "duck"}.get)


def test_the_stream_is_known_by_its_whole_name() -> None:
    script = way.parse(
        "CREATE STREAM `a: b` (id INT); CREATE STREAM a (id INT); SELECT 1 FROM a JOIN `a: b` AS c ON a.id = c.id"
    )
    said = "DataError: error: stream a: b: file:/x holds JSON that only Spark reads as it means\n  detail: x"
    assert met_in(said, script) == ("a: b", "file:/x")
    assert met_in(said.replace("a: b", "c"), script) is None
    assert met_in("something else", script) is None
