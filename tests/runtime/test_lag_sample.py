"""What a sample of entities shows, beside plain loops over its rows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.runtime.lag_sample import Counted, Entities, Lags, measure

V, A, PROMISED = Lags(0, 7), Lags(0, 20), Lags(0, 13)


def entities(rows: list[tuple[int, int]]) -> Entities:
    return Entities(np.array([k for k, _ in rows], np.int64), np.array([t for _, t in rows], np.int64))


def naive(
    root: list[tuple[int, int]], counted: list[tuple[int, int]], removed: list[tuple[int, int]]
) -> tuple[int, list[int], list[int], int]:
    """Rows of the root in [0, 100), lags of V and of A, and what breaks a declaration, row by row."""
    breaking = 0
    lags: tuple[list[int], list[int]] = ([], [])
    for key, at in counted:
        if 0 <= at < 100:
            partners = [t for k, t in root if k == key and V.low <= at - t <= V.high]
            breaking += abs(len(partners) - 1)
            lags[0].extend([at - max(partners)] if partners else [])
    met: list[int] = []
    for key, at in removed:
        if 0 <= at < 100:
            partners = [t for k, t in root if k == key and A.low <= at - t <= A.high]
            lags[1].extend([at - max(partners)] if partners else [])
            beside = [(k, t) for k, t in counted if k == key and PROMISED.low <= at - t <= PROMISED.high]
            breaking += abs(len(beside) - 1)
            if beside:
                met.append(sorted(counted).index(max(beside, key=lambda row: row[1])))
    breaking += len(met) - len(set(met))
    return sum(0 <= t < 100 for _, t in root), lags[0], lags[1], breaking


@pytest.mark.parametrize("seed", range(40))
def test_it_counts_what_loops_count(seed: int) -> None:
    chosen = random.Random(seed)

    def some(most: int) -> list[tuple[int, int]]:
        # Two rows of one entity never come at one time: which of them is the partner would be a matter of taste.
        return sorted({(chosen.randint(-3, 6), chosen.randint(-20, 119)) for _ in range(chosen.randint(0, most))})

    root, counted, removed = some(30), some(30), some(30)
    rows, of_v, of_a, breaking = naive(root, counted, removed)
    v, a = Counted(entities(counted), V, V), Counted(entities(removed), A, PROMISED)
    shown = measure(entities(root), v, a, 0, 100)
    assert (shown.rows, shown.breaking) == (rows, breaking)
    if rows:
        means = []
        for lags in (of_v, of_a):
            mean = sum(lags) / rows
            spread = max(0.0, sum(lag**2 for lag in lags) / rows - mean**2)
            means.append(mean + 2 * (spread / rows) ** 0.5)
        assert shown.mean_lag == pytest.approx(max(means))


def test_a_late_row_shows_as_one_without_a_partner() -> None:
    root, late = entities([(1, 10), (2, 10)]), entities([(1, 15), (2, 40)])
    shown = measure(root, Counted(late, Lags(0, 10), Lags(0, 10)), None, 0, 100)
    assert (shown.rows, shown.breaking) == (2, 1)


def test_an_empty_sample_shows_nothing() -> None:
    shown = measure(entities([]), Counted(entities([]), V, V), None, 0, 10)
    assert (shown.rows, shown.mean_lag, shown.breaking) == (0, 0.0, 0)
