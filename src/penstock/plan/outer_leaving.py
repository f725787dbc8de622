"""Does every row that the nodes of an outer join keep leave in the end? Read off the plan alone.

The static side of `runtime/outer/settling.py`: a row leaves its side of a node if certain closers lead from the
streams that are sure to be in a row able to match there to a stream that every row of the other side holds. Rows that
wait on that side agree with it only until they leave themselves, so it is asked of every side of every node together.
"""

from __future__ import annotations

from penstock.plan.outer import NodeKind, NodePlan, OuterPlan
from penstock.plan.plan import Plan


def every_row_leaves(plan: Plan) -> bool:
    """Whether every row leaves every node, and every block, in the end."""
    assert plan.outer is not None
    nodes = plan.outer.nodes
    for node in nodes:
        if node.kind is NodeKind.BLOCK:
            if not all(_leaves_block(plan, node, alias) for alias in node.aliases):
                return False
            continue
        assert node.left is not None
        assert node.right is not None
        for own, other in ((node.left, node.right), (node.right, node.left)):
            there = {*nodes[own].certain, *(a for a in node.required if a in nodes[own].aliases)}
            if not _settles(plan, plan.outer, frozenset(there), node, other):
                return False
    return True


def _counted(plan: Plan, aliases: frozenset[str]) -> bool:
    windows = [plan.by_alias[alias].window for alias in aliases]
    return any(window is not None and window.rows is not None for window in windows)


def _closes(plan: Plan, there: frozenset[str], target: str) -> bool:
    return any(c.certain and c.source in there and c.target == target for c in plan.closers) or any(
        c.certain and c.target == target and c.within(there) is not None for c in plan.joint_closers
    )


def _leaves_block(plan: Plan, node: NodePlan, alias: str) -> bool:
    reached = frozenset({alias})
    while not _counted(plan, reached):
        further = {a for a in node.aliases if a not in reached and _closes(plan, reached, a)}
        if not further:
            return reached == frozenset(node.aliases)
        reached |= further
    return True


def _settles(plan: Plan, outer: OuterPlan, there: frozenset[str], at: NodePlan, number: int) -> bool:
    node = outer.nodes[number]
    if node.kind is NodeKind.BLOCK:
        return _counted(plan, there) or any(_closes(plan, there, alias) for alias in node.aliases)
    assert node.left is not None
    assert node.right is not None
    demanded = [not set(at.required).isdisjoint(outer.nodes[side].aliases) for side in (node.left, node.right)]
    left, right = (_settles(plan, outer, there, at, side) for side in (node.left, node.right))
    match node.kind:
        case NodeKind.INNER:
            return left or right
        case NodeKind.LEFT:
            return left or (right and demanded[1])
        case _ if all(demanded):
            return left or right
        case _ if any(demanded):
            return left if demanded[0] else right
        case _:
            return left and right
