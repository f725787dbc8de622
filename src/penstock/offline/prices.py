"""A guess of what a memory slot is worth at each step, and so of the potentials of an optimal flow.

At given prices every tuple decides alone: it stays until the partner after which it has gained most, rent paid, or does
not enter. Prices rise where the tuples that want to stay are more than the slots, and fall where they are fewer. A
hundred rounds over whole columns come close. The guess only makes the solver fast: the optimum does not depend on it,
and it need not be good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.offline.arguments import Ints

if TYPE_CHECKING:
    from penstock.offline.network import Chains

Reals = npt.NDArray[np.float64]

ROUNDS = 120
BLOCK = 4
"""Steps that share one price."""
STEEPNESS = 0.5
"""The power of demand over supply by which a price moves; it falls to 0 over the second half of the rounds."""


def guessed_potential(chains: Chains, room: Ints) -> Ints:
    """Of each node of the line, then of each node of the chains, in whole results."""
    steps = len(room) + 1
    block = np.arange(steps - 1) // BLOCK
    offered = np.bincount(block, weights=room)
    reach = LifetimeCover.of(chains)
    lasting = max(1, int((chains.step[chains.entry_node] - chains.entry_step).sum()))
    price = np.full(len(offered), float(chains.gain[chains.entry_node].clip(0).sum()) / lasting)
    for done in np.arange(ROUNDS) / ROUNDS:
        held = np.cumsum(_wanted(chains, reach, _rent(price, block)))[:-1]
        wanted = np.bincount(block, weights=held)
        change = np.clip((wanted + BLOCK) / (offered + BLOCK), 0.5, 2.0)
        price = price * change ** (STEEPNESS * min(1.0, 2.0 - 2.0 * done))
    whole = -np.rint(_rent(price, block)).astype(np.int64)
    # What a slot may still gain along its chain is left out: a few rounds of the solver find it.
    return np.concatenate([whole, whole[chains.step]])


def _rent(price: Reals, block: Ints) -> Reals:
    """The rent of a slot from step 0 to each step."""
    return np.concatenate([[0.0], np.cumsum(price[block])])


def _wanted(chains: Chains, reach: LifetimeCover, rent: Reals) -> Reals:
    """By how many the tuples that want to be stored grow at each step."""
    profit = np.cumsum(chains.gain) - rent[chains.step]
    stop = reach.best(profit)
    first = chains.entry_node
    begins = profit[first] - chains.gain[first] + rent[chains.step[first]] - rent[chains.entry_step]
    enters = profit[stop] > begins
    arrive = np.bincount(chains.entry_step[enters], minlength=len(rent))
    leave = np.bincount(chains.step[stop[enters]], minlength=len(rent))
    return (arrive - leave).astype(np.float64)


@dataclass(frozen=True)
class LifetimeCover:
    """The nodes that each arrival lives to see, as two runs of 2**level nodes that cover them."""

    levels: tuple[tuple[Ints, Ints, Ints], ...]
    """For each level: the arrivals whose nodes it covers, and where their two runs begin."""
    arrivals: int

    @classmethod
    def of(cls, chains: Chains) -> LifetimeCover:
        """An arrival sees its chain from the node it enters to the last one of its window."""
        span = int(chains.step.max()) + 1
        last_place = chains.chain[chains.entry_node] * span + np.minimum(chains.entry_last, span - 1)
        end = np.searchsorted(chains.chain * span + chains.step, last_place, side="right")
        level = np.frexp((end - chains.entry_node).astype(np.float64))[1] - 1
        found = []
        for one in range(int(level.max()) + 1):
            arrivals = np.flatnonzero(level == one)
            found.append((arrivals, chains.entry_node[arrivals], end[arrivals] - 2**one))
        return cls(tuple(found), len(level))

    def best(self, profit: Reals) -> Ints:
        """Of each arrival, the node of the greatest profit that it lives to see."""
        answer = np.empty(self.arrivals, dtype=np.int64)
        run = np.arange(len(profit))  # the best node of the run of 2**level nodes that begins here
        for level, (arrivals, one, other) in enumerate(self.levels):
            if level:
                half = 2 ** (level - 1)
                run[:-half] = _better(profit, run[:-half], run[half:])
            answer[arrivals] = _better(profit, run[one], run[other])
        return answer


def _better(profit: Reals, one: Ints, other: Ints) -> Ints:
    return np.where(profit[one] >= profit[other], one, other)
