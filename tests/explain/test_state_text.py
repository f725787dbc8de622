"""What is kept, told of a query whose state was made by hand."""

from __future__ import annotations

import penstock
from penstock.compile import plan
from penstock.explain.ink import Ink
from penstock.explain.state_text import state_report
from penstock.runtime.kept import KeptRow, KeptStream
from penstock.spark.state_reader import KeptBlock

PLAN = plan(
    penstock.parse(
        "CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
        "CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
        "SELECT a.k, b.ts FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 10;"
    )
)


def test_it_says_how_much_for_whom_until_when_and_shows_rows() -> None:
    row = KeptRow({"k": "7", "ts": "100"}, 2, ("b",))
    streams = (KeptStream("a", 3, 3, {"b": 2}, 1, (row,)), KeptStream("b", 2, 1, {"a": 0}, 0))
    told = state_report("query_1", [KeptBlock(PLAN, 4, 3, 5000, streams, 900)], Ink())
    assert told == [
        "query_1: 5 KB in 4 cells after 3 batches",
        "  a: 3 rows",
        "    2 rows may still meet rows of b to come, until b.ts has passed a.ts + 10",
        "    1 row for which every other stream is closed: such rows stand with rows that wait, or go with a later "
        "batch",
        "    batch 2: k = 7, ts = 100; waits for b",
        "  b: 1 row, 2 with copies",
        "  DISTINCT remembers 1 KB",
    ]


def test_a_stream_that_nothing_closes_is_told_so() -> None:
    bare = plan(
        penstock.parse("CREATE STREAM a (k BIGINT); CREATE STREAM b (k BIGINT); SELECT a.k FROM a, b WHERE a.k = b.k;")
    )
    (_, _, why) = state_report("q", [KeptBlock(bare, 1, 1, 1, (KeptStream("a", 1, 1, {"b": 1}),), None)], Ink())
    assert why == "    1 row may still meet rows of b to come; nothing says when none will come"


def test_a_query_without_cells_is_told_so() -> None:
    assert state_report("q", [], Ink()) == ["q: has no cells, for counts stand for its joins; Spark keeps them"]
