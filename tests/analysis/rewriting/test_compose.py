"""All joins of a query eliminated at once, by one identity; or the first reason why not."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.rules import Reach
from penstock.analysis.rewriting.compose import Composed, compose
from tests.analysis.rewriting.section_2 import composed, known
from tests.analysis.test_implication_paper import FIGURE_3, REDUNDANT, SECTION_2, without

SECOND = 1_000_000


def test_the_running_example() -> None:
    found = composed()
    assert (found.counted, found.removed) == ("sa", ("f",))
    assert found.lags["sa"] == Reach(0, 5 * SECOND)
    assert found.lags["f"] == Reach(0, 15 * SECOND)
    assert found.apart == Reach(0, 10 * SECOND)


NOT_NEEDED = {*REDUNDANT, "vii"}
"""With vi and the FOREIGN KEYs, whose windows are short, vii follows for the rows that this query matches."""


@pytest.mark.parametrize("number", FIGURE_3)
def test_each_constraint_is_needed_but_those_that_follow(number: str) -> None:
    assert isinstance(compose(known(without(number))), Composed) is (number in NOT_NEEDED)


def test_without_a_key_there_is_no_identity() -> None:
    assert not isinstance(compose(known(without("i", "ii", "iii"))), Composed)


def test_groups_are_columns_of_every_counted_source() -> None:
    grouped = SECTION_2.replace("GROUP BY window(", "GROUP BY s.ip, window(", 1)
    assert composed(grouped).groups["f"] == ("ip",)
