"""Wrong arguments are told what is wrong and what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.offline import optimal, optimal_general, simulate, truncate, truncate_many


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: optimal([1], [1, 2], 3, 2), "r has 1 arrivals and s has 2"),
        (lambda: optimal([1.5], [1], 3, 2), "r is no sequence of integers"),  # type: ignore[list-item]
        (lambda: optimal([1], ["a"], 3, 2), "s is no sequence of integers"),  # type: ignore[list-item]
        (lambda: optimal([1], [1], 0, 2), "window is 0"),
        (lambda: optimal([1], [1], 3, -1), "memory is -1"),
        (lambda: optimal([1], [1], 3, 2.0), "memory is 2.0"),  # type: ignore[arg-type]
        (lambda: optimal([1], [1], 3, 2, "both"), "there is no allocation 'both'"),  # type: ignore[arg-type]
        (lambda: simulate([1], [1], 3, 2, "lru"), "there is no policy 'lru'"),  # type: ignore[arg-type]
        (lambda: simulate([1], [1], 3, 2, warmup=-1), "warmup is -1"),
        (lambda: optimal_general([1], [1], 3, 2, r_steps=[0, 1]), "r has 1 arrivals and r_steps 2"),
        (lambda: optimal_general([1, 1], [1], 3, 2, r_steps=[1, 0]), "r_steps falls"),
        (lambda: optimal_general([1, 1], [1], 3, [2]), "memory has 1 numbers for 2 steps"),
        (lambda: optimal_general([1, 1], [1], [3, 0], 2), "window is 0 at some step"),
        (lambda: optimal_general([1], [1], 3, 2, value=lambda r, s: r / s), "value is no sequence of integers"),
        (lambda: truncate([(1, 2)], -1), "keep is -1"),
        (lambda: truncate([(1, 2)], 1, "ndg"), "ndg keeps so many tuples of A"),
        (lambda: truncate([(1, 2)], (1, 1), "adg"), "adg keeps a number of tuples"),
        (lambda: truncate([(1, 2)], (1, 1, 1), "dp"), "keep is"),  # type: ignore[arg-type]
        (lambda: truncate([(1, -2)], 1), "the components are no rows of 2"),
        (lambda: truncate([(1, 2)], 1, "best"), "there is no method 'best'"),  # type: ignore[arg-type]
        (lambda: truncate_many([[1, 2]], [1, 1, 1]), "the components are no rows of 3"),
    ],
)
def test_wrong_argument_is_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        call()
    assert said in raised.value.message
    assert raised.value.hint or raised.value.detail
