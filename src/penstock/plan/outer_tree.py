"""From the tree of FROM, and the EXISTS above it, to the nodes that the engine runs (plan/outer.py).

Inner joins commute, so a run of them is taken apart: the streams among its inputs become one block, whose rows are
then joined with the rows of its other inputs, one after the other; each condition is tested by the first node in which
all its streams have met. A condition of the ON of an outer join is tested there and nowhere else, whichever sides it
names: it decides matches. [RANGE] windows are conditions between any two streams that are there.

Preconditions: the query is simplified (model/simplify.py), so WHERE has no condition on two streams.

An axis of the cells is a class of columns that are equal wherever two of their streams stand together; where that
fails the class is no axis. A row that may be given without having matched must lie in one cell: an axis that none of
the streams certain to be in it carries is left whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from penstock.model.graph import JoinGraph
from penstock.model.predicates import ColumnRef, Comparison, Difference, Op, Predicate, aliases_of, rejects_null
from penstock.model.query import FromTree, Join, JoinKind, Leaf, Output, Query, RangeWindow, RowsWindow
from penstock.plan.bounds import TimeBound
from penstock.plan.conditions import Moment, conditions_at
from penstock.plan.outer import TEST, BlockPlan, NodeKind, NodePlan, OuterPlan, TestPlan
from penstock.plan.plan import Closer
from penstock.plan.purge_trees import find_purge_trees
from penstock.plan.ties import KeyAxis, PairPredicate, PurgeEdge


def outer_axes(query: Query, graph: JoinGraph) -> tuple[KeyAxis, ...]:
    """The key classes by which rows can be dealt to cells."""
    found = []
    for key_class in graph.key_classes:
        firsts = {ref.alias: ref for ref in reversed(key_class.columns)}
        if all(
            query.equalities(frozenset({a, b})).equal(firsts[a], firsts[b]) for a, b in combinations(sorted(firsts), 2)
        ):
            found.append(KeyAxis(key_class.columns))
    return tuple(found)


def outer_plan(
    query: Query, axes: tuple[KeyAxis, ...], closers: tuple[Closer, ...], bounds: tuple[TimeBound, ...]
) -> OuterPlan:
    """The nodes of a query that is not all inner joins."""
    maker = _Maker(query, closers, bounds)
    root = maker.tree(query.tree)
    for existence in query.existences:
        held = maker.block((existence.source.alias,), ())
        kind = NodeKind.ANTI if existence.negated else NodeKind.SEMI
        root = maker.join(kind, root, held, existence.condition)
    results = [maker.test(p) for p in conditions_at(query, Moment.RESULT)]
    nodes = tuple(maker.nodes)
    kept = [nodes[side].certain for node in nodes for side in _alone(node)]
    whole = tuple(n for n, axis in enumerate(axes) if not all(any(map(axis.column, row)) for row in kept))
    return OuterPlan(nodes, tuple(maker.tests), tuple(results), whole)


def _alone(node: NodePlan) -> Iterator[int]:
    """The sides whose rows may be given by themselves."""
    left, right = node.preserves
    if node.left is not None and (left or node.kind is NodeKind.SEMI):
        yield node.left
    if node.right is not None and right:
        yield node.right


class _Maker:
    def __init__(self, query: Query, closers: tuple[Closer, ...], bounds: tuple[TimeBound, ...]) -> None:
        self.query = query
        self.closers = closers
        self.bounds = bounds
        self.nodes: list[NodePlan] = []
        self.tests: list[TestPlan] = []
        self._on_arrival = set(conditions_at(query, Moment.ARRIVAL))

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
        sources = tuple(self.query.by_alias[alias] for alias in aliases)
        tree: FromTree = Leaf(aliases[0])
        for alias in aliases[1:]:
            tree = Join(JoinKind.INNER, tree, Leaf(alias))
        shown = ColumnRef(aliases[0], next(c.name for c in sources[0].stream.carried))
        within = Query("block", None, sources, tree, (Output("shown", shown),), conditions)
        graph = JoinGraph.of(within)
        closers = tuple(c for c in self.closers if c.source in aliases and c.target in aliases)
        unequal = tuple(p for p in conditions if not (isinstance(p, Comparison) and p.op is Op.EQ))
        counted = frozenset(s.alias for s in sources if isinstance(s.window, RowsWindow))
        block = BlockPlan(
            tuple(KeyAxis(k.columns) for k in graph.key_classes),
            graph.components,
            None if graph.join_tree is None else tuple(PurgeEdge(child, parent) for child, parent in graph.join_tree),
            tuple(dict.fromkeys((*_compared(unequal), *self._windows(aliases, aliases)))),
            find_purge_trees(graph, closers, self.bounds, counted) if len(aliases) > 1 else (),
        )
        self.nodes.append(
            NodePlan(NodeKind.BLOCK, aliases, aliases, None, None, (), (), (), (), (), block),
        )
        return len(self.nodes) - 1

    def join(self, kind: NodeKind, left: int, right: int, conditions: tuple[Predicate, ...]) -> int:
        """A node that joins the rows of two others."""
        one, other = self.nodes[left], self.nodes[right]
        between = [p for p in dict.fromkeys(conditions) if len(aliases_of(p)) > 1]
        alone = [p for p in conditions if len(aliases_of(p)) == 1 and p not in self._on_arrival]
        equal = [p for p in between if isinstance(p, Comparison) and p.op is Op.EQ and _parts(p, one.aliases)]
        required = {alias for p in conditions if rejects_null(p) for alias in aliases_of(p)}
        known = tuple(s.alias for s in self.query.all_sources)
        given = one.aliases if kind in (NodeKind.SEMI, NodeKind.ANTI) else one.aliases + other.aliases
        certain = set[str]() if kind is NodeKind.FULL else set(one.certain)
        certain |= set(other.certain) if kind is NodeKind.INNER else set()
        node = NodePlan(
            kind,
            tuple(a for a in known if a in given),
            tuple(a for a in known if a in certain),
            left,
            right,
            tuple(a for a in known if a in required),
            tuple(KeyAxis(p.columns) for p in equal),
            _compared(p for p in between if p not in equal),
            self._windows(one.aliases, other.aliases),
            tuple(dict.fromkeys(self.test(p) for p in alone)),
            None,
        )
        self.nodes.append(node)
        return len(self.nodes) - 1

    def test(self, predicate: Predicate) -> str:
        """The column of a condition on one stream."""
        (alias,) = aliases_of(predicate)
        for test in self.tests:
            if (test.alias, test.text) == (alias, str(predicate)):
                return test.column
        column = f"{TEST}{len(self.tests)}"
        self.tests.append(TestPlan(alias, column, str(predicate), rejects_null(predicate)))
        return column

    def _windows(self, ones: tuple[str, ...], others: tuple[str, ...]) -> tuple[PairPredicate, ...]:
        found = []
        for one, other in ((a, b) for a in ones for b in others if a != b):
            for own, later in ((one, other), (other, one)):
                source, time = self.query.by_alias[own], self.query.by_alias[later].event_time
                if isinstance(source.window, RangeWindow) and source.event_time is not None and time is not None:
                    text = f"{own} has {source.window}"
                    found.append(PairPredicate(time, Op.LT, source.event_time, source.window.span.ticks, text))
        return tuple(dict.fromkeys(found))


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


def _parts(predicate: Predicate, aliases: tuple[str, ...]) -> bool:
    """Whether a condition has a stream on either side of a cut."""
    return len(aliases_of(predicate) & set(aliases)) == 1


def _compared(predicates: Iterator[Predicate] | tuple[Predicate, ...]) -> tuple[PairPredicate, ...]:
    found = []
    for p in predicates:
        text = p.text or str(p)
        match p:
            case Comparison(left=left, op=op, right=right) if left.alias != right.alias:
                found.append(PairPredicate(left, op, right, None, text))
            case Difference(minuend=left, op=op, subtrahend=right) if left.alias != right.alias:
                found.append(PairPredicate(left, op, right, p.span.ticks, text))
            case _:
                continue
    return tuple(found)
