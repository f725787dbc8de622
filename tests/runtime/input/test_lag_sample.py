"""What a sample of entities shows, beside plain loops over its rows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.runtime.input.lag_sample import Entities, LaggedRows, Lags, measure

Rows = list[tuple[int, int]]
V, V_ASKED = Lags(0, 7), Lags(-1, 9)
A, PROMISED, ASKED = Lags(0, 20), Lags(0, 13), Lags(0, 15)


def entities(rows: Rows) -> Entities:
    return Entities(np.array([k for k, _ in rows], np.int64), np.array([t for _, t in rows], np.int64))


def naive(root: Rows, counted: Rows, removed: Rows) -> tuple[int, list[int], list[int], int, int]:
    """Rows of the root in [0, 100), lags of V and of A, what crossed an end, what breaks a declaration, row by row."""
    lags = [
        [at - max(partners) for key, at in rows if inside(at) and (partners := within(root, key, at, limits))]
        for rows, limits in ((counted, V), (removed, A))
    ]
    own = [row for row in root if inside(row[1])]
    came, went = [], []
    for rows, limits in ((counted, V), (removed, A)):
        met = [(inside(at), within(root, key, at, limits), within(own, key, at, limits)) for key, at in rows]
        came.append(sum(here and bool(anywhere) and not of_here for here, anywhere, of_here in met))
        went.append(sum(not here and bool(of_here) for here, _, of_here in met))
    crossed = max(came[0] + went[1], went[0] + came[1])
    of_v, v_here = broken((root, root, own), counted, V, V_ASKED)
    whole = [(key, at) for key, at in counted if within(root, key, at, V)]
    of_a, _ = broken((counted, whole, v_here), removed, PROMISED, ASKED)
    return len(own), lags[0], lags[1], crossed, of_v + of_a


def inside(at: int) -> bool:
    return 0 <= at < 100


def within(rows: Rows, key: int, at: int, limits: Lags) -> list[int]:
    return [t for k, t in rows if k == key and limits.low <= at - t <= limits.high]


def broken(parents: tuple[Rows, Rows, Rows], rows: Rows, promised: Lags, asked: Lags) -> tuple[int, Rows]:
    """What breaks a declaration among rows that are in the window or match what is; and which rows these are.

    The parents are given thrice: all, those that break none themselves, and those in the window.
    """
    everyone, whole, parents_here = parents
    here = [(key, at) for key, at in rows if inside(at) or within(parents_here, key, at, asked)]
    found, met = 0, []
    for key, at in here:
        partners = within(everyone, key, at, asked)
        found += (not within(whole, key, at, promised)) + max(len(partners) - 1, 0)
        met += [(key, max(partners))] if partners else []
    return found + len(met) - len(set(met)), here


@pytest.mark.parametrize("seed", range(40))
def test_it_counts_what_loops_count(seed: int) -> None:
    chosen = random.Random(seed)

    def some(most: int) -> list[tuple[int, int]]:
        # Two rows of one entity never come at one time: which of them is the partner would be a matter of taste.
        return sorted({(chosen.randint(-3, 6), chosen.randint(-20, 119)) for _ in range(chosen.randint(0, most))})

    root, counted, removed = some(30), some(30), some(30)
    rows, of_v, of_a, crossed, breaking = naive(root, counted, removed)
    v, a = LaggedRows(entities(counted), V, V, V_ASKED), LaggedRows(entities(removed), A, PROMISED, ASKED)
    shown = measure(entities(root), v, a, 0, 100)
    assert (shown.rows, shown.crossed, shown.breaking) == (rows, crossed, breaking)
    if rows:
        means = []
        for lags in (of_v, of_a):
            mean = sum(lags) / rows
            spread = max(0.0, sum(lag**2 for lag in lags) / rows - mean**2)
            means.append(mean + 2 * (spread / rows) ** 0.5)
        assert shown.mean_lag == pytest.approx(sum(means))


def test_a_late_row_shows_as_one_without_a_partner() -> None:
    root, late = entities([(1, 10), (2, 10)]), entities([(1, 15), (2, 40)])
    shown = measure(root, LaggedRows(late, Lags(0, 10), Lags(0, 10), Lags(0, 10)), None, 0, 100)
    assert (shown.rows, shown.breaking) == (2, 1)


def test_an_empty_sample_shows_nothing() -> None:
    shown = measure(entities([]), LaggedRows(entities([]), V, V, V), None, 0, 10)
    assert (shown.rows, shown.mean_lag, shown.crossed, shown.breaking) == (0, 0.0, 0, 0)
