"""Merging bounds what nothing else does, and nothing that a window or VALUE keeps apart."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Means
from penstock.explain.reason_words import each_told, told
from tests.analysis.scripts import query_of

TWO = ("a (k BIGINT, v BIGINT)", "b (k BIGINT)")
BETWEEN = "WHERE a.k = b.k AND a.k BETWEEN 1 AND 4"


def means(select: str) -> list[Means | None]:
    entries = check_query(query_of(*TWO, select=select)).streams
    return [entry.finding.means if isinstance(entry.finding, Bounded) else None for entry in entries]


def test_streams_without_other_bounds_are_merged() -> None:
    verdict = check_query(query_of(*TWO, select=f"SELECT a.k FROM a, b {BETWEEN}"))
    found = verdict.streams[0].finding
    assert isinstance(found, Bounded)
    assert (told(found.bound), found.means, found.rows) == ("4 distinct rows", Means.SYNOPSIS, 4)
    assert "at most 4 rows" in each_told(found.because)


def test_rows_of_a_window_leave_one_by_one_and_are_not_merged() -> None:
    assert means(f"SELECT a.k FROM a [ROWS 3], b {BETWEEN}")[0] is Means.WINDOW


def test_where_nothing_can_match_nothing_is_stored() -> None:
    assert means("SELECT a.k FROM a, b WHERE a.k < b.k AND b.k < a.k") == [Means.STATELESS, Means.STATELESS]


def test_the_number_of_results_bounds_what_distinct_remembers() -> None:
    verdict = check_query(query_of(*TWO, select=f"SELECT DISTINCT a.k FROM a, b {BETWEEN}"))
    stage = verdict.streams[-1]
    assert stage.alias == "(distinct)"
    assert isinstance(stage.finding, Bounded)
    assert stage.finding.rows == 4
