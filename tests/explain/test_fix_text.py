"""Fixes as text: numbered through the whole report, clocks first, each once, under the stream that declares it."""

from __future__ import annotations

import penstock
from penstock.explain.fix_text import difference, fix_lines, numbered, offered
from penstock.explain.ink import Ink

_STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP, EVENT TIME ts);\n" for name in ("a", "b"))
_BAND = "SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR;"
_PLAIN = Ink(colour=False, width=100)


def test_numbers_run_through_the_report_and_watermarks_come_first() -> None:
    script = penstock.parse(f"{_STREAMS}{_BAND}\n{_BAND}")
    verdicts = [penstock.check(script, query.name) for query in script.queries]
    fixes = numbered(verdicts)
    own = len(numbered(verdicts[:1]))
    assert len(fixes) == 2 * own > 2
    assert str(fixes[0]) == "ORDERED BY ts WITHIN AUTO ON a; ORDERED BY ts WITHIN AUTO ON b" == str(fixes[own])
    lines = fix_lines(verdicts[1], own + 1, _PLAIN)
    assert lines[1:3] == [
        f"    {own + 1}  CREATE STREAM a (… , ORDERED BY ts WITHIN AUTO)",
        "       CREATE STREAM b (… , ORDERED BY ts WITHIN AUTO)",
    ]
    assert lines[-1].startswith("    or SELECT /*+ BUDGET(1 GB) */")


def test_states_with_fixes_of_their_own_are_told_apart() -> None:
    verdict = penstock.check(penstock.parse(f"{_STREAMS}{_BAND.replace('a.k FROM', 'DISTINCT a.k, a.ts FROM')}"))
    assert sorted(alias for aliases in offered(verdict).values() for alias in aliases) == ["(distinct)", "a", "b"]
    if len(offered(verdict)) > 1:
        assert any(line.startswith("    for ") for line in fix_lines(verdict, 1, _PLAIN))


def test_what_is_bounded_has_no_fix() -> None:
    script = f"{_STREAMS}{_BAND}".replace("EVENT TIME ts", "EVENT TIME ts, ORDERED BY ts")
    assert fix_lines(penstock.check(penstock.parse(script)), 1, _PLAIN) == []


def test_a_budget_is_no_way_out_for_blocks_below() -> None:
    inner = f"({_BAND.rstrip(';').replace('a.k FROM', 'a.k, b.ts FROM')})"
    verdict = penstock.check(
        penstock.parse(f"{_STREAMS}SELECT DISTINCT x.k FROM (SELECT DISTINCT k FROM {inner} AS y) AS x;")
    )
    assert verdict.verdict != "bounded"
    assert not any("BUDGET" in line for line in fix_lines(verdict, 1, _PLAIN))


def test_the_difference_of_two_texts_is_shown_as_diff_shows_it() -> None:
    assert difference("a\nb\n", "a\nc\nb\n", "f.sql", _PLAIN) == [
        "--- f.sql as it is",
        "+++ f.sql with the fix",
        "@@ -1,2 +1,3 @@",
        " a",
        "+c",
        " b",
    ]
