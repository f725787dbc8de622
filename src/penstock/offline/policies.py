"""The online policies of SHED 4.2 and 5.2, run over known streams: PROB, LIFE, RAND, and EXACT, which drops nothing.

A step: the newcomers join each other and what is stored; what cannot join at the next step leaves; the newcomers
compete with what is stored for room. Under PROB a tuple's priority is how often its key arrives on the other stream,
under LIFE that times its remaining lifetime. Both are had from the streams as a whole, and compared as whole numbers,
so that ties are ties. Tuples of the same partner frequency leave in the order in which they came, under both: one
queue for each frequency, and the victim is the head of one of them. Ties keep the later arrival, then R's.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from penstock.offline.arguments import ALLOCATIONS, Ints, Keys, one_of, paired, whole_number

POLICIES = ("prob", "life", "rand", "exact")

R, S = 1, 0
"""The sides: at equal age S leaves first."""


class Pool(Protocol):
    """The tuples that share one memory. A tuple is `2 * arrival + side`: at a tie the lesser leaves."""

    def add(self, tuple_: int) -> None:
        """Store a newcomer."""

    def expire(self, tuple_: int) -> bool:
        """Forget the tuple; whether it was stored."""

    def evict(self, step: int) -> int:
        """Choose and forget one."""

    def __len__(self) -> int: ...


def simulate(  # noqa: PLR0917 - the contract's signature
    r: Keys,
    s: Keys,
    window: int,
    memory: int,
    policy: Literal["prob", "life", "rand", "exact"] = "prob",
    allocation: Literal["fixed", "variable"] = "fixed",
    warmup: int = 0,
    seed: int = 0,
) -> int:
    """The number of result pairs that the policy gives, from step `warmup` on."""
    fixed = one_of("allocation", allocation, ALLOCATIONS) == "fixed"
    return _simulated(r, s, window, memory, policy, warmup, seed, fixed=fixed, shares=None)


def memory_shares(  # noqa: PLR0917 - as `simulate`
    r: Keys,
    s: Keys,
    window: int,
    memory: int,
    policy: Literal["prob", "life", "rand", "exact"] = "prob",
    seed: int = 0,
) -> list[int]:
    """How many of the stored tuples are R's after each step, where the streams share the memory (SHED's Figure 13)."""
    shares: list[int] = []
    _simulated(r, s, window, memory, policy, 0, seed, fixed=False, shares=shares)
    return shares


def _simulated(  # noqa: PLR0917 - as `simulate`
    r: Keys,
    s: Keys,
    window: int,
    memory: int,
    policy: str,
    warmup: int,
    seed: int,
    *,
    fixed: bool,
    shares: list[int] | None,
) -> int:
    left, right = paired(r, s)
    window, memory = whole_number("window", window, 1), whole_number("memory", memory, 0)
    warmup, seed = whole_number("warmup", warmup, 0), whole_number("seed", seed, 0)
    chosen = one_of("policy", policy, POLICIES)
    if chosen == "exact":
        # Each stream's tuples in a window are fewer than the window is long.
        memory = 2 * min(window, len(left))
    keys = len(np.unique(np.concatenate([left, right])))
    partners = np.empty(2 * len(left), dtype=np.int64)
    partners[S::2] = np.bincount(left, minlength=keys)[right]
    partners[R::2] = np.bincount(right, minlength=keys)[left]

    random = np.random.default_rng(seed)

    def pool() -> Pool:
        if chosen == "rand":
            return RandomPool(2 * len(left), random)
        return RankedPool(partners, window if chosen == "life" else None)

    pools = (pool(), pool()) if fixed else (pool(),) * 2
    room = (memory // 2, memory - memory // 2) if fixed else (memory, memory)
    return _run(left, right, window=window, warmup=warmup, pools=pools, room=room, keys=keys, shares=shares)


def _run(
    left: Ints,
    right: Ints,
    *,
    window: int,
    warmup: int,
    pools: tuple[Pool, Pool],
    room: tuple[int, int],
    keys: int,
    shares: list[int] | None,
) -> int:
    """Step by step; pools and room by side, twice the same pool where memory is shared. `shares` collects R's part."""
    r_keys, s_keys = left.tolist(), right.tolist()
    key_of = [key for pair in zip(s_keys, r_keys, strict=True) for key in pair]
    stored = ([0] * keys, [0] * keys)
    results = 0
    for step, (r_key, s_key) in enumerate(zip(r_keys, s_keys, strict=True)):
        if step >= warmup:
            results += (r_key == s_key) + stored[S][r_key] + stored[R][s_key]
        if window == 1:
            if shares is not None:
                shares.append(0)
            continue
        gone = step + 1 - window
        for side in (S, R):
            if gone >= 0 and pools[side].expire(2 * gone + side):
                stored[side][key_of[2 * gone + side]] -= 1
            pools[side].add(2 * step + side)
            stored[side][(s_key, r_key)[side]] += 1
        for side in (S, R):
            while len(pools[side]) > room[side]:
                victim = pools[side].evict(step)
                stored[victim % 2][key_of[victim]] -= 1
        if shares is not None:
            shares.append(sum(stored[R]))
    return results


