"""Each reason is told once, with all that it is a reason for."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.compile import parse
from penstock.explain.gathered_reasons import SharedReason, by_those_concerned, gathered

TIMES = "ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE"
SCRIPT = f"""
CREATE STREAM a (k BIGINT, {TIMES});
CREATE STREAM b (k BIGINT, {TIMES});
CREATE STREAM c (k BIGINT, ts TIMESTAMP, EVENT TIME ts);
SELECT a.k FROM a, b, c WHERE a.k = b.k AND a.k = c.k
  AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND c.ts BETWEEN a.ts AND a.ts + INTERVAL 2 HOURS;
"""


def reasons(*aliases: str) -> list[SharedReason]:
    verdict = check_query(parse(SCRIPT).queries[0])
    return gathered([state for state in verdict.streams if state.alias in aliases])


def test_a_missing_watermark_is_told_once_for_all_that_wait_for_it() -> None:
    waiting = [one for one in reasons("a", "b") if "wait for rows of c" in one.text]
    assert [one.of for one in waiting] == [("a", "b")]
    assert waiting[0].text.startswith("rows of a, b wait for rows of c")
    assert "c.ts is ordered" in waiting[0].text


def test_of_one_stream_the_conditions_that_limit_its_wait_stand_there() -> None:
    (waiting,) = [one for one in reasons("b") if "waits for rows of c" in one.text]
    assert "INTERVAL 2 HOURS" in waiting.text
    assert waiting.of == ("b",)


def test_nothing_is_told_twice_and_what_concerns_the_same_stands_together() -> None:
    found = reasons("a", "b", "c")
    assert len({one.text for one in found}) == len(found)
    groups = dict(by_those_concerned(found))
    assert sum(map(len, groups.values())) == len(found)
    assert any("a [ROWS n], b [ROWS n]" in text for text in groups["a", "b"])
