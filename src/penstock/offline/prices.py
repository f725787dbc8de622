"""A guess of what a memory slot is worth at each step, and so of the potentials of an optimal flow.

At given prices every tuple decides alone: it stays as long as what it still gains exceeds the rent. Prices rise where
the tuples that want to stay are more than the slots, and fall where they are fewer. A few dozen rounds over whole
columns come close. The guess only makes the solver fast: the optimum does not depend on it, and it need not be good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.offline.arguments import Ints

if TYPE_CHECKING:
    from penstock.offline.network import Chains

Reals = npt.NDArray[np.float64]

ROUNDS = 40
BLOCK = 32
"""Steps that share one price."""


def guessed_potential(chains: Chains, room: Ints, scale: int) -> Ints:
    """Of each node of the line, then of each node of the chains, in `scale` parts of a result."""
    steps = len(room) + 1
    block = np.arange(steps - 1) // BLOCK
    offered = np.bincount(block, weights=room) + 1.0
    lasting = max(1, int((chains.step[chains.entry_node] - chains.entry_step).sum()))
    price = np.full(len(offered), float(chains.gain[chains.entry_node].clip(0).sum()) / lasting)
    for _ in range(ROUNDS):
        rent = _rent(price, block)
        worth, stop = _stay_or_leave(chains, rent)
        first = chains.entry_node
        enters = chains.gain[first] + worth[first] > rent[chains.step[first]] - rent[chains.entry_step]
        until = np.minimum(stop[first], chains.entry_last)[enters]
        held = np.bincount(chains.entry_step[enters], minlength=steps) - np.bincount(until, minlength=steps)
        wanted = np.bincount(block, weights=np.cumsum(held)[:-1]) + 1.0
        price = price * np.clip(wanted / offered, 0.5, 2.0) ** 0.3
    whole = -np.rint(_rent(price, block) * scale).astype(np.int64)
    # What a slot may still gain along its chain is left out: it ignores that tuples expire, and misleads the solver.
    return np.concatenate([whole, whole[chains.step]])


def _rent(price: Reals, block: Ints) -> Reals:
    """The rent of a slot from step 0 to each step."""
    return np.concatenate([[0.0], np.cumsum(price[block])])


def _stay_or_leave(chains: Chains, rent: Reals) -> tuple[Reals, Ints]:
    """Of each node: what a slot there still gains along its chain, rent paid, and the step at which it leaves."""
    first = np.concatenate([[True], chains.chain[1:] != chains.chain[:-1]])
    profit = np.cumsum(chains.gain) - rent[chains.step]
    # A chain never sees beyond its end: each lies higher than all that come after it.
    height = (float(np.ptp(profit)) + 1.0) * -np.cumsum(first)
    backwards = (profit + height)[::-1]
    best = np.maximum.accumulate(backwards)
    reached = np.maximum.accumulate(np.where(backwards >= best, np.arange(len(best)), 0))
    leaves = len(best) - 1 - reached[::-1]
    return profit[leaves] - profit, chains.step[leaves]
