"""Moments against exact fractions: merged in any way, also far from zero, where sums of squares lose all digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa

from penstock.runtime.group.moments import Moments, variances
from penstock.runtime.group.numbering import grouped


def exact(values: list[float], *, of_sample: bool) -> float | None:
    if len(values) < (2 if of_sample else 1):
        return None
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers) / len(numbers)
    return float(sum((n - mean) ** 2 for n in numbers) / (len(numbers) - (1 if of_sample else 0)))


def test_variances_are_those_of_fractions_however_they_are_added_up() -> None:
    draw = random.Random(5)
    for number in range(60):
        # A mean far from zero has fewer digits behind the point; a sum of squares there has none before it.
        far, close = draw.choice(((0.0, 1e-9), (1e9, 1e-6), (-1e12, 1e-2)))
        whole: Moments | None = None
        seen: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for _ in range(draw.randint(1, 4)):
            rows = [
                (draw.randrange(3), draw.choice((None, far + draw.randint(-9, 9) / 4)), draw.randint(1, 3))
                for _ in range(draw.randint(3, 9))
            ]
            rows = [(0, None, 1), (1, None, 1), (2, None, 1), *rows]
            for group, value, times in rows:
                seen[group] += [] if value is None else [value] * times
            groups = grouped([pa.array([row[0] for row in rows])], len(rows))
            weights = np.array([row[2] for row in rows])
            found = Moments.of(pa.array([row[1] for row in rows], pa.float64()), weights).summed(groups)
            whole = found if whole is None else whole.plus(np.arange(3), found)
        assert whole is not None
        for of_sample in (True, False):
            given = variances(whole, of_sample=of_sample, is_root=False).to_pylist()
            for group in range(3):
                wanted = exact(seen[group], of_sample=of_sample)
                if wanted is None or given[group] is None:
                    assert given[group] is None is wanted, number
                else:
                    assert math.isclose(given[group], wanted, rel_tol=close, abs_tol=close), (number, seen[group])


def test_what_is_met_often_counts_as_often_and_what_is_absent_not_at_all() -> None:
    one = Moments.of(pa.array([1.0, 4.0]), np.array([1, 1]))
    twice = one.scaled(np.array([2, 1])).where(np.array([True, False, True]))
    assert twice.held.tolist() == [2, 0, 1]
    assert len(twice.take(np.array([0]))) == 1
