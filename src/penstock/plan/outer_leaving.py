"""Does every row that the nodes of an outer join keep leave in the end? The analysis's question, asked of a plan."""

from __future__ import annotations

from penstock.analysis.closings.outer_join_purge import Leaving
from penstock.plan.plan import Plan


def every_row_leaves(plan: Plan) -> bool:
    """Whether every row leaves every node, and every block, in the end."""
    assert not plan.inner
    beyond = [() if node.block is None else node.block.beyond for node in plan.tree.nodes]
    counted = frozenset(source.alias for source in plan.sources if source.has_rows_window)

    def closes(there: frozenset[str], target: str) -> bool:
        return any(c.certain and c.source in there and c.target == target for c in plan.closers) or any(
            c.certain and c.target == target and c.within(there) is not None for c in plan.joint_closers
        )

    return next(Leaving(plan.tree.nodes, beyond, counted).stuck(closes), None) is None
