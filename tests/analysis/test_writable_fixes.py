"""Every fix that is offered can be written: what is asked of a query without a name is asked of the streams below."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.judging import verdicts_of
from penstock.cli.writing_fixes import fixed
from penstock.compile import parse
from penstock.explain.fix_text import numbered, wants_length

STREAMS = """CREATE STREAM a (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts);
CREATE STREAM b (k BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts);
"""
NEAR = "a.k = d.k AND d.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a.k FROM a JOIN (SELECT DISTINCT k, ts FROM b WHERE ts IS NOT NULL) AS d ON {NEAR}",
        f"WITH d AS (SELECT DISTINCT k, ts FROM b WHERE ts IS NOT NULL) SELECT a.k FROM a LEFT JOIN d ON {NEAR}",
        f"SELECT a.k FROM a JOIN (SELECT k, window(ts, '1 hour').end AS ts, count(*) AS n FROM b"
        f" GROUP BY k, window(ts, '1 hour')) AS d ON {NEAR}",
        f"SELECT a.k FROM a JOIN (SELECT k, ts FROM b UNION ALL SELECT v, ts FROM b) AS d ON {NEAR}",
    ],
)
def test_an_order_of_a_query_in_from_is_declared_of_the_stream_below(query: str, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    verdicts = verdicts_of(parse(f"{STREAMS}{query};"))
    fixes = numbered(verdicts)
    assert fixes
    assert "ORDERED BY ts WITHIN AUTO ON b" in str(fixes[0])
    for number, fix in enumerate(fixes, 1):
        file.write_text(f"{STREAMS}{query};")
        found = fixed(file, verdicts, number, "1 HOUR" if wants_length(fix) else None)
        assert found[0].verdict == "bounded"


def test_what_has_no_place_below_is_not_offered() -> None:
    query = "SELECT a.k FROM a JOIN (SELECT k, count(*) AS n FROM b GROUP BY k) AS d ON a.k = d.k AND a.v = d.n"
    shown = [str(fix) for fix in numbered(verdicts_of(parse(f"{STREAMS}{query};")))]
    assert not [text for text in shown if "ON d" in text or "FOLLOWS d" in text]


def test_no_stream_refers_to_a_view() -> None:
    view = "CREATE VIEW d AS SELECT DISTINCT k, v, ts FROM b;"
    shown = [
        str(fix) for fix in numbered(verdicts_of(parse(f"{STREAMS}{view} SELECT a.k FROM a JOIN d ON a.k = d.k;")))
    ]
    assert not [text for text in shown if "FOLLOWS d" in text or "REFERENCES d" in text]
