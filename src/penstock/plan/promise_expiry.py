"""What ends the need for a promise about values: read off the plan.

A promise `a = v` of x is needed by rows of i that carry v and are still to come. What closes v on i ends that: i's own
punctuation, its key, its cluster, or an ordered column that equals `a`. Where another scheme closes x for rows of i, or
they leave by [ROWS n], nothing to come needs it. Where none of these is declared, endless_promises.py says so.

Not decided: promises that several streams carry between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.plan import Plan

ABOUT_VALUES = (CloserKind.KEY, CloserKind.PUNCTUATION, CloserKind.CLUSTER)
"""Kinds whose promises are about values: marks on the rows that carry them, remembered as promise rows."""


def ending(plan: Plan, source: str, target: str, columns: tuple[str, ...]) -> Iterator[Closer]:
    """What closes, on target, values of those columns of source, whether a tuple of source ever carried them or not."""
    for closer in plan.closers_between(source, target):
        if not set(closer.columns) <= set(columns):
            continue
        if closer.kind in ABOUT_VALUES or (closer.excess is not None and closer.is_exact):
            yield closer


def is_closed_otherwise(plan: Plan, source: str, target: str) -> bool:
    """Whether all rows of source leave, or have target closed for them, without promises about values."""
    by_other = any(c.certain and c.kind not in ABOUT_VALUES for c in plan.closers_between(source, target))
    return by_other or plan.by_alias[source].has_rows_window


def closed_by_values_alone(plan: Plan) -> Iterator[tuple[str, bool]]:
    """The streams that rows of outer joins and EXISTS wait for and only promises about values close for them.

    With each, whether more than keys ties the two: then a row that stands for its key is not always a match.
    """
    for node in plan.nodes:
        sides = ((node.left, node.right), (node.right, node.left))
        for (own, other), waits in zip(sides, node.waits, strict=True):
            if not waits or own is None or other is None:
                continue
            waiting = plan.nodes[own].aliases
            for target in plan.nodes[other].aliases:
                kinds = [c.kind for c in plan.closers if c.source in waiting and c.target == target]
                is_joint = any(joint.target == target for joint in plan.joint_closers)
                is_counted = any(plan.by_alias[alias].has_rows_window for alias in waiting)
                if (kinds or is_joint) and all(kind in ABOUT_VALUES for kind in kinds) and not is_counted:
                    yield target, bool(node.predicates or node.windows or node.tests)
