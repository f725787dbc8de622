"""PROB, LIFE, RAND and EXACT against a plain reading of DESIGN section 4, tuple by tuple."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.offline import simulate
from penstock.offline.policies import RankedPool, memory_shares
from tests.measure import size
from tests.offline.reference import Stored, stepped, streams


@pytest.mark.measure
@pytest.mark.parametrize("policy", ["prob", "life", "exact"])
@pytest.mark.parametrize("allocation", ["fixed", "variable"])
def test_policy_gives_what_its_definition_gives(policy: str, allocation: str) -> None:
    chance = random.Random(policy + allocation)
    for _ in range(size(150, 3000)):
        r, s = streams(chance, 30, chance.randint(1, 6))
        given = (r, s, chance.randint(1, 9), chance.randint(0, 9), policy, allocation, chance.choice([0, 5]))
        assert simulate(*given) == stepped(*given), given  # type: ignore[arg-type]


def test_ties_keep_the_later_arrival_then_that_of_r() -> None:
    """One slot for both: r(0) and s(0) tie and R's stays, so s(1) finds it and r(1) finds nothing."""
    assert simulate([1, 2], [2, 1], 2, 1, "prob", "variable") == 1
    # r(0) and r(1) tie above all others, and the later one is there to meet s(5).
    assert simulate([1, 2, 9, 9, 9, 9], [8, 7, 1, 2, 1, 2], 6, 1, "prob", "variable", warmup=5) == 1


def test_shares_are_those_of_a_plain_simulation() -> None:
    chance = random.Random(13)
    for _ in range(30):
        r, s = streams(chance, 30, 4)
        window, memory = chance.randint(1, 9), chance.randint(0, 9)
        kept: list[list[Stored]] = []
        stepped(r, s, window, memory, "prob", "variable", 0, kept.append)
        shares = [sum(side for _, side in stored) for stored in kept]
        assert memory_shares(r, s, window, memory) == shares, (r, s, window, memory)


def test_fixed_allocation_gives_r_the_larger_half() -> None:
    assert simulate([1, 3], [2, 1], 2, 1, "prob") == 1, "r(0) meets s(1)"
    assert simulate([2, 1], [1, 3], 2, 1, "prob") == 0, "s(0) would have met r(1)"


def test_chance_is_seeded_and_newcomers_are_candidates() -> None:
    chance = np.random.default_rng(0)
    r, s = chance.integers(0, 5, 400), chance.integers(0, 5, 400)
    found = [simulate(r, s, 20, 10, "rand", seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    # One slot, and r(0) the only tuple with a partner: it must outlive the eviction at step 1, one of two candidates.
    stays = sum(simulate([1, 2, 3], [4, 5, 1], 3, 1, "rand", seed=seed) for seed in range(400))
    assert 150 < stays < 250


def test_lifetimes_beyond_64_bits_are_compared_exactly() -> None:
    partners = np.array([3, 1, 3, 1], dtype=np.int64)
    pool = RankedPool(partners, 2**62)
    for tuple_ in range(4):
        pool.add(tuple_)
    assert [pool.evict(1) for _ in range(4)] == [1, 3, 0, 2]
