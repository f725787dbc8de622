"""Recall from counts: what is told where nothing was due, and that the error reaches either end."""

from __future__ import annotations

import pytest

from penstock.runtime.budget.loss import DEVIATIONS, Loss, recall_of


def test_nothing_due_is_no_recall_unless_nobody_knows() -> None:
    assert recall_of(0, 0, 0) == (None, None)
    assert recall_of(0, 0, 5) == (1.0, 1.0)


def test_what_is_certain_has_no_error() -> None:
    assert Loss(1, 1, 1, 30, 40, 0).recall() == (0.75, 0.0)


@pytest.mark.parametrize(("emitted", "due", "variance"), [(50, 100, 100), (99, 100, 4), (1, 1_000, 10_000), (0, 10, 9)])
def test_the_error_reaches_what_would_be_recall_at_either_end(emitted: int, due: int, variance: int) -> None:
    recall, error = recall_of(emitted, due, variance)
    assert recall is not None
    assert error is not None
    spread = DEVIATIONS * variance**0.5
    for truth in (due - spread, due + spread):
        assert abs(emitted / max(truth, emitted, 1) - recall) <= error + 1e-12


def test_no_more_than_everything_can_have_been_due_and_emitted() -> None:
    recall, error = recall_of(90, 100, 10**9)
    assert recall is not None
    assert error is not None
    assert recall + error <= 1.8
    assert recall - error <= 0.01
