"""Orders of arrival: one that keeps what is declared about it is found where a natural one does."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.analysis.implication.arrival import arrival_obstacle
from penstock.analysis.witness.declarations_hold import Arrived
from tests.analysis.implication.scripts import Two


def told(two: Two, *rows: tuple[int, int, int], endless: bool = False) -> object:
    """Rows (stream, a, time) that arrive, and what stands against every order tried."""
    made = [(Fraction(time), Arrived(two.streams[stream], {"a": a, "b": 0, "ts": time})) for stream, a, time in rows]
    return arrival_obstacle(made, is_endless=endless)


def test_no_rows_arrive_in_any_order() -> None:
    assert told(Two(r="ORDERED BY ts, CLUSTERED BY a")) is None


def test_the_order_of_time_keeps_an_order_of_time() -> None:
    assert told(Two(r="ORDERED BY ts"), (0, 1, 9), (0, 1, 3), (0, 2, 5)) is None


def test_an_order_of_a_column_that_time_does_not_keep_stands_against_it() -> None:
    assert told(Two(r="ORDERED BY ts, ORDERED BY a"), (0, 2, 1), (0, 1, 2)) is not None


def test_what_others_follow_may_come_first() -> None:
    follows = Two(r="FOLLOWS s (a) ON (a) WITHIN 0 ROWS")
    assert told(follows, (0, 1, 1), (1, 1, 2), (1, 2, 3)) is None


@pytest.mark.parametrize(("declared", "stands"), [("CLUSTERED BY a", True), ("ORDERED BY ts", False)])
def test_endless_rows_arrive_by_time(declared: str, stands: bool) -> None:
    assert (told(Two(r=declared), (0, 1, 1), endless=True) is not None) is stands
