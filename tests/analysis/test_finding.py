"""Findings are values: equal if they say the same, whatever was worked out beside them."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Means, Undecided, Witness
from penstock.analysis.reasons import BoundedBy, Growth
from tests.analysis.scripts import query_of


def test_findings_of_equal_reasons_are_equal() -> None:
    assert Bounded(BoundedBy.LAST_ROWS(3), Means.WINDOW) == Bounded(BoundedBy.LAST_ROWS(3), Means.WINDOW)
    assert Bounded(BoundedBy.LAST_ROWS(3), Means.WINDOW) != Bounded(BoundedBy.LAST_ROWS(4), Means.WINDOW)
    assert Undecided(()).verdict == "undecided"


def test_verdicts_of_one_query_are_equal_and_carry_what_was_derived() -> None:
    query = query_of("a (k BIGINT)", "b (k BIGINT)", select="SELECT a.k FROM a, b WHERE a.k = b.k")
    one, other = check_query(query), check_query(query)
    assert one == other
    assert one.graph is not None
    assert one.graph is not other.graph
    assert one.graph.query is query


def test_a_witness_gives_as_many_rows_as_it_is_asked_for() -> None:
    growth = Growth.NEW_VALUE_MAY_MATCH("a", "k", "b")
    rows = tuple(("a", (("k", n),)) for n in range(4))
    assert Witness(growth, rows[:2]).first(9) == rows[:2]
    assert Witness(growth, rows[:2], lambda count: rows[:count]).first(3) == rows[:3]
    assert Witness(growth, rows[:2], lambda count: rows[:count]).first(0) == ()
