"""How far counts may be off: shares of rows, with what a sample did not see."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.analysis.rewriting.bound import boundary, broken_rows, counted_state, crossing, observed, total, violated
from penstock.analysis.rewriting.rewrite import rewrite_finding
from tests.analysis.rewriting.section_2 import question


def test_epsilon_over_k_is_exact() -> None:
    assert boundary(15, 300) == Fraction(1, 20)
    assert boundary(0, 300) == 0


def test_what_was_seen_in_place_of_the_largest() -> None:
    assert observed([(1.0, 5.0), (0.5, 10.0)], 100.0) == pytest.approx(0.1)
    assert observed([], 100.0) == 0


def test_a_crowd_at_an_end_counts_where_it_is_beyond_chance() -> None:
    assert crossing(0.1, 50, 100) == 0.5
    assert crossing(0.1, 5, 100) == 0.1
    assert crossing(0.1, 12, 100, one_in=4) == 0.1


def test_a_sample_that_saw_some_has_not_seen_others() -> None:
    assert violated(4, 100) == 0.04
    assert violated(4, 100, one_in=10) > 0.04
    assert violated(0, 100, one_in=10) == violated(3, 0) == 0
    assert broken_rows(0, 10) == 0
    assert broken_rows(4) == 4
    assert broken_rows(4, 10) > 40


def test_both_errors_add_up() -> None:
    assert total(0.1, 0.02) == pytest.approx(0.12)


def test_no_row_is_stored_and_the_open_windows_are() -> None:
    query = question().query
    made = rewrite_finding(query).rewriting
    assert made is not None
    state = counted_state(query, made)
    assert [entry.alias for entry in state] == ["s", "sa", "f", "(groups)"]
    assert [entry.finding.rows for entry in state[:3]] == [0, 0, 0]  # type: ignore[union-attr]
