"""Rows match by values and times exactly where they are of one identity; or it is said what would say so."""

from __future__ import annotations

from penstock.analysis.implication.rules import Reach
from penstock.analysis.rewriting.eliminate_window_predicates import WindowPredicates
from tests.analysis.rewriting.section_2 import identity, known
from tests.analysis.test_implication_paper import SECTION_2, without

SECOND = 1_000_000


def predicates(text: str = SECTION_2) -> WindowPredicates:
    return WindowPredicates(known(text), identity(text))


def test_a_match_is_of_one_identity() -> None:
    assert predicates().follows_from_match("sa", ["s"]) is None
    assert predicates(without("vi")).follows_from_match("sa", ["s"]) is not None


def test_the_ties_follow_from_the_identity() -> None:
    found = predicates()
    assert found.match_follows(found.known.question.ties) is None
    lacking = predicates(without("ix"))
    assert lacking.match_follows(lacking.known.question.ties) is not None


def test_how_far_apart_matched_rows_lie() -> None:
    assert predicates().reach("s", "sa").low == 0
    assert predicates().reach("s", "sa") != Reach()
    assert (predicates().reach("s", "sa").high or 0) <= 15 * SECOND


def test_both_limits_of_time_are_needed() -> None:
    open_below = SECTION_2.replace("AND sa.ts >= s.ts\n", "", 1)
    assert open_below != SECTION_2
    assert predicates(open_below).follows_from_match("sa", ["s"]) is not None
