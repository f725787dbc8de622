"""What is told of stored rows agrees with the metrics, and whom a row waits for is whom it waits for."""

from __future__ import annotations

import pyarrow as pa

from penstock.runtime.kept import kept_in, together
from penstock.testing import Run

SCRIPT = """
CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
SELECT a.k, b.ts FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 10;
"""


def rows(*pairs: tuple[int, int]) -> pa.Table:
    return pa.table({"k": pa.array([k for k, _ in pairs]), "ts": pa.array([ts for _, ts in pairs])})


def test_a_row_is_told_with_whom_it_waits_for() -> None:
    run = Run(SCRIPT, cells=3)
    run.step({"a": rows((1, 0), (2, 5), (3, 100)), "b": rows((1, 3), (9, 4))})
    step = run.step({"a": rows((4, 101)), "b": rows((7, 12))})
    found = {
        alias: together([kept for cell in run.blocks[0].cells for kept in kept_in(cell, 2) if kept.alias == alias], 2)
        for alias in ("a", "b")
    }
    assert {alias: kept.tuples for alias, kept in found.items()} == step.metrics["state_tuples"]
    assert {alias: kept.rows for alias, kept in found.items()} == step.metrics["state_rows"]
    assert found["a"].waiting == {"b": 3}, "b has come to 12: the row at 0 is closed, those at 5, 100 and 101 wait"
    assert found["a"].settled == 0
    assert len(found["a"].oldest) == 2
    assert found["a"].oldest[0].batch == 0
    assert found["a"].oldest[0].waits_for == ("b",)
    assert found["b"].rows == 0, "a has come past all of b"


def test_looking_changes_nothing() -> None:
    seen, unseen = Run(SCRIPT), Run(SCRIPT)
    for batch in range(4):
        tables = {"a": rows((1, batch * 5)), "b": rows((1, batch * 5 + 2))}
        assert seen.step(tables).rows == unseen.step(tables).rows
        kept_in(seen.blocks[0].cells[0], 5)
    assert seen.blocks[0].stores[0].keys() == unseen.blocks[0].stores[0].keys()
