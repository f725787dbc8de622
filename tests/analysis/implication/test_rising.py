"""Rows that rise for ever refute what no finite part of them does; and only that."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.implied import decide
from tests.analysis.implication.scripts import Two

FORWARD = "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [{low}, {high}]"


def implied(goal: str, r: str, s: str = "") -> bool | None:
    two = Two(r, s)
    return decide(two.script, *two.scheme(goal)).implied


@pytest.mark.parametrize(
    ("goal", "low", "high", "answer"),
    [
        # Alike rows come at ever later times: they cannot all stay within a window that is closed above.
        ("COOCCURS (a) AND r (a) WINDOW [-9, 9] ON r", 1, "*", False),
        # They step over no window that is as long as their stride.
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [20, 22] ON r", 1, 2, True),
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [20, 20] ON r", 1, 1, True),
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [7, 7] ON r", 2, 2, False),
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [100, *] ON r", 1, 3, True),
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [*, -1] ON r", 1, 3, False),
    ],
)
def test_where_endless_rows_come_to_lie(goal: str, low: int, high: object, answer: bool) -> None:
    assert implied(goal, FORWARD.format(low=low, high=high)) is answer


def test_a_window_that_is_closed_above_leaves_room_for_no_row_at_all() -> None:
    both = FORWARD.format(low=1, high=2) + ", COOCCURS (a) AND r (a) WINDOW [-9, 9]"
    assert implied("PRIMARY KEY (a) ON r", both) is True


def test_rows_that_may_stand_still_rise_to_nothing() -> None:
    assert implied("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [5, *] ON r", FORWARD.format(low=0, high=2)) is False
