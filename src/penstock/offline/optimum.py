"""OPT-offline (SHED 4.1): the most results that a sliding-window equi-join can give with a bounded memory.

Tuples of one stream with the same key differ only in age, and a newcomer is at least as good as an older one: it meets
the same partners, and for longer. So whoever holds n of them may as well hold the n newest, and only their number
matters. Hence one chain for each stream and key (ERRATA), with a node for each partner's arrival: an arrival enters at
the first partner after it, and at most as many slots go on from one partner to the next as tuples that came before the
one are in the window of the other. The graph has at most three nodes and seven arcs a step, whatever the window and
the memory.

It is the optimum of the fast-CPU model: newcomers always meet each other and what is stored, then compete for room.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.offline.arguments import ALLOCATIONS, Ints, Keys, one_of, paired, whole_number
from penstock.offline.network import Chains, most_gain


def optimal(  # noqa: PLR0917 - the contract's signature
    r: Keys,
    s: Keys,
    window: int,
    memory: int,
    allocation: Literal["fixed", "variable"] = "fixed",
    warmup: int = 0,
) -> int:
    """The most result pairs, from step `warmup` on, that any choice of tuples to keep can give.

    r and s are join keys, one arrival each a step. A fixed allocation gives R the larger half of an odd memory.
    """
    left, right = paired(r, s)
    window, memory = whole_number("window", window, 1), whole_number("memory", memory, 0)
    warmup = whole_number("warmup", warmup, 0)
    fixed = one_of("allocation", allocation, ALLOCATIONS) == "fixed"
    steps = len(left)
    at_once = int((left == right)[warmup:].sum())
    if steps <= max(1, warmup) or window == 1:
        return at_once
    window = min(window, steps)
    memory = min(memory, 2 * steps)
    of_r, of_s = _by_key(left, right, window, warmup), _by_key(right, left, window, warmup)
    if fixed:
        larger, smaller = np.full(steps - 1, memory - memory // 2), np.full(steps - 1, memory // 2)
        return at_once + most_gain(of_r, larger) + most_gain(of_s, smaller)
    return at_once + most_gain(of_r.and_then(of_s), np.full(steps - 1, memory))


def _by_key(stored: Ints, partners: Ints, window: int, warmup: int) -> Chains:
    """The chains of one stream's tuples: nodes are the partners' arrivals, in order of key, then of step."""
    steps = len(stored)
    span = 2 * steps  # more than any step plus any window, so that a key's places never touch another's
    step = np.arange(steps)
    arrivals = np.sort(stored * span + step)
    nodes = np.sort((partners * span + step)[warmup:])
    key, at = nodes // span, nodes % span
    reached = np.searchsorted(nodes, arrivals, side="right")
    first = np.minimum(reached, len(nodes) - 1)
    enters = (reached < len(nodes)) & (nodes[first] - arrivals < window)
    carried = np.zeros(len(nodes), dtype=np.int64)
    follow = np.flatnonzero(key[1:] == key[:-1]) + 1
    oldest = key[follow] * span + np.maximum(at[follow] - window + 1, 0)
    in_both = np.searchsorted(arrivals, nodes[follow - 1]) - np.searchsorted(arrivals, oldest)
    carried[follow] = np.maximum(in_both, 0)
    entry_step = arrivals[enters] % span
    last = np.minimum(entry_step + window - 1, steps - 1)
    return Chains(key, at, np.ones(len(nodes), np.int64), carried, entry_step, first[enters], last)
