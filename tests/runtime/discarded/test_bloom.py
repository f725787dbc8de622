"""The filter: never no to a key that is there, seldom yes to one that is not."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.columns.hashing import mix
from penstock.runtime.discarded.bloom import BloomFilter


@pytest.mark.parametrize("count", [1, 2, 63, 5_000])
def test_every_key_is_there(count: int) -> None:
    keys = mix(np.arange(count, dtype=np.uint64))
    assert BloomFilter.over(keys).has(keys).all()


def test_few_of_the_others_are() -> None:
    keys = mix(np.arange(30_000, dtype=np.uint64))
    others = mix(np.arange(1_000_000, 1_100_000, dtype=np.uint64))
    assert BloomFilter.over(keys).has(others).mean() < 1 / 400


def test_none_in_none() -> None:
    empty = np.zeros(0, np.uint64)
    assert BloomFilter.over(empty).has(empty).tolist() == []
    assert not BloomFilter.over(empty).has(mix(np.arange(100, dtype=np.uint64))).any()


def test_extreme_hashes_are_found() -> None:
    keys = np.array([0, 1, 2**64 - 1, 2**63], np.uint64)
    assert BloomFilter.over(keys).has(keys).all()
