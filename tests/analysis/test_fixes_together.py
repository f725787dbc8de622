"""Of a query whose states have fixes of their own, what is offered bounds the whole; else nothing is."""

from __future__ import annotations

import penstock
from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.explain.fix_text import fix_lines
from penstock.explain.ink import Ink

_STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, v BIGINT, EVENT TIME v);\n" for name in "abc")
_VIEW = "CREATE VIEW w AS SELECT DISTINCT a.k, a.v FROM a JOIN b ON a.k = b.k AND a.v = b.v;\n"


def test_each_fix_of_several_blocks_bounds_all_of_them() -> None:
    script = penstock.parse(f"{_STREAMS}{_VIEW}SELECT w.k FROM w JOIN c ON w.k = c.k AND w.v = c.v;")
    (query,) = script.queries
    verdict = penstock.check(script)
    assert verdict.verdict != "bounded"
    assert verdict.together
    for fix in verdict.together:
        assert check_query(declaring(query, fix)).verdict == "bounded", str(fix)
    lines = fix_lines(verdict, 1, Ink(colour=False, width=100))
    assert lines[0].startswith("  fix  one of these; `penstock check FILE --fix N`")
    assert not any(line.startswith("    for ") for line in lines)


def test_one_list_of_one_block_stays_as_it_is() -> None:
    script = penstock.parse(f"{_STREAMS}SELECT a.k FROM a JOIN b ON a.k = b.k;")
    assert penstock.check(script).together is None


def test_where_no_set_is_known_the_report_says_that_each_is_a_part() -> None:
    grouped = "CREATE VIEW w AS SELECT a.k, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k;\n"
    verdict = penstock.check(penstock.parse(f"{_STREAMS}{grouped}SELECT w.k, c.v FROM w JOIN c ON w.k = c.k;"))
    assert (verdict.near, verdict.together) == (None, None)
    lines = " ".join(fix_lines(verdict, 1, Ink(colour=False, width=1000)))
    assert "no one of these bounds the query: each bounds a part of its state" in lines
    assert "these alone do not bound the query: no fix was found that can be written out for" in lines
