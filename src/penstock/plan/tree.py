"""The joins of a query as a tree of nodes: inert data, obeyed by `runtime/join`.

What the nodes are is said in `model/nodes.py`. They are numbered from below, the last one gives the answer. A query
that is all inner joins is the tree with one block.
"""

from __future__ import annotations

from penstock.model.nodes import NodeKind
from penstock.plan.parts import ConditionPlan, KeyAxis, PairPredicate, PurgeEdge, PurgeTree
from penstock.records import record

TEST = "__ps_test_"
"""How the columns of tests begin."""


@record
class BlockPlan:
    """How the streams of a block meet, and in which order the purge rule looks at them."""

    axes: tuple[KeyAxis, ...]
    components: tuple[tuple[str, ...], ...]
    join_tree: tuple[PurgeEdge, ...] | None
    predicates: tuple[PairPredicate, ...]
    purge_trees: tuple[PurgeTree, ...]
    beyond: tuple[str, ...]
    """Streams that stand in every result with the block, over which the rule goes where the block alone lacks closers.
    """
    conditions: tuple[ConditionPlan, ...] = ()
    """Conditions on several streams that the core evaluates on what they have met."""
    expanded: bool = False
    """Whether partial results are looked at as a whole: messages along a tree would not decide the rule."""
    by_key: bool = False
    """Whether closing is a matter of one key (`plan/purge_decisions.py`)."""


@record
class TestPlan:
    """A condition on one stream that decides matches or results: Spark evaluates it as a row arrives."""

    alias: str
    column: str
    """The boolean column that carries it."""
    text: str
    rejects_absent: bool
    """Whether it fails where the stream is absent; else Spark says what it is worth of NULLs."""


@record
class NodePlan:
    """One node; a block has no sides."""

    kind: NodeKind
    aliases: tuple[str, ...]
    """The streams of its rows; some may be absent from a row."""
    certain: tuple[str, ...]
    """Those that are in each of its rows."""
    left: int | None
    right: int | None
    required: tuple[str, ...]
    """The streams without which a row of either side matches nothing here."""
    equalities: tuple[KeyAxis, ...]
    """Pairs of columns that must be equal, one of each side."""
    predicates: tuple[PairPredicate, ...]
    """Other conditions between two streams, on one side or on both."""
    windows: tuple[PairPredicate, ...]
    """What [RANGE] windows say of two streams of different sides, where both are there."""
    tests: tuple[str, ...]
    """The tests that must hold for a match, by column."""
    block: BlockPlan | None
    conditions: tuple[ConditionPlan, ...] = ()
    """Other conditions on several streams that decide a match."""

    @property
    def asked(self) -> tuple[ConditionPlan, ...]:
        """The conditions on several streams that are asked here, of the rows of a block or of matches."""
        return self.conditions if self.block is None else self.block.conditions

    @property
    def preserves(self) -> tuple[bool, bool]:
        """Of which sides rows that match nothing are given."""
        return self.kind in (NodeKind.LEFT, NodeKind.FULL, NodeKind.ANTI), self.kind is NodeKind.FULL

    @property
    def waits(self) -> tuple[bool, bool]:
        """Of which sides rows wait to know whether they match anything."""
        left, right = self.preserves
        return left or self.kind is NodeKind.SEMI, right


@record
class TreePlan:
    """The nodes, the tests, and what of the answer is decided on joined rows."""

    nodes: tuple[NodePlan, ...]
    tests: tuple[TestPlan, ...]
    results: tuple[str, ...]
    """The tests of WHERE on streams that may be absent, by column."""
    whole_axes: tuple[int, ...]
    """The axes that cannot be cut: rows that may be given unmatched do not carry them, and must not be copied."""
    conditions: tuple[ConditionPlan, ...] = ()
    """Conditions of WHERE on several streams of which some may be absent."""

    @property
    def all_conditions(self) -> tuple[ConditionPlan, ...]:
        """The conditions on several streams, wherever they are evaluated."""
        return (*(condition for node in self.nodes for condition in node.asked), *self.conditions)

    def tests_of(self, alias: str) -> tuple[TestPlan, ...]:
        """The tests of one stream."""
        return tuple(test for test in self.tests if test.alias == alias)

    def in_block(self, alias: str) -> bool:
        """Whether a stream meets others by inner joins before anything else."""
        return any(node.block is not None and len(node.aliases) > 1 and alias in node.aliases for node in self.nodes)

    @property
    def is_pair(self) -> bool:
        """Whether it is one join of two single streams."""
        return len(self.nodes) == 3 and all(len(node.aliases) == 1 for node in self.nodes[:2])

    @property
    def is_block(self) -> bool:
        """Whether every stream stands in every result."""
        return len(self.nodes) == 1

    @property
    def joins_late_rows(self) -> bool:
        """Whether a join or EXISTS stands above another, and takes rows some time after their tuples came."""
        return sum(node.kind is not NodeKind.BLOCK for node in self.nodes) > 1

    @property
    def root(self) -> NodePlan:
        """The node that gives the answer."""
        return self.nodes[-1]

    def parent(self, number: int) -> int | None:
        """The node that a node's rows go to."""
        return next((n for n, node in enumerate(self.nodes) if number in (node.left, node.right)), None)
