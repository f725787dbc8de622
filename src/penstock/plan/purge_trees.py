"""In which order the purge rule looks at the other streams, for a tuple of each.

An edge parent -> child of a purge tree asks: is child closed for this tuple of parent, and what of the stored tuples
of child that agree with it? Looking only at the agreement of child with its parent considers more stored tuples than
the rule must, so any tree is sound; the trees chosen here are those along which the rule can succeed. Theorem (SAFETY
1, with the graph of DESIGN section 1): if every stream is reached along certain closers, every tuple of the root
leaves in the end. On a join tree the messages along its own edges decide the rule exactly for closers between
neighbours. Other graphs are not decided by trees alone: runtime/join/expansion.py asks again about what they keep.
"""

from __future__ import annotations

from penstock.model.graph import JoinGraph
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.parts import PurgeEdge, PurgeTree


def find_purge_trees(
    graph: JoinGraph, closers: tuple[Closer, ...], counted: frozenset[str] = frozenset()
) -> tuple[PurgeTree, ...]:
    """For each source one tree or two: the shortest along closers, and the join tree hung up at the source.

    `counted` are the sources with [ROWS n]: what was met there leaves by itself, whatever it waits for.
    """
    certain = {(c.source, c.target) for c in closers if c.certain}
    certain |= {(a, b) for a in counted for b in graph.aliases if a != b}
    possible = {(c.source, c.target) for c in closers}
    met = {pair for a, b in graph.meetings for pair in ((a, b), (b, a))}
    every = {(a, b) for a in graph.aliases for b in graph.aliases if a != b}
    joined = {pair for a, b in graph.join_tree or () for pair in ((a, b), (b, a))}
    untimed = {(c.source, c.target) for c in closers if c.kind is not CloserKind.BAND}
    direct = {(c.source, c.target) for c in closers if c.excess is not None and c.excess.is_direct}
    trees: list[PurgeTree] = []
    for root in graph.aliases:
        for layers in ((certain, possible, met, every), (certain & joined, joined, every)):
            edges = _grow(root, graph.aliases, layers)
            tree = PurgeTree(root, edges, all((e.parent, e.child) in certain for e in edges))
            # Along bands alone it would, beside a certain tree, let rows go a little earlier, at a cost.
            settled = all((e.parent, e.child) not in untimed for e in edges) and any(
                t.root == root and t.certain and _in_single_steps(t, direct) for t in trees
            )
            if edges and tree not in trees and not settled:
                trees.append(tree)
    return tuple(trees)


def _in_single_steps(tree: PurgeTree, direct: set[tuple[str, str]]) -> bool:
    """Whether each edge goes from the root by a bound that is no chain of others, as under RANGE windows."""
    return all(edge.parent == tree.root and (edge.parent, edge.child) in direct for edge in tree.edges)


def _grow(root: str, aliases: tuple[str, ...], layers: tuple[set[tuple[str, str]], ...]) -> tuple[PurgeEdge, ...]:
    """Breadth first from the root along the first layer that still reaches a new source."""
    reached, new = [root], dict.fromkeys(alias for alias in aliases if alias != root)
    edges: list[PurgeEdge] = []
    # A parent that leads to no new source along a layer never will again: each layer goes on where it stopped.
    at = [0] * len(layers)

    def along(number: int) -> PurgeEdge | None:
        while at[number] < len(reached):
            parent = reached[at[number]]
            for child in new:
                if (parent, child) in layers[number]:
                    return PurgeEdge(parent, child)
            at[number] += 1
        return None

    while new:
        edge = next(edge for number in range(len(layers)) if (edge := along(number)) is not None)
        edges.append(edge)
        reached.append(edge.child)
        del new[edge.child]
    return tuple(edges)
