"""From the nodes of a query (model/nodes.py) to the nodes that the engine runs (plan/tree.py).

[RANGE] windows are conditions between any two streams that are there. Preconditions: the query is simplified
(model/simplify.py), so what is left in WHERE is asked of the joined row.

An axis of the cells is a class of columns that are equal wherever two of their streams stand together; where that
fails the class is no axis. A row that may be given without having matched must lie in one cell: an axis that none of
the streams certain to be in it carries is left whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from penstock.analysis.closings.outer_join_purge import Leaving, beyond
from penstock.model.clauses import Output, RangeWindow, RowsWindow
from penstock.model.expressions import ColumnRef
from penstock.model.graph import JoinGraph
from penstock.model.nodes import JoinNode, NodeKind, nodes_of
from penstock.model.predicates import Comparison, Difference, Op, Predicate, Residual, aliases_of, rejects_null
from penstock.model.query import Query
from penstock.model.relation import Block, FromTree, Join, JoinKind, Leaf
from penstock.plan.closer_plans import Closer
from penstock.plan.condition_moments import Moment, conditions_at, evaluated
from penstock.plan.parts import ConditionPlan, KeyAxis, PairPredicate, PurgeEdge, PurgeTree
from penstock.plan.purge_trees import find_purge_trees
from penstock.plan.tree import TEST, BlockPlan, NodePlan, TestPlan, TreePlan


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


def outer_plan(query: Query, axes: tuple[KeyAxis, ...], closers: tuple[Closer, ...]) -> TreePlan:
    """The nodes of a query that is not all inner joins."""
    maker = _Maker(query, closers)
    for node in nodes_of(query):
        maker.add(node)
    results = [maker.test(p) for p in conditions_at(query, Moment.RESULT)]
    nodes = tuple(maker.nodes)
    kept = [nodes[side].certain for node in nodes for side in _alone(node)]
    whole = tuple(n for n, axis in enumerate(axes) if not all(any(map(axis.column, row)) for row in kept))
    return TreePlan(nodes, tuple(maker.tests), tuple(results), whole, evaluated(query, query.where))


def block_tree(
    graph: JoinGraph,
    axes: tuple[KeyAxis, ...],
    predicates: tuple[PairPredicate, ...],
    purge_trees: tuple[PurgeTree, ...],
    conditions: tuple[ConditionPlan, ...] = (),
) -> TreePlan:
    """The tree of a query that is all inner joins."""
    block = BlockPlan(axes, graph.components, _edges(graph), predicates, purge_trees, (), conditions)
    node = NodePlan(NodeKind.BLOCK, graph.aliases, graph.aliases, None, None, (), (), (), (), (), block)
    return TreePlan((node,), (), (), ())


def _edges(graph: JoinGraph) -> tuple[PurgeEdge, ...] | None:
    return None if graph.join_tree is None else tuple(PurgeEdge(child, parent) for child, parent in graph.join_tree)


def _alone(node: NodePlan) -> Iterator[int]:
    """The sides whose rows may be given by themselves."""
    left, right = node.preserves
    if node.left is not None and (left or node.kind is NodeKind.SEMI):
        yield node.left
    if node.right is not None and right:
        yield node.right


class _Maker:
    def __init__(self, query: Query, closers: tuple[Closer, ...]) -> None:
        self.query = query
        self.closers = closers
        self.nodes: list[NodePlan] = []
        self.tests: list[TestPlan] = []
        self._on_arrival = set(conditions_at(query, Moment.ARRIVAL))

    def add(self, node: JoinNode) -> None:
        """Plan one more node."""
        if node.left is None or node.right is None:
            self.nodes.append(self._block(node))
        else:
            self.nodes.append(self._join(node, self.nodes[node.left]))

    def _block(self, node: JoinNode) -> NodePlan:
        aliases, conditions = node.aliases, node.conditions
        compared = tuple(p for p in conditions if not isinstance(p, Residual))
        sources = tuple(self.query.by_alias[alias] for alias in aliases)
        tree: FromTree = Leaf(aliases[0])
        for alias in aliases[1:]:
            tree = Join(JoinKind.INNER, tree, Leaf(alias))
        shown = ColumnRef(aliases[0], next(c.name for c in sources[0].stream.carried))
        within = Query.select("block", sources, Block(tree, (Output("shown", shown),), compared))
        graph = JoinGraph.of(within)
        closers = tuple(c for c in self.closers if c.source in aliases and c.target in aliases)
        unequal = tuple(p for p in conditions if not (isinstance(p, Comparison) and p.op is Op.EQ))
        counted = frozenset(s.alias for s in sources if isinstance(s.window, RowsWindow))
        block = BlockPlan(
            tuple(KeyAxis(k.columns) for k in graph.key_classes),
            graph.components,
            _edges(graph),
            tuple(dict.fromkeys((*_compared(unequal), *self._windows(aliases, aliases)))),
            find_purge_trees(graph, closers, counted) if len(aliases) > 1 else (),
            beyond(self.query, aliases) if self._needs_more(node) else (),
            evaluated(self.query, conditions),
        )
        return NodePlan(NodeKind.BLOCK, aliases, aliases, None, None, (), (), (), (), (), block)

    def _needs_more(self, node: JoinNode) -> bool:
        """Whether some tuple of a block never leaves by the closers of the block alone."""

        def closes(there: frozenset[str], target: str) -> bool:
            return any(c.certain and c.source in there and c.target == target for c in self.closers)

        return next(Leaving([node], [()]).stuck(closes), None) is not None

    def _join(self, node: JoinNode, one: NodePlan) -> NodePlan:
        """A node that joins the rows of two others; `one` is its left side."""
        assert node.right is not None
        between = [p for p in dict.fromkeys(node.conditions) if len(aliases_of(p)) > 1 and not isinstance(p, Residual)]
        alone = [p for p in node.conditions if len(aliases_of(p)) == 1 and p not in self._on_arrival]
        equal = [p for p in between if isinstance(p, Comparison) and p.op is Op.EQ and _parts(p, one.aliases)]
        known = tuple(s.alias for s in self.query.all_sources)
        return NodePlan(
            node.kind,
            node.aliases,
            tuple(a for a in known if a in node.certain),
            node.left,
            node.right,
            tuple(a for a in known if a in node.required),
            tuple(KeyAxis(p.columns) for p in equal),
            _compared(p for p in between if p not in equal),
            self._windows(one.aliases, self.nodes[node.right].aliases),
            tuple(dict.fromkeys(self.test(p) for p in alone)),
            None,
            evaluated(self.query, node.conditions),
        )

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
