"""Oracles for SHED's offline half, from the definitions: searches over all choices, policies tuple by tuple."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, product

Stored = tuple[int, int]
"""(arrival, side), side 1 for R: sorted, the first leaves first at a tie."""


def searched(  # noqa: PLR0917 - as `optimal`
    r: Sequence[int], s: Sequence[int], window: int, memory: int, allocation: str, warmup: int
) -> int:
    """The most result pairs over every choice of what to keep at every step."""

    def key(one: Stored) -> int:
        return (s, r)[one[1]][one[0]]

    @cache
    def best(step: int, stored: frozenset[Stored]) -> int:
        if step == len(r):
            return 0
        new = {(step, 0): s[step], (step, 1): r[step]}
        found = (r[step] == s[step]) + sum(key(one) == new[step, 1 - one[1]] for one in stored)
        live = [one for one in {*stored, *new} if one[0] > step + 1 - window]
        return (found if step >= warmup else 0) + max(best(step + 1, frozenset(kept)) for kept in _fitting(live))

    def _fitting(live: list[Stored]) -> list[tuple[Stored, ...]]:
        if allocation == "variable":
            return list(combinations(live, min(memory, len(live))))
        halves = []
        for side, room in ((0, memory // 2), (1, memory - memory // 2)):
            own = [one for one in live if one[1] == side]
            halves.append(list(combinations(own, min(room, len(own)))))
        return [a + b for a, b in product(*halves)]

    return best(0, frozenset())


def stepped(  # noqa: PLR0917 - as `simulate`
    r: Sequence[int],
    s: Sequence[int],
    window: int,
    memory: int,
    policy: str,
    allocation: str,
    warmup: int,
    each_step: Callable[[list[Stored]], object] = len,
) -> int:
    """PROB, LIFE and EXACT as DESIGN words them, over a plain list; `each_step` is shown what is stored after it."""
    streams = (list(s), list(r))
    stored: list[Stored] = []
    found = 0
    for step in range(len(r)):
        met = sum(streams[side][at] == streams[1 - side][step] for at, side in stored) + (r[step] == s[step])
        found += met if step >= warmup else 0
        stored = [one for one in [*stored, (step, 0), (step, 1)] if one[0] > step + 1 - window]

        def priority(one: Stored, step: int = step) -> tuple[int, Stored]:
            frequency = streams[1 - one[1]].count(streams[one[1]][one[0]])
            return frequency * (one[0] + window - 1 - step if policy == "life" else 1), one

        if policy == "exact":
            pass
        elif allocation == "variable":
            stored = sorted(stored, key=priority)[max(0, len(stored) - memory) :]
        else:
            halves = ((0, memory // 2), (1, memory - memory // 2))
            own = [(sorted((o for o in stored if o[1] == side), key=priority), room) for side, room in halves]
            stored = [one for ranked, room in own for one in ranked[max(0, len(ranked) - room) :]]
        each_step(stored)
    return found


def most_edges(components: Sequence[Sequence[int]], fits: Callable[[list[int]], bool]) -> int:
    """The most results over all numbers kept of each key in each relation, where what is kept of each relation fits."""
    width = len(components[0])
    best = 0
    for kept in product(*(product(*(range(n + 1) for n in component)) for component in components)):
        if fits([sum(one[i] for one in kept) for i in range(width)]):
            total = 0
            for one in kept:
                results = 1
                for number in one:
                    results *= number
                total += results
            best = max(best, total)
    return best


def streams(chance: random.Random, longest: int, keys: int) -> tuple[list[int], list[int]]:
    """Two short streams of few keys."""
    length = chance.randint(0, longest)
    return [chance.randrange(keys) for _ in range(length)], [chance.randrange(keys) for _ in range(length)]
