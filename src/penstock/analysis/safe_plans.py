"""Which trees of binary and multi-way joins are safe? (SAFETY, Definition 2 and section 5.2)

A join operator over some inputs is purgeable iff its inputs close each other in turn, and a tree is safe iff every
operator in it is. So a tree is put together from strongly connected sub-graphs, and no tree is tried out:

Take the inputs that are there, merge those along a shortest cycle of the graph into one operator, and go on with its
output as an input, until no cycle is left. An edge leads from one input to another if a closing of a stream in the
second has all its needs met in the first. Theorem: if any safe tree has operators of at most m inputs, so has this one.
For a lowest operator of that tree whose inputs lie in several of our nodes: these nodes close each other in turn, so
each has an edge to another, and there is a cycle of at most m of them, which would have been merged. With m = 2 this
decides whether a tree of binary joins is safe; with m = n, whether any is (Theorems 2 and 4, Definition 11 corrected).

Preconditions: inner joins; promises pass through an operator once what it stores of a closed value has left, which
every purgeable operator does. Windows of [ROWS n] count as closings. Not decided: what a tree costs.
"""

from __future__ import annotations

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.reasons import Reason, SafeTrees
from penstock.records import record

_Closing = tuple[tuple[tuple[str, ...], ...], str]
"""The needs of a closing, and its target."""


@record
class SafeTree:
    """A stream, or an operator over several inputs."""

    streams: tuple[str, ...]
    """All streams below, in the order of FROM."""
    inputs: tuple[SafeTree, ...] = ()

    @property
    def widest(self) -> int:
        """The most inputs of any operator."""
        return max([len(self.inputs), *(i.widest for i in self.inputs)])

    def __str__(self) -> str:
        return f"({' ⋈ '.join(map(str, self.inputs))})" if self.inputs else self.streams[0]


def safe_trees(graph: ClosingGraph) -> tuple[SafeTree, ...]:
    """The safe trees over as many streams as can be; a single one if the query is safe."""
    trees = [SafeTree((alias,)) for alias in graph.aliases]
    closings = tuple(dict.fromkeys((closing.needs, closing.target) for closing in graph.closings))
    while (cycle := _shortest_cycle(_edges(closings, trees))) is not None:
        inputs = tuple(trees[place] for place in sorted(cycle))
        members = {alias for tree in inputs for alias in tree.streams}
        merged = SafeTree(tuple(a for a in graph.aliases if a in members), inputs)
        trees = [merged if tree == inputs[0] else tree for tree in trees if tree not in inputs[1:]]
    return tuple(trees)


def safe_plans(graph: ClosingGraph) -> tuple[Reason, ...]:
    """What `explain` says of the trees of joins; nothing for one or two streams, or where streams may be absent."""
    count = len(graph.aliases)
    if count < 3 or not graph.query.is_inner:
        return ()
    trees = safe_trees(graph)
    if len(trees) > 1:
        return (SafeTrees.NONE(), *(SafeTrees.SAFE_PART(tree) for tree in trees if tree.inputs))
    (tree,) = trees
    whole = SafeTrees.SINGLE_JOIN(count)
    if tree.widest == 2:
        return whole, SafeTrees.BINARY(tree)
    if tree.widest == count:
        return whole, SafeTrees.ONLY_ALL_TOGETHER()
    return whole, SafeTrees.NO_BINARY(), SafeTrees.WIDER(tree.widest, tree)


def _edges(closings: tuple[_Closing, ...], trees: list[SafeTree]) -> dict[int, list[int]]:
    """By input, the inputs that are closed for it."""
    place = {alias: number for number, tree in enumerate(trees) for alias in tree.streams}
    found: dict[int, set[int]] = {number: set() for number in range(len(trees))}
    for needs, closed in closings:
        target = place[closed]
        if len(needs) == 1:
            for alias in needs[0]:
                found[place[alias]].add(target)
        else:
            for number in set.intersection(*({place[alias] for alias in need} for need in needs)):
                found[number].add(target)
    return {number: sorted(targets - {number}) for number, targets in found.items()}


def _shortest_cycle(edges: dict[int, list[int]]) -> list[int] | None:
    """A cycle of the least length; the first in the order of the inputs. None if there is none."""
    best: list[int] | None = None
    for start in edges:
        before: dict[int, int] = {}
        frontier = [start]
        for node in frontier:
            if start in edges[node]:
                cycle = [node]
                while cycle[-1] != start:
                    cycle.append(before[cycle[-1]])
                if best is None or len(cycle) < len(best):
                    best = cycle
                break
            for following in edges[node]:
                if following not in before and following != start:
                    before[following] = node
                    frontier.append(following)
        if best is not None and len(best) == 2:
            break
    return best
