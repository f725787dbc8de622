"""Queries that need no state: no state store, no shuffle, tasks as Spark reads; exact over restarts and changes."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli import app
from tests.spark.conftest import Bench

ROWS = pa.schema([("k", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT DECLARED) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '2');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, s.n * 2 AS m FROM s WHERE s.n <> 3;
"""
PLAIN = SCRIPT.replace(" DECLARED", "")


def _write(bench: Bench, files: range) -> Counter[tuple[int, int]]:
    for file in files:
        bench.write("s", [{"k": file, "n": n % 7} for n in range(100)], ROWS)
    return Counter((file, n % 7 * 2) for file in files for n in range(100) if n % 7 != 3)


def _has_store(bench: Bench) -> bool:
    return (bench.folder / "checkpoint" / "out" / "spark" / "state").exists()


def test_rows_pass_without_a_state_store(bench: Bench) -> None:
    """Two files a batch are two tasks: what each counts is added up. A restart goes on where it was."""
    due = _write(bench, range(4))
    ran = bench.run(PLAIN, unbounded=False)
    assert ran.code == 0, ran.err
    told = [line for line in ran.batches if line["rows_in"]["s"]]
    assert [(line["rows_in"], line["rows_out"], line["exact"]) for line in told] == [
        ({"s": 200}, sum(due[key] for key in due if key[0] in batch), True) for batch in ((0, 1), (2, 3))
    ]
    due += _write(bench, range(4, 5))
    ran = bench.run(PLAIN, unbounded=False, final=True)
    assert ran.code == 0, ran.err
    assert bench.sink() == due
    assert not _has_store(bench)


def test_what_is_watched_has_a_store(bench: Bench) -> None:
    due = _write(bench, range(2))
    ran = bench.run(SCRIPT.replace(" DECLARED", ", CHECK (n < 6)"))
    assert (ran.code, "INEXACT" in ran.out + ran.err) == (0, True), ran.err
    assert bench.sink() == due
    assert _has_store(bench)


@pytest.mark.thorough
def test_a_changed_query_goes_on_or_says_why_not(bench: Bench) -> None:
    """A column more is a column more; a promise to be watched would need what came before."""
    before = _write(bench, range(2))
    assert bench.run(PLAIN, unbounded=False).code == 0
    watched = bench.run(SCRIPT.replace(" DECLARED", ", CHECK (n < 6)"), unbounded=False)
    assert (watched.code, "has needed no state so far" in watched.err) == (2, True), watched.err
    after = _write(bench, range(2, 4))
    ran = bench.run(PLAIN.replace("AS m", "AS m, s.k + 1 AS l"), unbounded=False)
    assert ran.code == 0, ran.err
    tables = [pq.read_table(file) for file in (bench.folder / "out").glob("*.parquet")]
    found = Counter(tuple(row.values()) for table in tables for row in table.to_pylist())
    assert found == before + Counter({(k, m, k + 1): n for (k, m), n in after.items()})


@pytest.mark.thorough
def test_state_and_rescale_of_a_query_without_state(bench: Bench) -> None:
    _write(bench, range(2))
    assert bench.run(PLAIN, unbounded=False).code == 0
    for command, said in ((["state"], "out: needs no state, and keeps none"), (["rescale", "--cells", "3"], "out: ")):
        done = CliRunner().invoke(app, [command[0], str(bench.folder / "checkpoint"), *command[1:]])
        assert (done.exit_code, said in done.output) == (0, True), (command, done.output, done.exception)


def test_malformed_rows_are_counted_and_kept(bench: Bench) -> None:
    bench.write_text("s", "a.json", '{"k": 1, "n": 1}\n{"k": "x", "n": 2}\n{"k": 2, "n": 3}\n')
    bench.write_text("s", "b.json", '{"k": 3, "n": 4}\n{"k": 4, "n": "y"}\n')
    script = PLAIN.replace("USING parquet OPTIONS (path '{data}", "USING json OPTIONS (path '{data}")
    ran = bench.run(script.replace("n BIGINT)", "n BIGINT, ON MALFORMED QUARANTINE)"), unbounded=False)
    assert (ran.code, "2 rows" in ran.out + ran.err) == (0, True), ran.err
    assert bench.sink() == {(1, 2): 1, (3, 8): 1}
    kept = list((bench.folder / "checkpoint" / "out" / "quarantine").glob("**/*.parquet"))
    assert sum(pq.read_table(file).num_rows for file in kept) == 2
    assert not _has_store(bench)
