"""What was let go is remembered within c times k, then as a sample that a replay repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.runtime.match.key_matching import Keyed
from penstock.runtime.promise.past_rows import (
    LEAST_SAMPLED,
    MOST_SAMPLED,
    PastClusters,
    PastFollowers,
    is_sampled,
    most_sampled,
)
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import plan_of
from tests.runtime.stored import stored

PLAN = plan_of(
    "CREATE STREAM s (k BIGINT, n BIGINT, FOLLOWS t (k) ON (k) WITHIN 4 ROWS, CLUSTERED BY k WITHIN 2 ROWS);"
    "CREATE STREAM t (k BIGINT, n BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
)
NEVER = replace(PLAN, monitor=replace(PLAN.monitor, probability=0.0))
ALWAYS = replace(PLAN, monitor=replace(PLAN.monitor, probability=1.0))


def followers(plan: object = NEVER) -> PastFollowers:
    (promise,) = (p for p in PLAN.promises if p.partner is not None)
    return PastFollowers(plan, promise)  # type: ignore[arg-type]


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_a_sample_is_as_large_as_was_asked_and_the_same_again(probability: float) -> None:
    places = np.arange(20_000)
    monitor = replace(PLAN.monitor, probability=probability)
    chosen = is_sampled(monitor, places)
    assert chosen.mean() == pytest.approx(probability, abs=0.02)
    assert (is_sampled(monitor, places) == chosen).all()


def test_rows_are_remembered_beyond_the_limit_and_met_by_value() -> None:
    past, child = followers(), stored({"k": [1, 2, 1, 3]})
    past.remember(Keyed(child, ("k",)), child.ids(ALL), np.array([5, 6, 7, 2]), limit=4)
    assert past.rows.live == 3
    parent = stored({"k": [1, 9, 3]})
    place, before = past.met_by(Keyed(parent, ("k",)), parent.ids(ALL))
    assert sorted(zip(place.tolist(), before.tolist(), strict=True)) == [(0, 5), (0, 7)]


def test_nothing_remembered_is_met_by_nothing() -> None:
    parent = stored({"k": [1]})
    place, before = followers().met_by(Keyed(parent, ("k",)), parent.ids(ALL))
    assert len(place) == len(before) == 0


def test_what_is_too_old_goes_but_for_a_sample() -> None:
    for plan, left in ((NEVER, 1), (ALWAYS, 3)):
        past, child = followers(plan), stored({"k": [1, 2, 3]})
        past.remember(Keyed(child, ("k",)), child.ids(ALL), np.array([5, 6, 9]), limit=0)
        past.review(limit=6, most=10)
        assert past.rows.live == left


def test_a_sample_has_a_most() -> None:
    past, child = followers(ALWAYS), stored({"k": list(range(MOST_SAMPLED + 50))})
    past.remember(Keyed(child, ("k",)), child.ids(ALL), np.zeros(MOST_SAMPLED + 50, np.int64), limit=0)
    assert past.rows.live == MOST_SAMPLED
    past.review(limit=0, most=30)
    assert past.rows.live == 30


def test_a_sample_that_nobody_asked_for_is_a_hundredth_of_what_is_kept() -> None:
    asked = replace(PLAN.monitor, declared=True)
    of_rows = [most_sampled(PLAN.monitor, kept) for kept in (0, 5_000, 10**6)]
    assert of_rows == [LEAST_SAMPLED, 50, MOST_SAMPLED]
    assert most_sampled(asked, 0) == MOST_SAMPLED


def test_the_limit_is_c_times_k_behind() -> None:
    assert followers().limit(100, 4) == 100 - int(np.ceil(4 * PLAN.monitor.factor))


def test_clusters_stay_within_c_times_k() -> None:
    (promise,) = (p for p in PLAN.promises if p.partner is None and p.columns == ("k",))
    past = PastClusters(NEVER, promise)
    far = int(2 * PLAN.monitor.factor)
    numbers, arrival = np.array([100 - far, 100 - far - 1]), np.array([0, 1])
    assert past.stays(100, 2, numbers, arrival).tolist() == [True, False]
    assert past.stays(100, None, numbers, arrival).tolist() == [True, True]
    assert past.review(100, 2, 10).tolist() == []
