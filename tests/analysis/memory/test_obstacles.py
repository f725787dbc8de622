"""Everything that stands against bounded memory for one query, and how many results there can be."""

from __future__ import annotations

import pytest

from penstock.analysis.memory.obstacles import Obstacles
from tests.analysis.memory.queries import query

FEW = "CHECK (a IN (1, 2) AND b BETWEEN 0 AND 4)"


@pytest.mark.parametrize(
    ("select", "s", "conditions"),
    [
        ("SELECT DISTINCT s.a FROM s", FEW, []),
        ("SELECT DISTINCT s.t FROM s", FEW, ["C1"]),
        ("SELECT DISTINCT s.a FROM s, r WHERE s.t = r.t", FEW, ["C2"]),
        ("SELECT s.a FROM s", "", []),
    ],
)
def test_which_conditions_fail(select: str, s: str, conditions: list[str]) -> None:
    found = Obstacles(query(select, s))
    assert sorted({violation.condition for violation in found.violations}) == conditions


def test_how_many_results_there_can_be() -> None:
    assert Obstacles(query("SELECT DISTINCT s.a, s.b FROM s WHERE s.a > 0 AND s.b >= 0", FEW)).results == 10
    assert Obstacles(query("SELECT DISTINCT s.t FROM s")).results is None


def test_a_source_that_another_covers_is_left_out() -> None:
    found = Obstacles(query("SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.a", FEW))
    assert len(found.covers) == 1


def test_conditions_that_cannot_hold_leave_nothing_to_look_at() -> None:
    found = Obstacles(query("SELECT DISTINCT s.t FROM s WHERE s.a > 5 AND s.a < 3"))
    assert not found.order.holds
    assert found.violations == ()
