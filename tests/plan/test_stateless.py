"""Which queries need no state: one stream whose rows are final as they come, and nothing to be watched."""

from __future__ import annotations

import pytest

import penstock
from penstock.compile import plan
from penstock.plan.stateless import needs_no_state

STREAM = (
    "CREATE STREAM {name} (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts{more}) "
    "USING parquet OPTIONS (path '/{name}');"
)


def _of(query: str, more: str = "") -> bool:
    streams = "".join(STREAM.format(name=name, more=more) for name in "st")
    return needs_no_state(plan(penstock.parse(f"{streams} {query};")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s.k FROM s",
        "SELECT s.k + 1 AS l, upper(CAST(s.n AS STRING)) AS u FROM s WHERE s.n > 3 AND s.k IS NOT NULL",
        "SELECT v.l FROM (SELECT s.k AS l FROM s WHERE s.n = 1) AS v",
        "SELECT 1 AS one FROM s [ROWS 3]",
    ],
)
def test_needs_none(query: str) -> None:
    assert _of(query)
    assert _of(query, ", PRIMARY KEY (k)")


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("SELECT DISTINCT s.k FROM s", ", CHECK (k BETWEEN 0 AND 9)"),
        ("SELECT count(*) AS c FROM s", ""),
        ("SELECT s.k FROM s, t WHERE s.k = t.k AND s.ts = t.ts", ", ORDERED BY ts WITHIN 1 SECOND"),
        ("SELECT s.n FROM s", ", CHECK (n > 0)"),
        ("SELECT s.k FROM s", ", ORDERED BY ts WITHIN 1 SECOND"),
    ],
)
def test_needs_some(query: str, more: str) -> None:
    assert not _of(query, more)
