"""A changed script on the checkpoint of what it was: taken over where the state allows it, else refused, exit code 2.

What may change, and that nothing becomes wrong, is shown at the core (tests/runtime/test_takeover.py).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench

SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN {d} ON VIOLATION {policy})
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN {d})
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING json OPTIONS (path '{out}');
INSERT INTO out SELECT {columns} FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN -5 AND 5;
"""
ROWS = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.int64())])


def script(columns: str, d: int, policy: str = "ADAPT") -> str:
    return SCRIPT.replace("{columns}", columns).replace("{d}", str(d)).replace("{policy}", policy)


def write(bench: Bench, s: list[tuple[int, int, int]], t: list[tuple[int, int, int]]) -> None:
    for name, rows in (("s", s), ("t", t)):
        bench.write(name, [dict(zip(("k", "n", "ts"), row, strict=True)) for row in rows], ROWS)


def answer(bench: Bench) -> Counter[str]:
    files = (path for path in (bench.folder / "out").glob("*.json"))
    return Counter(line for path in files for line in path.read_text().splitlines())


def rows(*found: dict[str, Any]) -> Counter[str]:
    return Counter(json.dumps(row, separators=(",", ":")) for row in found)


def test_columns_a_wider_within_and_a_policy_are_taken_over(bench: Bench) -> None:
    conf = {"penstock.cells": "2"}
    write(bench, [(1, 1, 100), (2, 2, 99)], [])
    assert bench.run(script("s.n AS a", 2), conf=conf).code == 0
    write(bench, [], [(1, 3, 103), (2, 4, 101)])
    # 90 is 13 below the highest of t: a violation under WITHIN 2, allowed by WITHIN 20 once the clock has passed it.
    ran = bench.run(script("s.n AS a, s.ts AS at, t.k + 1 AS more", 20, "QUARANTINE"))
    assert ran.code == 0, ran.err
    assert "note: out goes on with the state of what it was before: " in ran.err
    assert (
        "`ORDERED BY ts WITHIN 2 ON VIOLATION ADAPT` then, `ORDERED BY ts WITHIN 20 ON VIOLATION QUARANTINE` now"
        in ran.err
    )
    assert answer(bench) == rows({"a": 1, "at": 100, "more": 2}, {"a": 2, "at": 99, "more": 3})
    write(bench, [(1, 5, 140)], [(1, 6, 140)])
    write(bench, [(1, 7, 122)], [(1, 8, 121)])
    before = answer(bench)
    ran = bench.run(script("s.n AS a, s.ts AS at, t.k + 1 AS more", 20, "QUARANTINE"))
    assert ran.code == 0, ran.err
    assert "note:" not in ran.err, "it is its own by now"
    assert all(not any(line["violations"].values()) for line in ran.batches), "18 and 19 below the highest"
    assert answer(bench) - before == rows(
        *({"a": a, "at": at, "more": 2} for a, at in ((5, 140), (7, 122))),
    )
    ran = bench.run(script("s.n AS a, s.ts AS at, t.n AS more", 20, "QUARANTINE"))
    assert ran.code == 2
    assert "stored rows have no t.n, which was not asked for when they came" in ran.err
    ran = bench.run(script("s.n AS a, s.ts AS at, t.k + 1 AS more", 20, "RECOVER"))
    assert ran.code == 2
    assert "RECOVER needs rows that are thrown away without it" in ran.err


@pytest.mark.thorough
def test_rows_that_are_copied_are_not_kept_out_of_one_cell_alone(bench: Bench, spark: SparkSession) -> None:
    """A match in one cell would put a row into quarantine there, and its copies would go on joining."""
    made = """
    CREATE STREAM s (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts,
      COOCCURS (k) AND t (k) WINDOW [-9, 9] ON VIOLATION {policy}) USING parquet OPTIONS (path '{data}/s');
    CREATE STREAM t (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts) USING parquet OPTIONS (path '{data}/t');
    CREATE STREAM u (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts) USING parquet OPTIONS (path '{data}/u');
    CREATE SINK out USING json OPTIONS (path '{out}');
    INSERT INTO out SELECT s.n FROM s, t, u WHERE s.k = t.k AND t.n = u.n;
    """
    write(bench, [(1, 1, 100)], [(1, 2, 100)])
    bench.write("u", [{"k": 1, "n": 2, "ts": 100}], ROWS)
    first = bench.run(made.replace("{policy}", "ADAPT"), conf={"penstock.cells": "4"})
    spark.conf.unset("penstock.cells")
    assert first.code == 0, first.err
    kept = json.loads((bench.folder / "checkpoint" / "out" / "plan.json").read_text())
    assert kept["cells"] == [2, 2], "the rows of s lie in two cells each"
    ran = bench.run(made.replace("{policy}", "QUARANTINE"))
    assert ran.code == 2
    assert "its rows lie in several cells each, and a match would put them into quarantine in one" in ran.err


@pytest.mark.thorough
def test_a_batch_that_is_under_way_ends_first(bench: Bench) -> None:
    write(bench, [(1, 1, 100)], [(1, 2, 100)])
    assert bench.run(script("s.n AS a", 2)).code == 0
    for path in (bench.folder / "checkpoint/out/spark/commits").iterdir():
        path.unlink()
    ran = bench.run(script("s.n AS a", 3))
    assert ran.code == 2
    assert "batch 0 is under way: run it as it was once" in ran.err
    assert bench.run(script("s.n AS a", 2)).code == 0
    assert bench.run(script("s.n AS a", 3)).code == 0
    assert answer(bench) == rows({"a": 1})


@pytest.mark.thorough
def test_groups_of_a_window_go_on_with_a_wider_within(bench: Bench) -> None:
    grouped = """
    CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {d} SECONDS)
      USING json OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
    CREATE SINK out USING json OPTIONS (path '{out}');
    INSERT INTO out SELECT k, count(*) AS c FROM s GROUP BY k, window(ts, '10 seconds');
    """

    def put(*seconds: int) -> None:
        lines = (json.dumps({"k": 1, "ts": f"2026-01-01T00:00:{second:02d}Z"}) for second in seconds)
        bench.write_text("s", f"{bench.files:04d}.json", "\n".join(lines))

    put(1, 5, 15)
    assert bench.run(grouped.replace("{d}", "2")).code == 0
    assert answer(bench) == rows({"k": 1, "c": 2})
    put(16, 14, 27)
    put(18, 45)
    ran = bench.run(grouped.replace("{d}", "12"))
    assert ran.code == 0, ran.err
    assert answer(bench) == rows({"k": 1, "c": 2}, {"k": 1, "c": 4}, {"k": 1, "c": 1})
    assert all(not any(line["violations"].values()) for line in ran.batches)
