"""What forbids to merge rows is told by explain, without letters of a paper, and not by check."""

from __future__ import annotations

import penstock
from penstock.explain.ink import Ink
from penstock.explain.merging_text import merging_lines
from penstock.explain.report import check_report

_PLAIN = Ink(colour=False, width=100)
_STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, v BIGINT);\n" for name in "ab")


def test_each_condition_in_the_way_is_a_line_without_its_letter() -> None:
    verdict = penstock.check(penstock.parse(f"{_STREAMS}SELECT a.v FROM a, b WHERE a.k = b.k;"))
    lines = merging_lines(verdict, _PLAIN)
    assert lines[0] == "  merging  by the conditions alone, rows cannot be merged into a fixed number"
    assert "    - a.v is in the answer, and no constant limits it" in lines
    assert not any("C1" in line or "C2" in line for line in lines)
    assert "merg" not in "\n".join(check_report([verdict], _PLAIN))
    helpless = penstock.check(penstock.parse(f"{_STREAMS}SELECT a.v, b.v AS w FROM a, b;"))
    assert "have no finite domain, so rows cannot be merged" in "\n".join(check_report([helpless], _PLAIN))


def test_what_is_bounded_needs_no_merging() -> None:
    verdict = penstock.check(penstock.parse(f"{_STREAMS}SELECT a.v FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k;"))
    assert merging_lines(verdict, _PLAIN) == []
