"""Rates of keys: sketches whose counts fade, and their mixture, which learns whom to trust; on any size of batch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penstock.runtime.budget.rates import Rates, Sketch


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


def keys(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


def test_an_estimate_is_never_below_what_arrived() -> None:
    random = np.random.default_rng(1)
    sketch, came = Sketch(64), random.integers(0, 500, 5_000)
    sketch.add(came.astype(np.uint64), np.ones(len(came)))
    counts = np.bincount(came, minlength=500)
    assert (sketch.of(np.arange(500, dtype=np.uint64)) >= counts).all()


def test_no_rows_change_nothing() -> None:
    sketch = Sketch(8)
    sketch.add(keys(), np.zeros(0))
    assert sketch.of(keys(1, 2)).tolist() == [0.0, 0.0]
    assert sketch.of(keys()).tolist() == []


def test_fading_halves_what_came_before_and_not_what_comes_after() -> None:
    sketch = Sketch(1 << 10)
    sketch.add(keys(1), np.array([8.0]))
    sketch.fade(0.5)
    sketch.add(keys(2), np.array([8.0]))
    assert sketch.of(keys(1, 2)).tolist() == [4.0, 8.0]


@pytest.mark.parametrize("factor", [0.0, 5e-324, 1e-200, 1e-39, 1e-21, 1e-19])
def test_what_fades_to_nothing_is_nothing_and_the_rest_goes_on(factor: float) -> None:
    """A batch far above the budget lets all that came before count for nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sketch = Sketch(1 << 10)
        for _ in range(5):
            sketch.add(keys(1, 2), np.array([3.0, 7.0]))
            sketch.fade(factor)
            assert sketch.of(keys(1, 2)) == pytest.approx([3.0 * factor, 7.0 * factor], abs=1e-18)
            sketch.add(keys(3), np.array([5.0]))
            assert sketch.of(keys(3)) == pytest.approx([5.0], rel=1e-6)
            sketch.fade(0.0)


def test_values_beyond_a_float_of_four_bytes_stay_numbers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sketch = Sketch(8)
        sketch.fade(1e-15)
        sketch.add(keys(1, 2), np.array([1e300, 1.0]))
        sketch.add(keys(1), np.array([1e300]))
        assert np.isfinite(sketch.of(keys(1, 2))).all()
        sketch.fold()
        assert np.isfinite(sketch.of(keys(1, 2))).all()


def test_folding_keeps_every_count() -> None:
    sketch = Sketch(64)
    sketch.add(np.arange(50, dtype=np.uint64), np.ones(50))
    before = sketch.of(np.arange(50, dtype=np.uint64))
    sketch.fold()
    assert sketch.width == 32
    assert (sketch.of(np.arange(50, dtype=np.uint64)) >= before).all()