class RankedPool:
    """PROB and LIFE: a queue for each partner frequency; LIFE, given a lifetime, weighs the heads by their age."""

    def __init__(self, partners: Ints, lifetime: int | None) -> None:
        frequencies, queue_of = np.unique(partners, return_inverse=True)
        self._frequencies: npt.NDArray[Any] = frequencies
        if lifetime is not None and lifetime * (len(partners) + 1) >= 2**62:
            self._frequencies = frequencies.astype(object)  # exact, if slow, beyond 64 bits
        self._queue_of = queue_of.tolist()
        self._queues: list[deque[int]] = [deque() for _ in frequencies]
        self._heads = np.full(len(frequencies), -1, dtype=np.int64)
        self._lifetime = lifetime
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, tuple_: int) -> None:
        """At the end of its queue: it is the youngest."""
        queue = self._queue_of[tuple_]
        if not self._queues[queue]:
            self._heads[queue] = tuple_
        self._queues[queue].append(tuple_)
        self._size += 1

    def expire(self, tuple_: int) -> bool:
        """A tuple that expires is the oldest of all, so it heads its queue if it is there."""
        queue = self._queue_of[tuple_]
        stored = bool(self._queues[queue]) and self._queues[queue][0] == tuple_
        if stored:
            self._leave(queue)
        return stored

    def evict(self, step: int) -> int:
        """The head of the queue with the lowest priority."""
        some = np.flatnonzero(self._heads >= 0)
        if self._lifetime is None:
            return self._leave(int(some[0]))
        heads = self._heads[some]
        priority = self._frequencies[some] * (heads // 2 + (self._lifetime - 1 - step))
        lowest = np.flatnonzero(priority == priority.min())
        return self._leave(int(some[lowest[heads[lowest].argmin()]]))

    def _leave(self, queue: int) -> int:
        tuples = self._queues[queue]
        gone = tuples.popleft()
        self._heads[queue] = tuples[0] if tuples else -1
        self._size -= 1
        return gone


class RandomPool:
    """RAND: every tuple is as likely to leave as any other, newcomers included."""

    def __init__(self, tuples: int, random: np.random.Generator) -> None:
        self._tuples: list[int] = []
        self._place = [-1] * tuples
        self._random = random

    def __len__(self) -> int:
        return len(self._tuples)

    def add(self, tuple_: int) -> None:
        """At the end."""
        self._place[tuple_] = len(self._tuples)
        self._tuples.append(tuple_)

    def expire(self, tuple_: int) -> bool:
        """The last takes its place."""
        stored = self._place[tuple_] >= 0
        if stored:
            self._remove(self._place[tuple_])
        return stored

    def evict(self, step: int) -> int:  # noqa: ARG002 - chance has no clock
        """Any."""
        return self._remove(int(self._random.integers(len(self._tuples))))

    def _remove(self, place: int) -> int:
        gone, last = self._tuples[place], self._tuples.pop()
        if last != gone:
            self._tuples[place] = last
            self._place[last] = place
        self._place[gone] = -1
        return gone
