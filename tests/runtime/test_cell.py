"""A cell: the phases of a step in their order, what a step tells, and going on from what was saved."""

from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.runtime import Batch, Cell
from penstock.runtime.cell import PHASES
from tests.runtime.driving import Driver, plan_of, rows_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts"
STREAMS = f"CREATE STREAM s ({FIELDS}); CREATE STREAM t ({FIELDS});"
INNER = f"{STREAMS} SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 5;"
OUTER = f"{STREAMS} SELECT s.n, t.n AS tn FROM s LEFT JOIN t ON s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 5;"


def test_rows_are_joined_before_promises_are_made_of_them() -> None:
    names = [phase.__name__ for phase in PHASES]
    assert names.index("take_in") < names.index("join") < names.index("promise") < names.index("let_go")
    assert names[0] == "admit"
    assert names[-1] == "finish"
    driver = Driver(INNER)
    # The clock of t passes s by this very batch: they meet first.
    assert rows_of(driver.step(s=[(1, 0, 1)], t=[(1, 5, 2), (9, 99, 3)])) == [(1, 2)]
    assert driver.stored("s") == 0


def test_a_step_tells_what_it_read_stores_and_let_go() -> None:
    driver = Driver(INNER)
    first = driver.step(s=[(1, 0, 1), (2, 0, 2), (None, 0, 3)], t=[(1, 1, 9)]).metrics
    assert (first.rows_in, first.rows_out) == ({"s": 3, "t": 1}, 1)
    assert first.state_rows["s"] == 2
    assert sum(driver.step(t=[(8, 50, 8)]).metrics.purged.values()) >= 2


def test_a_batch_without_rows_moves_nothing() -> None:
    cell = Cell(plan_of(OUTER))
    result = cell.step(Batch(0, ()))
    assert result.rows.num_rows == 0
    assert result.metrics.state_rows == {"s": 0, "t": 0}


@pytest.mark.parametrize("script", [INNER, OUTER])
def test_a_cell_goes_on_from_what_was_saved_and_from_nothing(script: str) -> None:
    plan = plan_of(script)
    assert Cell.restore(plan, {}).save().delete == Cell(plan).save().delete
    one, other = Driver(script), Driver(script)
    steps: list[dict[str, list[tuple[int | None, ...]]]] = [
        {"s": [(1, 0, 1), (2, 3, 2)]},
        {"t": [(1, 4, 9)]},
        {"t": [(2, 7, 8), (7, 40, 7)]},
    ]
    for rows in steps:
        assert rows_of(one.step(**rows)) == rows_of(other.step(**rows))
        other.restart()
    assert one.stored("s") == other.stored("s")


def test_a_batch_that_was_taken_in_is_not_taken_again() -> None:
    cell = Cell(plan_of(INNER))
    cell.step(Batch(3, ()))
    with pytest.raises(ValueError, match="comes after"):
        cell.step(Batch(3, ()))


def test_after_the_end_no_more_is_taken_in() -> None:
    cell = Cell(plan_of(OUTER))
    cell.step(Batch(0, (), is_last=True))
    with pytest.raises(UsageError, match="have ended"):
        cell.step(Batch(1, ()))
