"""The optimum of SHED 4.1 and 6.1: the paper's example by number, and equal to a search over all choices."""

from __future__ import annotations

import random
import time
from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

import penstock
from penstock.offline import optimal, optimal_general, simulate
from penstock.offline.network import by_cost_scaling
from penstock.offline.primal_dual import Network, least_cost
from tests.measure import FULL, allowed_seconds, size
from tests.offline.reference import searched, streams

R, S = [1, 1, 1, 3, 2], [2, 3, 1, 1, 3]


def test_figure_3_misses_two_of_the_results() -> None:
    """Section 4.1.1: w = 3, M = 2; (r(1), s(2)) and (r(1), s(3)) are lost."""
    exact = simulate(R, S, 3, 2, "exact")
    assert (exact, optimal(R, S, 3, 2)) == (7, 5)
    assert penstock.offline.optimal is optimal


def test_figure_14_memory_shrinks_at_time_3() -> None:
    """Section 6.1.1: the flow that leaves at step 3 is memory that is gone from then on."""
    assert optimal_general(R, S, 3, [2, 2, 2, 2, 2]) == 5
    assert optimal_general(R, S, 3, [2, 2, 2, 0, 0]) == 4


def test_section_6_1_1_window_shrinks_at_time_1() -> None:
    """s(1) = 3 would not live to meet r(3) = 3, and r(1) not to meet s(3)."""
    plenty = [9] * 5
    assert optimal_general(R, S, 3, plenty) == 7
    assert optimal_general(R, S, [3, 2, 3, 3, 3], plenty) == 5


@pytest.mark.measure
@pytest.mark.parametrize("allocation", ["fixed", "variable"])
def test_flow_equals_a_search_over_all_choices(allocation: str) -> None:
    chance = random.Random(allocation)
    for _ in range(size(150, 3000)):
        r, s = streams(chance, 7, chance.randint(1, 3))
        window, memory, warmup = chance.randint(1, 5), chance.randint(0, 5), chance.choice([0, 0, 1, 3])
        given = (r, s, window, memory, allocation, warmup)
        assert optimal(*given) == searched(*given), given  # type: ignore[arg-type]
        assert optimal_general(*given) == optimal(*given), given  # type: ignore[arg-type]


@pytest.mark.measure
def test_general_flow_equals_a_search_over_all_choices() -> None:
    chance = random.Random(6)
    for _ in range(size(100, 2000)):
        steps = chance.randint(1, 5)
        at = [sorted(chance.choices(range(steps), k=chance.randint(0, 5))) for _ in "sr"]
        keys = [[chance.randrange(4) for _ in one] for one in at]
        window = [chance.randint(1, 4) for _ in range(steps)]
        memory = [chance.randint(0, 3) for _ in range(steps)]
        found = optimal_general(
            keys[1], keys[0], window, memory, "variable", r_steps=at[1], s_steps=at[0],
            joins=lambda a, b: abs(a - b) <= 1, value=lambda a, b: 3 * a - b,
        )  # fmt: skip
        assert found == _searched_in_general(keys, at, window, memory), (keys, at, window, memory)


def _searched_in_general(keys: list[list[int]], at: list[list[int]], window: list[int], memory: list[int]) -> int:
    """Sides: 0 is S, 1 is R. Pairs join where keys differ by at most 1, and are worth 3 r - s."""

    def worth(one: tuple[int, int], other: tuple[int, int]) -> int:
        if one[0] == other[0]:
            return 0
        r, s = (keys[side][row] for side, row in sorted((one, other), reverse=True))
        return 3 * r - s if abs(r - s) <= 1 else 0

    @cache
    def best(step: int, stored: frozenset[tuple[int, int]]) -> int:
        if step == len(memory):
            return 0
        new = [(side, row) for side in (0, 1) for row, when in enumerate(at[side]) if when == step]
        found = sum(worth(a, b) for a, b in combinations(new, 2)) + sum(worth(a, b) for a in stored for b in new)
        live = [o for o in [*stored, *new] if at[o[0]][o[1]] + window[at[o[0]][o[1]]] > step + 1]
        sizes = range(min(memory[step], len(live)) + 1)
        return found + max(best(step + 1, frozenset(kept)) for n in sizes for kept in combinations(live, n))

    return best(0, frozenset())


