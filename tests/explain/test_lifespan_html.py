"""The picture of how long rows are kept: lengths as shares of one axis, what has no end, words that say the same."""

from __future__ import annotations

import re

import pytest

from penstock.analysis.finding import each_block
from penstock.explain.lifespan_html import lifespans
from tests.explain.explained import explained

STREAM = "CREATE STREAM {0} (k BIGINT, ts TIMESTAMP, EVENT TIME ts{1});"


def _picture(
    select: str, a: str = ", ORDERED BY ts WITHIN 1 MINUTE", b: str = ", ORDERED BY ts WITHIN 1 MINUTE"
) -> str:
    of = explained(STREAM.format("a", a) + STREAM.format("b", b) + select)
    return "\n".join(lifespans(of.script.queries[0], of.verdicts[0]))


def _bars(text: str) -> list[tuple[str, float]]:
    return [(look, float(width)) for look, width in re.findall(r'<i class="([^"]+)" style="width: ([\d.]+)%">', text)]


def test_bars_are_shares_of_the_longest_and_end_with_the_lateness() -> None:
    text = _picture("SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 9 MINUTES;")
    ours, late, spark, spark_late = _bars(text)[:4]
    assert (ours[0], late[0], spark[0], spark_late[0]) == ("ends", "ends late", "spark", "spark late")
    assert ours[1] == pytest.approx(9 * late[1], rel=0.01)
    assert ours[1] == spark[1]
    assert "waits for b: until b.ts has passed a.ts + 9 MINUTES" in text
    assert "Spark keeps it until the least watermark of all streams has passed a.ts + 9 MINUTES" in text
    assert "a row is kept for 10 minutes of event time, the lateness of others included" in text
    assert "+2 minutes" in text


def test_what_nothing_closes_has_an_arrow() -> None:
    text = _picture("SELECT a.k FROM a, b WHERE a.k = b.k;", "", "")
    assert {look for look, _ in _bars(text)} == {"endless", "spark endless"}
    assert "for ever: nothing closes b for it" in text


def test_what_ends_by_other_promises_is_striped_though_spark_keeps_for_ever() -> None:
    text = _picture(
        "SELECT a.k FROM a, b WHERE a.k = b.k;", ", FOLLOWS b (k) ON (k) WITHIN 9 ROWS", ", PRIMARY KEY (k)"
    )
    assert _bars(text)[:2] == [("until", 100.0), ("spark endless", 100.0)]
    assert "until 9 more rows of b have arrived" in text


def test_nothing_is_drawn_of_one_stream_alone() -> None:
    assert _picture("SELECT a.k FROM a;") == ""


def test_rows_that_are_merged_say_so() -> None:
    text = _picture("SELECT count(*) AS n FROM a, b WHERE a.k = b.k AND a.k IN (1, 2) AND b.k IN (1, 2);", "", "")
    assert "2 distinct rows" in text


def test_what_is_not_known_has_no_arrow() -> None:
    streams = "CREATE VIEW v AS SELECT DISTINCT k, ts FROM a; "
    of = explained(
        STREAM.format("a", ", ORDERED BY ts WITHIN 1 MINUTE")
        + STREAM.format("b", "")
        + streams
        + "SELECT v.k FROM v JOIN b ON v.k = b.k;"
    )
    verdict = of.verdicts[0]
    assert {state.finding.verdict for state in verdict.streams} == {"undecided"}
    text = "\n".join(lifespans(*each_block(of.script.queries[0], verdict)[-1]))
    assert "not known: nothing that is declared closes b for it" in text
    assert "for ever: nothing" not in text
    assert "endless" not in {look for look, _ in _bars(text)}


def test_what_spark_refuses_has_no_bar_of_spark() -> None:
    text = _picture("SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.ts = b.ts);")
    assert not any("spark" in look for look, _ in _bars(text))
    assert text.count("Spark refuses it: it has no NOT EXISTS between streams") == 2
