"""The solver of difference constraints beside z3, which knows nothing of paths.

Random systems over a few values, dense and in whole steps: whether they can hold, which demands stand against it, the
tightest limit of every pair, values that keep them, the least values in given domains. A system is solved at once, and
demand by demand with questions in between, which must come to the same.
"""

from __future__ import annotations

import random
import time
from fractions import Fraction
from itertools import permutations

import pytest
import z3

from penstock.analysis.facts.differences import Demand, Differences, Limit, least
from tests.measure import allowed_seconds, size

Demands = list[Demand[int, str]]
FAR = 1_000
"""More than all limits of a system together."""
CLOSE = Fraction(1, 1_000)


def _drawn(rng: random.Random, *, dense: bool) -> Demands:
    names = range(rng.randint(2, 6))
    found = []
    for number in range(rng.randint(1, 12)):
        later, earlier = rng.choice(names), rng.choice(names)
        limit = Limit(rng.randint(-3, 6), dense and rng.random() < 0.4)
        found.append(Demand(later, earlier, limit, f"demand {number}"))
    return found


def _asked(demands: Demands, *, dense: bool) -> tuple[z3.Solver, dict[int, z3.ArithRef]]:
    make = z3.Real if dense else z3.Int
    names = sorted({name for d in demands for name in (d.later, d.earlier)})
    values = {name: make(f"x{name}") for name in names}
    solver = z3.Solver()
    for d in demands:
        apart = values[d.later] - values[d.earlier]
        solver.add(apart < d.limit.ticks if d.limit.strict else apart <= d.limit.ticks)
    return solver, values


def _can(solver: z3.Solver, condition: z3.BoolRef) -> bool:
    return bool(solver.check(condition) == z3.sat)


@pytest.mark.measure
@pytest.mark.parametrize("dense", [True, False])
def test_limits_conflicts_and_values_are_those_that_z3_finds(dense: bool) -> None:
    rng = random.Random(f"differences {dense}")
    conflicts = 0
    for _ in range(size(250, 5_000)):
        demands = _drawn(rng, dense=dense)
        solver, values = _asked(demands, dense=dense)
        found = Differences(demands)
        if solver.check() == z3.unsat:
            conflicts += 1
            assert found.conflict
            assert set(found.conflict) <= set(demands)
            assert _asked(list(found.conflict), dense=dense)[0].check() == z3.unsat
            continue
        assert not found.conflict
        for later, earlier in permutations(values, 2):
            apart, limit = values[later] - values[earlier], found.upper(later, earlier)
            if limit is None:
                assert _can(solver, apart > FAR)
                assert not found.because(later, earlier)
                continue
            assert not _can(solver, apart >= limit.ticks if limit.strict else apart > limit.ticks)
            close = z3.RealVal(limit.ticks - CLOSE) if dense else limit.ticks - 1
            assert _can(solver, apart > close if limit.strict else apart == limit.ticks)
            assert sum((d.limit for d in found.because(later, earlier)), start=Limit(0)) == limit
        chosen = found.assignment(values, lambda _: 1)
        for d in demands:
            apart_ = chosen[d.later] - chosen[d.earlier]
            assert apart_ < d.limit.ticks or (apart_ == d.limit.ticks and not d.limit.strict)
            assert dense or apart_.denominator == 1
    assert conflicts > size(25, 500)


@pytest.mark.measure
def test_demands_one_after_the_other_come_to_the_same_as_all_at_once() -> None:
    rng = random.Random("one after the other")
    for _ in range(size(400, 10_000)):
        demands = _drawn(rng, dense=True)
        one_by_one = Differences[int, str]()
        before = one_by_one
        for number, d in enumerate(demands, start=1):
            before = one_by_one.copy()
            holds = one_by_one.demand(d.later, d.earlier, d.limit, d.reason)
            at_once = Differences(demands[:number])
            assert holds == (not at_once.conflict) == (not one_by_one.conflict)
            if not holds:
                assert _asked(list(one_by_one.conflict), dense=True)[0].check() == z3.unsat
                break
            for pair in permutations(range(6), 2):
                if rng.random() < 0.5:
                    assert one_by_one.upper(*pair) == at_once.upper(*pair)
                    path = one_by_one.because(*pair)
                    assert not path or sum((p.limit for p in path), start=Limit(0)) == at_once.upper(*pair)
        assert not before.conflict


