"""Static joins of SHED 3: the lemma, the dynamic program against a search, and the factors of the theorems."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from penstock.offline import truncate, truncate_many
from tests.measure import FULL, size
from tests.offline.reference import most_edges


def _pairs(chance: random.Random, most: int) -> list[tuple[int, int]]:
    return [(chance.randint(0, most), chance.randint(0, most)) for _ in range(chance.randint(1, 3))]


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4), (6, 0)])
def test_lemma_1_on_one_component(m: int, n: int) -> None:
    for kept in range(m + n + 1):
        short = min(m, n)
        lemma = (kept * kept - kept % 2) // 4 if kept <= 2 * short else short * (kept - short)
        assert truncate([(m, n)], kept) == truncate([(m, n)], kept, "adg") == lemma


@pytest.mark.measure
def test_dynamic_program_is_the_optimum_and_greed_is_within_a_factor_of_two() -> None:
    """Theorems 1 and 2: of both the results kept and the results lost."""
    chance = random.Random(3)
    for _ in range(size(100, 1500)):
        pairs = _pairs(chance, 3)
        whole = sum(m * n for m, n in pairs)
        keep = chance.randint(0, 12)
        best = most_edges(pairs, lambda kept, keep=keep: sum(kept) <= keep)  # type: ignore[misc]
        assert truncate(pairs, keep) == best, (pairs, keep)
        greedy = truncate(pairs, keep, "adg")
        assert best <= 2 * greedy, (pairs, keep)
        assert whole - greedy <= 2 * (whole - best), (pairs, keep)
        of_each = (chance.randint(0, 6), chance.randint(0, 6))
        best = most_edges(pairs, lambda kept, most=of_each: kept[0] <= most[0] and kept[1] <= most[1])  # type: ignore[misc]
        assert truncate(pairs, of_each) == best, (pairs, of_each)
        assert whole - truncate(pairs, of_each, "ndg") <= 2 * (whole - best), (pairs, of_each)


def test_adg_takes_components_in_order_of_average_degree() -> None:
    """Against a plain sort of all of them, with many ties and some giants."""
    chance = random.Random(5)
    for _ in range(300):
        most = chance.choice((3, 50, 10**6))
        pairs = [(chance.randint(0, most), chance.randint(0, most)) for _ in range(chance.randint(0, 60))]
        keep = left = chance.randint(0, 2 * sum(m + n for m, n in pairs) // 3)
        expected = 0
        for m, n in sorted(pairs, key=lambda pair: -pair[0] * pair[1] / max(1, sum(pair))):
            kept = min(left, m + n)
            smaller = min(kept // 2, m, n)
            expected, left = expected + smaller * (kept - smaller), left - kept
            if kept < m + n:
                break
        assert truncate(pairs, keep, "adg") == expected, (pairs, keep)


def test_more_relations_lose_at_most_m_times_the_least() -> None:
    """Section 3.4."""
    chance = random.Random(4)
    for _ in range(60):
        components = [[chance.randint(0, 2) for _ in range(3)] for _ in range(3)]
        keep = [chance.randint(0, 6) for _ in range(3)]
        whole = truncate_many(components, [99] * 3)
        best = most_edges(components, lambda kept, keep=keep: all(k <= m for k, m in zip(kept, keep, strict=True)))  # type: ignore[misc]
        assert whole - best <= whole - truncate_many(components, keep) <= 3 * (whole - best), (components, keep)


@pytest.mark.measure
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 2.0])
def test_figure_4_adg_keeps_995_of_1000_results_of_the_optimum(skew: float) -> None:
    """Section 5.1: two relations of 50,000 tuples, 1,000 components, 5,000 tuples kept; a tenth of it in the suite."""
    chance, components, tuples = np.random.default_rng(4), size(100, 1_000), size(5_000, 50_000)
    weights = 1.0 / np.arange(1, components + 1) ** skew
    sides = [chance.multinomial(tuples, chance.permutation(weights / weights.sum())) for _ in "ab"]
    pairs = list(zip(*(side.tolist() for side in sides), strict=True))
    assert truncate(np.array(pairs), tuples // 10, "adg") == truncate(pairs, tuples // 10, "adg")
    began = time.process_time()
    best = truncate(pairs, tuples // 10)
    between = time.process_time()
    for _ in range(100):
        greedy = truncate(pairs, tuples // 10, "adg")
    slow, fast = between - began, (time.process_time() - between) / 100
    print(
        f"skew {skew}: {greedy / best:.4f}, dp {slow:.3f} s, adg {1000 * fast:.3f} ms, {slow / fast:,.0f} times faster"
    )
    assert greedy <= best
    if FULL:
        assert greedy >= 0.995 * best
        assert slow >= 1_000 * fast
