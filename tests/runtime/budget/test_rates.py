"""Rates of keys: a mixture of sketches that learns whom to trust, on any size of batch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penstock.runtime.budget.rates import Rates


def many(key: int, size: int) -> np.ndarray:
    return np.full(size, key, np.uint64)


def test_before_anything_came_nothing_is_foretold() -> None:
    assert Rates(64, (None,)).of(many(1, 3)).tolist() == [0.0, 0.0, 0.0]


def test_what_never_forgets_is_the_mean() -> None:
    rates = Rates(64, (None,))
    rates.add(many(1, 10), np.ones(10), 20)
    rates.add(many(2, 30), np.ones(30), 60)
    assert rates.of(np.array([1, 2], np.uint64)) == pytest.approx([10 / 80, 30 / 80])


def test_the_one_that_forgets_gains_a_word_where_keys_change() -> None:
    rates = Rates(1 << 10, (1e6, 10.0))
    for key in range(20):
        keys = many(key // 5, 50)
        rates.listen(keys, np.ones(50), ())
        rates.add(keys, np.ones(50), 50)
    now, before = rates.of(np.array([3, 0], np.uint64))
    assert now > 2 * before


def test_a_batch_far_above_the_budget_is_counted_and_what_came_before_forgotten() -> None:
    """A half-life of forty steps, and batches of two hundred thousand: an ordinary backfill."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates = Rates(1 << 10, (8_000.0, 500.0, 40.0))
        for key in (1, 2, 3):
            for size in (200_000, 0, 1):
                keys = many(key, size)
                rates.listen(keys, np.ones(size), ())
                rates.add(keys, np.ones(size), size)
        found = rates.of(np.array([1, 2, 3], np.uint64))
    assert np.isfinite(found).all()
    assert found[2] > 0.5


def test_values_of_no_worth_teach_nothing() -> None:
    rates = Rates(64, (80.0, 5.0))
    spoke = list(rates.spoke)
    rates.listen(many(1, 5), np.zeros(5), ())
    rates.add(many(1, 5), np.zeros(5), 5)
    assert rates.spoke == spoke
    assert rates.of(many(1, 1)).tolist() == [0.0]
