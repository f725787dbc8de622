"""What ends the need for a promise about values, and which punctuations nothing ends: read off the plan.

A punctuation `a = v` of x is needed by rows of i that carry v and are still to come. What closes v on i ends that: i's
own punctuation, its key, its cluster, or an ordered column that equals `a`. Where another scheme closes x for rows of
i, or they leave by [ROWS n], nothing to come needs it. Where none of these is declared, each punctuation is remembered
for ever: promise rows, which `check` says in a notice. LIFESPAN bounds them too, where the event time has a low.

Not decided: punctuations that several streams carry between them, and keys whose row never comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Notice, Reason
from penstock.plan.plan import ORDERS, Closer, CloserKind, Plan, PromiseKind, PromisePlan

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


def endless_punctuations(plan: Plan) -> tuple[Reason, ...]:
    """A notice for each punctuation scheme whose promise rows nothing lets go."""
    found = []
    for promise in plan.promises:
        if promise.kind is PromiseKind.PUNCTUATED and not _has_lifespan(plan, promise):
            carriers = dict.fromkeys(c.source for c in _users(plan, promise) if not _ends(plan, promise, c))
            if carriers:
                found.append(Notice.PUNCTUATIONS_REMEMBERED(promise.constraint, tuple(carriers)))
    return tuple(found)


def _users(plan: Plan, promise: PromisePlan) -> Iterator[Closer]:
    for closer in plan.closers:
        is_own = closer.target == promise.alias and promise.constraint in closer.constraints
        if closer.kind is CloserKind.PUNCTUATION and is_own:
            yield closer


def _ends(plan: Plan, promise: PromisePlan, closer: Closer) -> bool:
    ended = any(True for _ in ending(plan, promise.alias, closer.source, closer.target_columns))
    return ended or is_closed_otherwise(plan, closer.source, promise.alias)


def _has_lifespan(plan: Plan, promise: PromisePlan) -> bool:
    time = plan.by_alias[promise.alias].event_time
    has_low = any(p.kind in ORDERS and (p.alias, p.columns) == (promise.alias, (time,)) for p in plan.promises)
    return promise.high is not None and has_low
