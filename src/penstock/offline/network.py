"""The memory over time as a network in which flow is memory (SHED 4.1), and its min-cost flow.

A line has one node for each step. A unit of flow is a memory slot; while it follows the line, it stands idle. (The
paper's network has no such arcs, and is infeasible where memory is plenty: ERRATA.) A chain is a row of nodes, one for
each step at which its tuples produce results. A slot leaves the line for a chain when a tuple of the chain arrives,
gains at each node of the chain that it enters, and may return to the line from any of them. Every step's cut carries
exactly the memory of that step, so memory that varies is a supply or a demand on the line. By Theorem 4 an optimal
flow is whole-numbered.

Where each result counts one, potentials are small whole numbers that can be guessed well, and the primal-dual method is
fast (`prices`, `primal_dual`). Where results have values, potentials range as far as the values do, and a solver by
cost scaling, whose time follows their number of digits, is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import InternalError
from penstock.extras import needing
from penstock.offline.arguments import Ints
from penstock.offline.prices import guessed_potential
from penstock.offline.primal_dual import Network, least_cost

SMALL = 8
"""The greatest gain of a node for which the primal-dual method is used."""

SHORT = 200
"""Steps below which the solver needs no guess."""


@dataclass(frozen=True)
class Chains:
    """All chains, one after the other, and the arrivals that enter them."""

    chain: Ints
    """Of each node, the chain it is in; never falling."""
    step: Ints
    """Of each node; rising within a chain."""
    gain: Ints
    """Of each slot that enters the node, from the line or from the node before."""
    carried: Ints
    """The most slots that come from the node before in the chain; 0 for the first."""
    entry_step: Ints
    """Of each arrival."""
    entry_node: Ints
    """The node that the arrival can reach first."""
    entry_last: Ints
    """The last step at which the arrival can produce results."""

    def and_then(self, other: Chains) -> Chains:
        """Both, in one network."""
        more_chains = int(self.chain[-1]) + 1 if len(self.chain) else 0
        return Chains(
            np.concatenate([self.chain, other.chain + more_chains]),
            np.concatenate([self.step, other.step]),
            np.concatenate([self.gain, other.gain]),
            np.concatenate([self.carried, other.carried]),
            np.concatenate([self.entry_step, other.entry_step]),
            np.concatenate([self.entry_node, other.entry_node + len(self.step)]),
            np.concatenate([self.entry_last, other.entry_last]),
        )


def most_gain(chains: Chains, room: Ints) -> int:
    """The most that can be gained when `room[t]` slots exist between the steps t and t + 1."""
    if not len(chains.entry_node) or not room.any():
        return 0
    room = np.minimum(room, len(chains.entry_node))
    steps = len(room) + 1
    nodes = np.arange(len(chains.step)) + steps
    follow = np.flatnonzero(chains.carried > 0)
    line = np.arange(steps - 1)
    entries = len(chains.entry_node)
    plenty = int(room.max())
    tails = np.concatenate([line, chains.entry_step, nodes[follow] - 1, nodes])
    heads = np.concatenate([line + 1, nodes[chains.entry_node], nodes[follow], chains.step])
    most = np.concatenate([room, np.ones(entries, np.int64), chains.carried[follow], np.full(len(nodes), plenty)])
    gains = np.concatenate([0 * line, chains.gain[chains.entry_node], chains.gain[follow], 0 * nodes])
    supply = np.zeros(steps + len(nodes), dtype=np.int64)
    supply[:steps] = np.diff(room, prepend=0, append=0)
    network = Network(tails, heads, most, -gains, supply)
    if int(np.abs(gains).max()) > SMALL:
        return -by_cost_scaling(network)
    return -least_cost(network, guessed_potential(chains, room) if steps > SHORT else np.zeros_like(supply))


def by_cost_scaling(network: Network) -> int:
    """The cost of a cheapest flow, by ortools' own solver."""
    with needing("offline"):
        from ortools.graph.python.min_cost_flow import SimpleMinCostFlow  # noqa: PLC0415 - only the optimum needs it

    flow = SimpleMinCostFlow()
    flow.add_arcs_with_capacity_and_unit_cost(network.tails, network.heads, network.most, network.costs)
    flow.set_nodes_supplies(np.arange(len(network.supply)), network.supply)
    status = flow.solve()
    if status != flow.OPTIMAL:
        raise InternalError(f"the min-cost flow ended with {status}", detail="the idle line alone is a feasible flow")
    return int(flow.optimal_cost())
