"""The least cost of a flow, by the primal-dual method: one max-flow for each unit by which potentials are off.

An arc whose reduced cost `cost + potential(tail) - potential(head)` is negative is full, one where it is positive is
empty, and one where it is zero may carry anything. A flow that keeps to this and balances every node is optimal. So:
send what is too much at some nodes to those that lack it along arcs of reduced cost zero, as a max-flow. If something
is left over, it cannot leave the nodes that it reaches, and all their potentials must fall: by 1, or by more if no
arc out of the set becomes free before. Each such step is the steepest one that the dual can take, and with whole
costs the number of steps is how far the first potentials are from the nearest optimal ones, at the farthest node. The
flow found so far stays, so that later rounds, which have little left to send, are cheap.

Costs, capacities and supplies are whole numbers and some flow is feasible; the answer is then exact. The first
potentials decide only the time: `prices` guesses them. A solver by cost scaling (ortools' own) was tried before: it
carries what is left over step by step along a line of thousands of nodes, and took minutes where this takes seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import InternalError
from penstock.extras import needing
from penstock.offline.arguments import Ints


@dataclass(frozen=True)
class Network:
    """Arcs as columns, and what each node gives (or, below 0, takes)."""

    tails: Ints
    heads: Ints
    most: Ints
    costs: Ints
    supply: Ints


def least_cost(network: Network, potential: Ints) -> int:
    """The cost of a cheapest flow, whatever the potentials to begin with."""
    potential = potential.copy()
    flow = np.zeros(len(network.tails), dtype=np.int64)
    while True:
        reduced = network.costs + potential[network.tails] - potential[network.heads]
        flow = np.where(reduced < 0, network.most, np.where(reduced > 0, 0, flow))
        stuck = _send(network, flow, np.flatnonzero(reduced == 0))
        if not stuck.any():
            return int(network.costs @ flow)
        potential[stuck] -= _until_an_arc_is_free(network, reduced, stuck)


def _send(network: Network, flow: Ints, free: Ints) -> npt.NDArray[np.bool_]:
    """Balance the nodes along free arcs as far as that goes; the nodes that hold what is left over."""
    with needing("offline"):
        from ortools.graph.python.max_flow import SimpleMaxFlow  # noqa: PLC0415 - only the optimum needs it

    nodes = len(network.supply)
    into, out = (np.bincount(ends, weights=flow, minlength=nodes) for ends in (network.heads, network.tails))
    over = network.supply + (into - out).astype(np.int64)
    giving, taking = np.flatnonzero(over > 0), np.flatnonzero(over < 0)
    stuck = np.zeros(nodes, dtype=bool)
    if not len(giving):
        return stuck
    onward, back = free[flow[free] < network.most[free]], free[flow[free] > 0]
    solver = SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.concatenate([network.tails[onward], network.heads[back], np.full(len(giving), nodes), taking]),
        np.concatenate([network.heads[onward], network.tails[back], giving, np.full(len(taking), nodes + 1)]),
        np.concatenate([(network.most - flow)[onward], flow[back], over[giving], -over[taking]]),
    )
    status = solver.solve(nodes, nodes + 1)
    if status != solver.OPTIMAL:
        raise InternalError(f"the max-flow ended with {status}", detail="no flow is feasible at any time")
    sent = np.asarray(solver.flows(np.arange(len(onward) + len(back))), dtype=np.int64)
    flow[onward] += sent[: len(onward)]
    flow[back] -= sent[len(onward) :]
    if solver.optimal_flow() < int(over[giving].sum()):
        reached = np.asarray(solver.get_source_side_min_cut(), dtype=np.int64)
        stuck[reached[reached < nodes]] = True
    return stuck


def _until_an_arc_is_free(network: Network, reduced: Ints, stuck: npt.NDArray[np.bool_]) -> int:
    leaving = stuck[network.tails] & ~stuck[network.heads] & (reduced > 0)
    entering = ~stuck[network.tails] & stuck[network.heads] & (reduced < 0)
    bars = np.concatenate([reduced[leaving], -reduced[entering]])
    if not len(bars):
        raise InternalError("no flow balances the network", detail="what is left over has no way out")
    return int(bars.min())
