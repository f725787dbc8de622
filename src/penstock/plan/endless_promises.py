"""Which promises about values nothing lets go: read off the plan, said by `check` in a notice.

A punctuation, a key or a cluster `a = v` of x is needed by rows of i that carry v and are still to come. What closes v
on i ends that: i's own punctuation, key or cluster, an ordered column that equals `a`, or a FOLLOWS of x. Where another
scheme closes x for rows of i, or they leave by [ROWS n], nothing to come needs it. Where none of these is declared,
each such promise is remembered for ever: promise rows, though the stored rows are bounded. LIFESPAN bounds
punctuations too, where the event time has a low. Keys are remembered only where `memory_choice.py` says so, and of a
row that is stored by the row itself.

Not decided: punctuations that several streams carry between them, and keys whose row never comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Notice, Reason
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.memory_choice import key_memories
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ending, is_closed_otherwise
from penstock.plan.promise_plans import CLOCKS, PromiseKind, PromisePlan

_CLOSED_BY = {
    PromiseKind.PUNCTUATED: (CloserKind.PUNCTUATION, Notice.PUNCTUATIONS_REMEMBERED),
    PromiseKind.PRIMARY_KEY: (CloserKind.KEY, Notice.KEYS_REMEMBERED),
    PromiseKind.CLUSTERED: (CloserKind.CLUSTER, Notice.CLUSTERS_REMEMBERED),
}


def endless_promises(plan: Plan) -> tuple[Reason, ...]:
    """A notice for each scheme whose promise rows nothing lets go."""
    found = []
    for promise in plan.promises:
        if promise.kind in _CLOSED_BY and not _has_lifespan(plan, promise):
            kind, notice = _CLOSED_BY[promise.kind]
            carriers = dict.fromkeys(c.source for c in _users(plan, promise, kind) if not _ends(plan, promise, c))
            if carriers:
                found.append(notice(promise.constraint, tuple(carriers)))
    return tuple(found)


def _users(plan: Plan, promise: PromisePlan, kind: CloserKind) -> Iterator[Closer]:
    """The closers that need its promise rows."""
    if kind is CloserKind.KEY:
        closers = [memory.closer for memory in key_memories(plan) if memory.kept]
    else:
        closers = [closer for closer in plan.closers if closer.kind is kind]
    for closer in closers:
        if closer.target == promise.alias and promise.constraint in closer.constraints:
            yield closer


def _ends(plan: Plan, promise: PromisePlan, closer: Closer) -> bool:
    back = plan.closers_between(promise.alias, closer.source)
    followed = promise.kind is not PromiseKind.PUNCTUATED and any(c.kind is CloserKind.FOLLOWS for c in back)
    ended = any(True for _ in ending(plan, promise.alias, closer.source, closer.target_columns))
    return followed or ended or is_closed_otherwise(plan, closer.source, promise.alias)


def _has_lifespan(plan: Plan, promise: PromisePlan) -> bool:
    time = plan.by_alias[promise.alias].event_time
    has_low = any(p.kind in CLOCKS and (p.alias, p.columns) == (promise.alias, (time,)) for p in plan.promises)
    return promise.kind is PromiseKind.PUNCTUATED and promise.high is not None and has_low
