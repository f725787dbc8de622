"""`penstock bench skew`: all rows are dealt, copies are counted, and what is uneven is shown as falling short."""

from __future__ import annotations

import pytest
from benchmarks.skew.main import AIM, CASES, Dealt, as_text, dealt, short

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "three streams, two keys"])
def test_rows_of_two_streams_are_sent_once(name: str) -> None:
    found = dealt(BY_NAME[name], 16, 2_000, is_split=False)
    assert (found.cells, found.rows, found.sent) == (16, 4_000, 4_000)


def test_rows_that_lack_a_key_are_copied_along_its_axis() -> None:
    found = dealt(BY_NAME["three streams, two keys"], 16, 2_000, is_split=False)
    assert found.copies == pytest.approx(3.0)


def test_a_frequent_value_of_one_of_two_columns_fills_no_cell() -> None:
    assert dealt(BY_NAME["two columns, half of one the same"], 16, 20_000, is_split=False).skew < 1.2


def test_a_key_with_half_of_the_rows_fills_a_cell_until_it_is_split() -> None:
    case = BY_NAME["one key with half of a stream"]
    together, split = (dealt(case, 16, 20_000, is_split=is_split) for is_split in (False, True))
    assert together.skew > AIM
    assert split.skew < 1.2
    assert 1.0 < split.copies < 1.1, "the few rows of the other stream are copied"


def test_what_is_uneven_though_it_is_split_is_shown_as_falling_short() -> None:
    uneven, even = Dealt("uneven", True, 4, 40, 40, 30), Dealt("even", True, 4, 40, 40, 11)
    assert short([uneven, even, Dealt("as it starts", False, 4, 40, 40, 30)]) == ["uneven"]
    assert as_text(40, [uneven])[-1].endswith("SHORT")
    assert not as_text(40, [even])[-1].endswith("SHORT")
