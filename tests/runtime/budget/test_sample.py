"""The sample of evicted rows: what it stands for, on average and in the end; chances that no policy shares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.budget.sample import Sample
from penstock.runtime.columns.hashing import mix
from penstock.runtime.state.component import Component, State
from penstock.runtime.state.segment import Segment


def rows(first: int, count: int) -> Segment:
    arrival = np.arange(first, first + count)
    alive = np.ones(count, np.bool_)
    return Segment(pa.table({"k": arrival}), arrival, np.zeros(count, np.int64), alive, {"m": ~alive})


def ones(count: int) -> np.ndarray:
    return np.ones(count, np.int64)


def test_until_it_is_full_it_is_all_there_is() -> None:
    sample = Sample(10, 0)
    sample.add(rows(0, 10), ones(10))
    assert (len(sample), sample.is_all, sample.weight.tolist(), sample.unseen) == (10, True, [1] * 10, 0.0)
    sample.add(rows(10, 0), ones(0))
    assert sample.is_all


def test_what_it_stands_for_is_about_what_was_evicted() -> None:
    sample = Sample(200, 3)
    for first in range(0, 20_000, 500):
        sample.add(rows(first, 500), ones(500))
        assert len(sample) <= 200
    assert sample.weight.sum() == pytest.approx(20_000, rel=0.25)
    assert sample.unseen > 0


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("batch", range(3))
def test_rows_that_are_evicted_by_chance_are_sampled_no_more_often_than_others(place: int, batch: int) -> None:
    """EVICT(rand) takes the least of hashes of its own (`policies.py`); of these, too, the weights are right."""
    arrival = np.arange(20_000)
    salt = mix(np.array([batch * 64 + place], np.uint64))
    least = np.sort(np.argsort(mix(mix(arrival.view(np.uint64)) + salt))[:10_000])
    sample = Sample(300, place)
    sample.add(rows(0, 20_000).taken(least), ones(10_000))
    assert sample.weight.sum() == pytest.approx(10_000, rel=0.25)


def test_rows_that_can_miss_no_more_make_room_for_others_at_full_weight() -> None:
    sample = Sample(100, 1)
    sample.add(rows(0, 1_000), ones(1_000))
    heavy = int(sample.weight[0])
    while sample.level:
        sample.drop(np.ones(len(sample), np.bool_)) if sample.segment is not None else sample.add(
            rows(5_000, 0), ones(0)
        )
        sample.add(rows(2_000 + 10 * sample.level, 10), ones(10))
    assert heavy > 1
    sample.add(rows(9_000, 3), ones(3))
    assert sample.weight[-3:].tolist() == [1, 1, 1]
    assert not sample.is_all


def test_the_error_counts_one_more_like_the_heaviest() -> None:
    sample = Sample(4, 0)
    sample.add(rows(0, 64), ones(64))
    light = sample.unseen
    sample.tally[0] = 50.0
    assert sample.variance > 0
    assert sample.unseen == pytest.approx(2_500 * light)
    sample.drop(np.ones(len(sample), np.bool_))
    assert sample.unseen == pytest.approx(2_500 * light)


class Holder(Component):
    parts = ("sample",)

    def __init__(self) -> None:
        self.sample = Sample(8, 2)


def test_it_is_the_same_after_a_restart() -> None:
    one = Holder()
    saved = State(one)
    one.sample.add(rows(0, 100), ones(100) * 2)
    one.sample.tally[:] = 3.0
    other = Holder()
    State(other).load(saved.save().put)
    assert len(other.sample) == len(one.sample)
    for name in ("weight", "stands", "tally"):
        assert getattr(other.sample, name).tolist() == getattr(one.sample, name).tolist()
    assert (other.sample.level, other.sample.is_all, other.sample.unseen) == (
        one.sample.level,
        False,
        one.sample.unseen,
    )
    assert other.sample.segment is not None
    assert list(other.sample.segment.marks) == ["m"]
