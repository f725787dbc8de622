"""Punctuations that do not close every value: each was once taken for one that does."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told

OTHER = "CREATE STREAM t (a BIGINT, y BIGINT, k STRING, PUNCTUATED ON (a) WHEN k = 'p');\n"
JOIN = "SELECT s.a, t.y FROM s, t WHERE s.a = t.a;"


@pytest.mark.parametrize(
    ("declared", "because"),
    [
        ("s (a BIGINT, x BOOLEAN, k STRING, PUNCTUATED ON (a, x) WHEN k = 'p')", "s.x may be NULL"),
        (
            "s (a BIGINT, x BIGINT, k STRING, CHECK (x IN (1, 2)), PUNCTUATED ON (a, x) WHEN k = 'p')",
            "s.x may be NULL",
        ),
        ("s (a BIGINT, big BOOLEAN AS (a > 5), PUNCTUATED ON (a) WHEN big)", "other values of a are never closed"),
        (
            "s (a BIGINT, k BIGINT AS (a % 2), l BIGINT AS (k + 1), PUNCTUATED ON (a) WHEN l = 1)",
            "other values of a are never closed",
        ),
        (
            "s (a BIGINT, k STRING, PUNCTUATED ON (a) WHEN k = 'p') USING parquet OPTIONS (path 'x') WHERE k = 'd'",
            "no such punctuation can come: no row of s has k = 'd' and k = 'p'",
        ),
        ("s (a BIGINT, k BIGINT, PUNCTUATED ON (a) WHEN k > 3 AND k < 4)", "no such punctuation can come"),
    ],
)
def test_rows_of_the_other_stream_are_not_said_to_leave(declared: str, because: str) -> None:
    verdict = penstock.check(penstock.parse(f"CREATE STREAM {declared};\n{OTHER}{JOIN}"))
    assert verdict.verdict == "undecided"
    assert dict(verdict.purge.streams)["s"] is True
    assert dict(verdict.purge.streams)["t"] is not True
    (waiting,) = [entry for entry in verdict.streams if entry.alias == "t"]
    assert because in " ".join(each_told(waiting.finding.because))


@pytest.mark.parametrize(
    "declared",
    [
        "s (a BIGINT, x BOOLEAN, k STRING, CHECK (x IS NOT NULL), PUNCTUATED ON (a, x) WHEN k = 'p')",
        "s (a BIGINT, b BIGINT, big BOOLEAN AS (b > 5), PUNCTUATED ON (a) WHEN big)",
        "s (a BIGINT, k STRING, PUNCTUATED ON (a) WHEN a IS NOT NULL AND k = 'p')",
        "s (a BIGINT, k STRING, PUNCTUATED ON (a) WHEN k = 'p') USING parquet OPTIONS (path 'x') WHERE k IN ('d', 'p')",
    ],
)
def test_rows_leave_where_every_value_is_punctuated(declared: str) -> None:
    assert penstock.check(penstock.parse(f"CREATE STREAM {declared};\n{OTHER}{JOIN}")).verdict == "bounded"
