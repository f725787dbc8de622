"""`penstock bench skew`: all rows are dealt, copies are counted, and what is uneven is shown as falling short."""

from __future__ import annotations

import pytest
from benchmarks.skew.main import AIM, CASES, Dealt, as_text, dealt, short

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "three streams, two keys"])
def test_rows_of_two_streams_are_sent_once(name: str) -> None:
    found = dealt(BY_NAME[name], 16, 2_000)
    assert (found.cells, found.rows, found.sent) == (16, 4_000, 4_000)


def test_rows_that_lack_a_key_are_copied_along_its_axis() -> None:
    found = dealt(BY_NAME["three streams, two keys"], 16, 2_000)
    assert found.copies == pytest.approx(3.0)


def test_a_frequent_value_of_one_of_two_columns_fills_no_cell() -> None:
    assert dealt(BY_NAME["two columns, half of one the same"], 16, 20_000).skew < 1.2


def test_a_key_with_half_of_the_rows_is_shown_as_falling_short() -> None:
    found = dealt(BY_NAME["one key with half of a stream"], 16, 2_000)
    assert found.skew > AIM
    assert short([found]) == [found.case]
    assert as_text(2_000, [found])[-1].endswith("SHORT")
    even = Dealt("even", 4, 40, 40, 11)
    assert short([even]) == []
    assert not as_text(40, [even])[-1].endswith("SHORT")
