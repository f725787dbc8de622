"""Constraints about arrival and constants that follow from a stronger one of the same kind."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.implied import decide
from tests.analysis.implication.scripts import Two


def follows_from(declared: str, wanted: str) -> bool | None:
    two = Two(r=declared)
    return decide(two.script, *two.scheme(f"{wanted} ON r")).implied


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        ("ORDERED BY a WITHIN 3 ROWS", "ORDERED BY a WITHIN 3 ROWS"),
        ("ORDERED BY a WITHIN 3 ROWS", "ORDERED BY a WITHIN 5 ROWS"),
        ("ORDERED BY ts WITHIN 5", "ORDERED BY ts WITHIN 9"),
        ("CLUSTERED BY a WITHIN 2 ROWS", "CLUSTERED BY a WITHIN 4 ROWS"),
        ("FOLLOWS s (a) ON (a) WITHIN 2 ROWS", "FOLLOWS s (a) ON (a) WITHIN 7 ROWS"),
        ("CHECK (a > 5)", "CHECK (a > 3)"),
        ("CHECK (a IN (1, 2))", "CHECK (a < 3)"),
        ("CHECK (a BETWEEN 1 AND 3)", "CHECK (a IN (1, 2, 3))"),
    ],
)
def test_a_weaker_one_follows(declared: str, wanted: str) -> None:
    assert follows_from(declared, wanted) is True


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        ("ORDERED BY a WITHIN 5 ROWS", "ORDERED BY a WITHIN 3 ROWS"),
        ("ORDERED BY a WITHIN AUTO", "ORDERED BY a WITHIN 3 ROWS"),
        ("CLUSTERED BY a WITHIN 4 ROWS", "CLUSTERED BY a WITHIN 2 ROWS"),
        ("CHECK (a > 5)", "CHECK (a > 7)"),
        ("CHECK (a IN (1, 2))", "CHECK (a = 1)"),
    ],
)
def test_a_stronger_one_does_not_follow_by_weakening(declared: str, wanted: str) -> None:
    assert follows_from(declared, wanted) is not True


@pytest.mark.parametrize(
    ("declared", "wanted", "answer"),
    [
        ("ORDERED BY a", "CLUSTERED BY a", True),
        ("ARRIVES BY a", "CLUSTERED BY a", True),
        ("PARTS BY b, ORDERED BY a", "CLUSTERED BY a", None),
        ("PARTS BY b, ARRIVES BY a", "CLUSTERED BY a", None),
        ("PARTS BY b, ARRIVES BY a", "ORDERED BY a", True),
        ("PARTS BY b, ORDERED BY a WITHIN 3 ROWS", "ORDERED BY a WITHIN 5 ROWS", True),
    ],
)
def test_rows_of_one_value_stand_together_by_an_order_only_where_there_are_no_parts(
    declared: str, wanted: str, answer: bool | None
) -> None:
    assert follows_from(declared, wanted) is answer
