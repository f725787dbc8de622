"""Lines of metrics as a run writes them."""

from __future__ import annotations

from typing import Any

from penstock.compile import judged, parse, plan_of
from penstock.live.about import about

SCRIPT = """
CREATE STREAM a (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
CREATE STREAM b (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);
SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;
"""
BROKEN = "ORDERED BY ts WITHIN 3 SECONDS ON b"


def described(script: str = SCRIPT) -> dict[str, Any]:
    """What the first line says of the query."""
    (query,) = parse(script).queries
    verdict = judged(query)
    return about(query, verdict, plan_of(query, verdict))


def line(batch: int, *, query: str = "query_1", kept: int = 10, broken: int = 0) -> dict[str, Any]:
    """One batch."""
    return {
        "query": query,
        "batch": batch,
        "rows_in": {"a": 100, "b": 200},
        "rows_out": 50,
        "state_rows": {"a": kept, "b": 2 * kept},
        "state_tuples": {"a": kept, "b": 2 * kept},
        "pending_rows": 0,
        "promise_rows": 2,
        "state_bytes": 1024 * kept,
        "purged": {"complete": 5},
        "evicted": 0,
        "recall": None,
        "recall_error": None,
        "violations": {BROKEN: broken},
        "malformed": {},
        "lost": broken,
        "k": {BROKEN: 2.5},
        "seconds": 0.5,
        "exact": not broken,
        "inexact_because": ["a row broke a promise"] if broken else [],
        "oldest": {
            "a": {"batch": max(0, batch - 2), "time": "2026-01-01T00:00:03Z", "waits_for": ["b"]},
            "b": {"batch": batch, "time": "2026-01-01T00:00:09Z", "waits_for": []},
        },
        "clock": {"a": "2026-01-01T00:00:08Z", "b": "2026-01-01T00:00:07Z"},
        "let_go": {"a": {BROKEN: 4}, "b": {"ORDERED BY ts WITHIN 3 SECONDS ON a": 1}},
        "times": {
            "planning": 0.1,
            "scan": 0.02 + batch % 5 / 100,
            "pack": 0.03,
            "shuffle": 0.04,
            "core": 0.11 + batch % 7 / 50,
            "sink": 0.06,
            "committing": 0.05,
        },
    }
