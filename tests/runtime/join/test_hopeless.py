"""Streams whose conditions cannot all hold are not stored, under outer joins and EXISTS as under inner joins."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock
from penstock.analysis.finding import Bounded
from penstock.testing import Run

STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, j BIGINT);" for name in "abd")
QUERIES = [
    "SELECT a.k FROM a WHERE a.j < 0 AND a.j > 1 AND NOT EXISTS (SELECT 1 FROM d WHERE a.k = d.k)",
    "SELECT a.k FROM a WHERE a.j < 0 AND a.j > 1 AND EXISTS (SELECT 1 FROM d WHERE a.k = d.k)",
    "SELECT a.k FROM a LEFT JOIN d ON a.k = d.k WHERE a.j < 0 AND a.j > 1",
    "SELECT a.k FROM a LEFT JOIN d ON a.k = d.k AND a.j < 0 AND a.j > 1",
    "SELECT a.k FROM a LEFT JOIN d ON a.k = d.k AND a.j = d.j AND a.j < d.j",
    "SELECT a.k FROM a, b WHERE a.j = b.j AND a.j < b.j AND NOT EXISTS (SELECT 1 FROM d WHERE a.k = d.k)",
    "SELECT a.k FROM a, b WHERE a.j = b.j AND a.j < b.j AND EXISTS (SELECT 1 FROM d WHERE a.k = d.k)",
    "SELECT a.k FROM a JOIN b ON a.j = b.j AND a.j < b.j LEFT JOIN d ON a.k = d.k",
]


@pytest.mark.parametrize("query", QUERIES)
def test_no_more_is_stored_than_the_verdict_says(query: str) -> None:
    script = penstock.parse(f"{STREAMS}{query};")
    run = Run(script)
    emitted = 0
    for start in range(0, 300, 100):
        rows = pa.table({"k": range(start, start + 100), "j": [0] * 100})
        step = run.step({name: rows for name in "abd" if name in run.plan.streams})
        emitted += step.rows.num_rows
        for entry in penstock.check(script).streams:
            if isinstance(entry.finding, Bounded) and entry.finding.rows is not None:
                assert step.metrics["state_rows"][entry.alias] <= entry.finding.rows, entry.alias
    emitted += run.end().rows.num_rows
    keeps_all = "LEFT JOIN d ON a.k = d.k AND" in query
    assert emitted == (300 if keeps_all else 0)
