"""A query with outer joins or EXISTS as a list of nodes, from below: what is joined with what, in which order.

The leaves are **blocks**: streams that meet by inner joins alone, a single stream among them. Every other node joins
the rows of two nodes. RIGHT is LEFT with its sides exchanged; SEMI and ANTI are EXISTS and NOT EXISTS, and stand above
all joins. The last node gives the answer.

Inner joins commute, so a run of them is taken apart: the streams among its inputs become one block, whose rows are
then joined with the rows of its other inputs, one after the other; each condition is tested by the first node in which
all its streams have met. A condition of the ON of an outer join is tested there and nowhere else, whichever sides it
names: it decides matches.

Preconditions: the query is simplified (simplify.py), so what is left in WHERE is asked of the joined row.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from penstock.model.predicates import Predicate, aliases_of, rejects_null
from penstock.model.query import Query
from penstock.model.relation import FromTree, Join, JoinKind, Leaf
from penstock.records import record


class NodeKind(StrEnum):
    """How the rows of a node come about."""

    BLOCK = "block"
    INNER = "inner join"
    LEFT = "left outer join"
    FULL = "full outer join"
    SEMI = "exists"
    ANTI = "not exists"


@record
class JoinNode:
    """One node; a block has no sides."""

    kind: NodeKind
    aliases: tuple[str, ...]
    """The streams of its rows, in the order of FROM; some may be absent from a row."""
    certain: frozenset[str]
    """Those that are in each of its rows."""
    left: int | None
    right: int | None
    required: frozenset[str]
    """The streams without which a row of either side matches nothing here."""
    conditions: tuple[Predicate, ...]
    """What is tested here."""


def nodes_of(query: Query) -> tuple[JoinNode, ...]:
    """The nodes of a query."""
    maker = _NodeMaker(query)
    root = maker.tree(query.tree)
    for existence in query.existences:
        held = maker.block((existence.source.alias,), ())
        root = maker.join(NodeKind.ANTI if existence.negated else NodeKind.SEMI, root, held, existence.condition)
    return tuple(maker.nodes)


class _NodeMaker:
    def __init__(self, query: Query) -> None:
        self.known = tuple(source.alias for source in query.all_sources)
        self.nodes: list[JoinNode] = []

    def tree(self, tree: FromTree) -> int:
        """The node that gives the rows of a part of FROM."""
        match tree:
            case Leaf(alias=alias):
                return self.block((alias,), ())
            case Join(kind=JoinKind.INNER):
                return self._run(tree)
            case Join(kind=JoinKind.RIGHT):
                right, left = self.tree(tree.right), self.tree(tree.left)
                return self.join(NodeKind.LEFT, right, left, tree.on)
            case Join(kind=kind):
                left, right = self.tree(tree.left), self.tree(tree.right)
                return self.join(NodeKind.LEFT if kind is JoinKind.LEFT else NodeKind.FULL, left, right, tree.on)

    def _run(self, tree: Join) -> int:
        """A run of inner joins: its streams as a block, then its other inputs."""
        inputs, conditions = _inputs(tree)
        streams = tuple(i.alias for i in inputs if isinstance(i, Leaf))
        numbers = [self.block(streams, _within(conditions, streams))] if streams else []
        numbers += [self.tree(i) for i in inputs if isinstance(i, Join)]
        tested = set(_within(conditions, streams))
        number = numbers[0]
        for other in numbers[1:]:
            met = self.nodes[number].aliases + self.nodes[other].aliases
            here = tuple(p for p in _within(conditions, met) if p not in tested)
            tested |= set(here)
            number = self.join(NodeKind.INNER, number, other, here)
        return number

    def block(self, aliases: tuple[str, ...], conditions: tuple[Predicate, ...]) -> int:
        """Streams that meet by inner joins alone."""
        self.nodes.append(JoinNode(NodeKind.BLOCK, aliases, frozenset(aliases), None, None, frozenset(), conditions))
        return len(self.nodes) - 1

    def join(self, kind: NodeKind, left: int, right: int, conditions: tuple[Predicate, ...]) -> int:
        """A node that joins the rows of two others."""
        one, other = self.nodes[left], self.nodes[right]
        required = _rejecting(conditions)
        for side in (left, right):
            required |= self._with(side, required)
        given = one.aliases if kind in (NodeKind.SEMI, NodeKind.ANTI) else one.aliases + other.aliases
        certain = frozenset[str]() if kind is NodeKind.FULL else one.certain
        certain |= other.certain if kind is NodeKind.INNER else frozenset[str]()
        ordered = tuple(a for a in self.known if a in given)
        self.nodes.append(JoinNode(kind, ordered, certain, left, right, required, conditions))
        return len(self.nodes) - 1

    def _with(self, number: int, there: frozenset[str]) -> frozenset[str]:
        """The streams that are in each row of a node which has these: also those that they had to meet to be there."""
        node = self.nodes[number]
        if there.isdisjoint(node.aliases):
            return frozenset[str]()
        found = (there | node.certain) & frozenset(node.aliases)
        if node.left is None or node.right is None:
            return found
        one, other = self.nodes[node.left], self.nodes[node.right]
        is_there = [not found.isdisjoint(side.aliases) for side in (one, other)]
        matched = {NodeKind.LEFT: is_there[1], NodeKind.FULL: all(is_there), NodeKind.ANTI: False}
        if matched.get(node.kind, True):
            found |= (node.required | one.certain | other.certain) & frozenset(node.aliases)
        return found.union(*(self._with(side, found) for side in (node.left, node.right)))


def _rejecting(conditions: Iterable[Predicate]) -> frozenset[str]:
    return frozenset(alias for p in conditions if rejects_null(p) for alias in aliases_of(p))


def _inputs(tree: Join) -> tuple[list[FromTree], tuple[Predicate, ...]]:
    inputs: list[FromTree] = []
    conditions: tuple[Predicate, ...] = tree.on
    for side in (tree.left, tree.right):
        if isinstance(side, Join) and side.kind is JoinKind.INNER:
            below, within = _inputs(side)
            inputs += below
            conditions = (*within, *conditions)
        else:
            inputs.append(side)
    return inputs, conditions


def _within(conditions: tuple[Predicate, ...], aliases: tuple[str, ...]) -> tuple[Predicate, ...]:
    return tuple(p for p in conditions if aliases_of(p) <= set(aliases))
