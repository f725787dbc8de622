"""The purge rule within a block of streams: a tuple that is done there is marked, since rows that wait may name it.

Where the streams of the block do not close each other, the rule goes over streams that stand in every result with them
(analysis/closings): a tuple is done if no partial result that grows from it, by them or within the block, is stuck
before it covers the block. What covers the block has been joined, and waits above as a row of its own. Of the streams
outside all stored tuples are looked at, done or not: more than must be, never less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penstock.plan.outer import BlockPlan, NodePlan
from penstock.plan.plan import Plan
from penstock.runtime.clock import Clock
from penstock.runtime.closing import Closing
from penstock.runtime.codes import Bools, Ints
from penstock.runtime.expansion import Expansion
from penstock.runtime.marks import LEFT
from penstock.runtime.outer.block_matching import BlockMatcher
from penstock.runtime.outer.node_matching import NodeTies
from penstock.runtime.purge import NOTHING_MET, Asking, Purge, Purged
from penstock.runtime.synopsis import ALL, Synopsis


class BlockPurge(Purge):
    """Applies the rule to the tuples of one block; its plan is that of the block by itself."""

    def __init__(
        self, plan: Plan, node: NodePlan, synopses: Mapping[str, Synopsis], closing: Closing, clock: Clock
    ) -> None:
        assert node.block is not None
        own = frozenset(node.aliases)
        part = _part(plan, node, node.block)
        super().__init__(part, BlockMatcher(part, synopses, own), closing, clock)
        self.outside: Expansion | None = None
        if node.block.beyond:
            ties = NodeTies((*node.aliases, *node.block.beyond), (*node.block.axes, *plan.axes), node.block.predicates)
            self.outside = Expansion(ties, BlockMatcher(ties, synopses, own), closing, own)

    def run(
        self, marked: Mapping[str, Ints], asking: Asking = Asking.CHANGED, met: Mapping[str, Ints] = NOTHING_MET
    ) -> Purged:
        """See Purge."""
        purged = super().run(marked, asking, met)
        if self.outside is not None:
            for alias in self.plan.aliases:
                ids = self._in_play(alias, self.synopses[alias].ids(ALL))
                if len(ids):
                    self._leave(purged, alias, "expanded", ids[self.outside.useless(alias, ids)])
        return purged

    def _leave(self, purged: Purged, alias: str, rule: str, ids: Ints) -> None:
        purged.add(alias, rule, self.synopses[alias].mark(LEFT, ids))

    def _ask(self, purged: Purged, root: str, ids: Ints) -> None:
        super()._ask(purged, root, self._in_play(root, ids))

    def _in_play(self, alias: str, ids: Ints) -> Ints:
        done: Bools = self.synopses[alias].gather(ids, lambda s: s.marks[LEFT]).astype(np.bool_)
        return ids[~done]


def _part(plan: Plan, node: NodePlan, block: BlockPlan) -> Plan:
    """The plan of a block by itself."""
    return replace(
        plan,
        sources=tuple(plan.by_alias[alias] for alias in node.aliases),
        axes=block.axes,
        components=block.components,
        join_tree=block.join_tree,
        predicates=block.predicates,
        purge_trees=block.purge_trees,
        joint_closers=tuple(c for c in plan.joint_closers if c.target in node.aliases),
    )
