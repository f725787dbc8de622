"""The text of `explain`: every stream with what is read, kept and purged; the fixes where there is no bound."""

from __future__ import annotations

from penstock.explain.ink import Ink
from penstock.explain.plan_text import bound_text, explain_report, finding_of, kept_text
from tests.explain.explained import BAND, Explained, bare, explained, ordered


def _text(of: Explained) -> str:
    return "\n".join(explain_report(*of, Ink()))


def test_a_script_without_a_query_has_nothing_to_plan() -> None:
    assert _text(explained("CREATE STREAM s (k BIGINT);")) == "No query in this script: nothing to plan."


def test_each_stream_is_told_with_what_is_kept_and_what_lets_it_go() -> None:
    of = ordered(f"SELECT a.n FROM a, b WHERE {BAND};")
    text = _text(of)
    assert text.startswith("✓ query_1: BOUNDED - exact; rows are kept until no result can need them")
    for source in of.plans[0].sources:
        assert kept_text(source) in " ".join(text.split())
        assert bound_text(finding_of(of.verdicts[0], source.alias)) in " ".join(text.split())


def test_fixes_are_alternatives_with_what_they_leave_open() -> None:
    text = " ".join(_text(bare("SELECT a.k FROM a, b WHERE a.k = b.k;")).split())
    assert "exact if the learned lateness holds" in text
    assert text.count("fix one of these") == 1
    assert "CREATE STREAM b (… , FOLLOWS a (k) ON (k) WITHIN AUTO) CREATE STREAM a (… , FOLLOWS b (k)" in text
