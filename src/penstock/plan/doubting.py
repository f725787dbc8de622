"""Which promises are in doubt: what they let go is set aside, to see them broken and to know what that loses.

A k that is learned is in doubt, and every k where the query says MONITOR (KMON 4.3, 5.3, 6.3). TRUST does not look.
What is set aside of two streams that meet by an outer join or EXISTS is found as among inner joins: of EXISTS nothing
is then wrong; a row that was given out with NULLs cannot be taken back, and is counted as contradicted by the match
that came late (`recovering.py`). Nothing is set aside where more streams meet so, nor where a budget is there to lose
rows. To see that a declared k has risen takes less, and is done without MONITOR: ORDERED BY sees every row that is late
by itself, CLUSTERED BY remembers the ends of clusters for a while, and FOLLOWS the keys of rows that it let go.
"""

from __future__ import annotations

from penstock.model.schemes import Policy
from penstock.plan.plan import ORDERS, Plan, PromiseKind, PromisePlan
from penstock.plan.recovering import recovers


def sets_aside(plan: Plan) -> bool:
    """Whether anything can be set aside in a query."""
    return plan.evict is None and (plan.outer is None or plan.outer.is_pair)


def may_contradict(plan: Plan) -> bool:
    """Whether a row may be found to have been given without the match that it has."""
    return plan.outer is not None and (recovers(plan) or any(has_shadows(plan, promise) for promise in plan.promises))


def has_shadows(plan: Plan, promise: PromisePlan) -> bool:
    """Whether what a promise lets go is remembered as shadows; where rows are recovered, they are there anyway."""
    if not sets_aside(plan) or recovers(plan):
        return False
    if is_learned(promise):
        return True
    return plan.monitor.declared and has_k(promise) and promise.policy is not Policy.TRUST


def remembers_past_clusters(plan: Plan, promise: PromisePlan) -> bool:
    """Whether the ends of clusters are remembered beyond the need for them; a budget has no room for that."""
    return promise.kind is PromiseKind.CLUSTERED and promise.policy is not Policy.TRUST and plan.evict is None


def remembers_past_followers(plan: Plan, promise: PromisePlan) -> bool:
    """Whether the keys of rows that a FOLLOWS let go are remembered, where these are not set aside anyway."""
    is_declared = promise.kind is PromiseKind.FOLLOWS_ROWS and not is_learned(promise)
    is_there = has_shadows(plan, promise) or recovers(plan)
    return is_declared and not is_there and promise.policy is not Policy.TRUST and plan.evict is None


def has_k(promise: PromisePlan) -> bool:
    """Whether a promise is one of those whose k is measured."""
    return promise.kind in (*ORDERS, PromiseKind.FOLLOWS_ROWS, PromiseKind.CLUSTERED)


def is_learned(promise: PromisePlan) -> bool:
    """Whether its k is left to be learned."""
    return has_k(promise) and (promise.high if promise.kind is PromiseKind.ORDERED_TIME else promise.rows) is None