@pytest.mark.measure
def test_the_least_values_are_solutions_and_none_is_lower() -> None:
    rng = random.Random("least")
    found_some = 0
    for _ in range(size(200, 4_000)):
        names = range(rng.randint(1, 5))
        starts = {name: rng.randint(-5, 5) for name in names}
        gaps = [(rng.choice(names), rng.choice(names), rng.randint(-6, 4)) for _ in range(rng.randint(0, 8))]
        members = {name: frozenset(rng.sample(range(-6, 30), 12)) for name in names if rng.random() < 0.4}

        def raised(name: int, value: int, members: dict[int, frozenset[int]] = members) -> int | None:
            if name not in members:
                return value
            return min((member for member in members[name] if member >= value), default=None)

        found = least(starts, ((low, high, gap.__add__) for low, high, gap in gaps), raised)
        values = {name: z3.Int(f"x{name}") for name in names}
        solver = z3.Solver()
        solver.add(*(values[name] >= start for name, start in starts.items()))
        solver.add(*(values[high] >= values[low] + gap for low, high, gap in gaps))
        solver.add(*(z3.Or([values[name] == member for member in of]) for name, of in members.items()))
        if found is None:
            # With domains it may give up; without, it decides.
            assert members or solver.check() == z3.unsat
            continue
        found_some += 1
        assert _can(solver, z3.And([values[name] == value for name, value in found.items()]))
        assert not _can(solver, z3.Or([values[name] < value for name, value in found.items()]))
    assert found_some > size(50, 1_000)


def _stretched(demands: Demands, by: dict[str, int]) -> Demands:
    return [Demand(d.later, d.earlier, d.limit + Limit(by.get(d.reason, 0)), d.reason) for d in demands]


def _name(reason: str) -> str | None:
    return reason or None


@pytest.mark.measure
def test_the_least_of_the_ways_is_the_tightest_limit_however_far_demands_are_stretched() -> None:
    rng = random.Random("ways")
    several = 0
    for _ in range(size(500, 8_000)):
        names = ("", "p", "q", "r")
        # Of each name one demand: then each path rests on it once at most, and no way is missing.
        drawn = [Demand(d.later, d.earlier, d.limit, rng.choice(names)) for d in _drawn(rng, dense=True)]
        demands = [d for n, d in enumerate(drawn) if not d.reason or d.reason not in [e.reason for e in drawn[:n]]]
        system = Differences(demands)
        if system.conflict:
            continue
        by = {name: rng.choice((0, 1, 5)) for name in names[1:]}
        stretched, short = Differences(_stretched(demands, by)), Differences(demands)
        for later, earlier in permutations(range(6), 2):
            ways = system.ways(later, earlier, _name, most=100)
            several += len(ways) > 1
            sums = [sum((d.limit for d in _stretched(list(way), by)), start=Limit(0)) for way in ways]
            assert min(sums, default=None) == stretched.upper(later, earlier)
            if ways:
                assert sum((d.limit for d in ways[0]), start=Limit(0)) == system.upper(later, earlier)
                few = short.ways(later, earlier, _name, most=1)
                assert few[0] == ways[0]
                assert (len(few) == 1) or not any(d.reason for d in few[-1])
    assert several > size(40, 600)


def test_equal_values_are_those_that_cannot_lie_apart() -> None:
    system = Differences(
        Demand(later, earlier, Limit(0), "") for later, earlier in [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]
    )
    assert set(system.equal_to("a")) == {"b", "c"}
    assert not system.equal_to("d")


def test_of_two_equal_limits_the_one_over_fewer_steps_gives_the_reasons() -> None:
    chain = [Demand(n + 1, n, Limit(1), f"step {n}") for n in range(3)]
    system = Differences([*chain, Demand(3, 0, Limit(3), "at once")])
    assert [d.reason for d in system.because(3, 0)] == ["at once"]


@pytest.mark.parametrize(
    ("limit", "step", "rounded"),
    [
        (Limit(5, True), 1, Limit(4)),
        (Limit(-5, True), 1, Limit(-6)),
        (Limit(25), 10, Limit(20)),
        (Limit(20, True), 10, Limit(10)),
        (Limit(-25), 10, Limit(-30)),
        (Limit(5, True), 0, Limit(5, True)),
    ],
)
def test_a_limit_between_stepped_values_is_a_whole_number_of_steps(limit: Limit, step: int, rounded: Limit) -> None:
    assert limit.rounded(step) == rounded


def test_every_pair_of_a_chain_of_two_hundred_values_is_bounded_in_under_a_second() -> None:
    demands = [Demand(n + 1, n, Limit(5_000_000, n % 3 == 0), "") for n in range(199)]
    demands += [Demand(n, n + 1, Limit(-1_000_000 * (n % 2)), "") for n in range(199)]
    start = time.process_time()
    system = Differences(demands)
    assert not system.conflict
    found = [system.upper(later, earlier) for later in range(200) for earlier in range(200)]
    assert time.process_time() - start < allowed_seconds(1)
    assert None not in found