def test_no_window_is_an_unbounded_join() -> None:
    assert optimal_general([1, 0, 0, 0], [0, 2, 3, 1], None, 2) == optimal([1, 0, 0, 0], [0, 2, 3, 1], 4, 2)


def test_optimum_lies_between_every_policy_and_the_exact_join() -> None:
    """Long enough that the solver is helped by guessed prices, which must not change the answer."""
    chance = np.random.default_rng(3)
    r, s = chance.zipf(1.5, 600) % 20, chance.zipf(1.5, 600) % 20
    fixed, variable = (optimal(r, s, 40, 30, allocation, 80) for allocation in ("fixed", "variable"))
    for policy in ("prob", "life", "rand"):
        assert simulate(r, s, 40, 30, policy, "fixed", 80) <= fixed
        assert simulate(r, s, 40, 30, policy, "variable", 80) <= variable
    assert fixed <= variable <= simulate(r, s, 40, 30, "exact", warmup=80)
    assert fixed == optimal_general(r, s, 40, 30, "fixed", 80)
    assert optimal(r, s, 40, 78, warmup=80) == simulate(r, s, 40, 0, "exact", warmup=80)


@pytest.mark.measure
@pytest.mark.parametrize("allocation", ["fixed", "variable"])
def test_100_000_arrivals_take_seconds(allocation: str) -> None:
    """Figure 7's streams (Zipf 1 and 0, domain 50) with w = M = 400, twenty times as long as in the paper."""
    arrivals, window = size(4_000, 100_000), size(100, 400)
    chance, weights = np.random.default_rng(7), 1.0 / np.arange(1, 51)
    r, s = chance.choice(50, arrivals, p=weights / weights.sum()), chance.integers(0, 50, arrivals)
    began = time.process_time()
    best = optimal(r, s, window, window, allocation, 2 * window)  # type: ignore[arg-type]
    taken = time.process_time() - began
    print(f"{arrivals:,} arrivals, {allocation}: {best:,} results in {taken:.1f} s")
    assert simulate(r, s, window, window, "prob", allocation, 2 * window) <= best  # type: ignore[arg-type]
    assert taken < allowed_seconds(size(5, 30))


@pytest.mark.parametrize("start", [0, 3, 1_000_000])
def test_optimum_does_not_depend_on_the_guess(start: int) -> None:
    """Potentials that are far off cost rounds, not results; and both solvers find the same least cost."""
    chance = np.random.default_rng(9)
    for _ in range(20):
        nodes, arcs = 12, 40
        tails, heads = chance.integers(0, nodes, arcs), chance.integers(0, nodes, arcs)
        # Every node can always give to the next and take from it, at a price, so some flow is feasible.
        ring = np.arange(nodes)
        network = Network(
            np.concatenate([tails, ring, np.roll(ring, -1)]),
            np.concatenate([heads, np.roll(ring, -1), ring]),
            np.concatenate([chance.integers(0, 4, arcs), np.full(2 * nodes, 99)]),
            np.concatenate([chance.integers(-3, 4, arcs), np.full(2 * nodes, 9)]),
            _balanced(chance, nodes),
        )
        potential = chance.integers(0, start + 1, nodes)
        assert least_cost(network, potential) == by_cost_scaling(network)


def _balanced(chance: np.random.Generator, nodes: int) -> npt.NDArray[np.int64]:
    given = chance.integers(-4, 5, nodes)
    given[0] -= given.sum()
    return given


@pytest.mark.measure
def test_figure_11_prob_gives_96_of_100_results_of_the_optimum() -> None:
    """Section 5.2.2, correlated Zipf streams with z = 1, domain 50, M = w = 400, warm-up 2 w; smaller in the suite."""
    window = size(100, 400)
    chance, weights = np.random.default_rng(11), 1.0 / np.arange(1, 51)
    r, s = (chance.choice(50, 14 * window, p=weights / weights.sum()) for _ in "rs")
    best = optimal(r, s, window, window, "fixed", 2 * window)
    found = simulate(r, s, window, window, "prob", "fixed", 2 * window)
    print(f"PROB {found:,} of {best:,}: {found / best:.3f}")
    assert (0.96 if FULL else 0.9) * best <= found <= best
    assert simulate(r, s, window, window, "rand", "fixed", 2 * window) < found
