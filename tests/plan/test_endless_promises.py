"""Promises that nothing lets go have a notice, and those that have none do not pile up: held against the engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.testing import Run

CLOCK = "ts BIGINT, EVENT TIME ts, ORDERED BY ts"
CHILD = "k BIGINT, m BIGINT, kind BIGINT, FOREIGN KEY (k) REFERENCES p (k), PUNCTUATED ON (m) WHEN kind = 1 LIFESPAN 50"
SCRIPT = """
CREATE STREAM p (k BIGINT, {clock}{more});
CREATE STREAM q (m BIGINT, {clock});
CREATE STREAM c ({child}, {clock});
SELECT c.k FROM c, p, q WHERE c.k = p.k AND c.m = q.m AND q.ts - p.ts BETWEEN 0 AND 5;
"""
BATCHES = 40


@pytest.mark.parametrize(
    ("more", "remembered"),
    [
        (", PRIMARY KEY (k)", "PRIMARY KEY (k) ON p: each of these keys"),
        (", CLUSTERED BY k WITHIN 2 ROWS", "CLUSTERED BY k WITHIN 2 ROWS ON p: each of these clusters"),
        (", PRIMARY KEY (k), FOLLOWS c (k) ON (k) WITHIN 3 ROWS", None),
        (", CLUSTERED BY k WITHIN 2 ROWS, FOLLOWS c (k) ON (k) WITHIN 3 ROWS", None),
    ],
)
def test_three_streams_remember_for_ever_only_what_check_says(more: str, remembered: str | None) -> None:
    script = penstock.parse(SCRIPT.format(clock=CLOCK, child=CHILD, more=more))
    verdict = penstock.check(script)
    assert verdict.verdict == "bounded"
    said = [notice for notice in each_told(verdict.notices) if "is remembered" in notice]
    assert [notice.startswith(remembered or "?") for notice in said] == [True] * (remembered is not None)
    run, counts = Run(script), []
    for number in range(BATCHES):
        at = 10 * number
        brought = {
            "p": pa.table({"k": [number], "ts": [at]}),
            "q": pa.table({"m": [number], "ts": [at + 1]}),
            "c": pa.table({"k": [number, 0], "m": [number, number - 1], "kind": [0, 1], "ts": [at, at]}),
        }
        counts.append(run.step(brought).metrics["promise_rows"])
    grown = counts[-1] - counts[BATCHES // 2]
    assert (grown > BATCHES // 4) == (remembered is not None), counts
