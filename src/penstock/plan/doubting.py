"""Which promises are in doubt: what they let go is set aside, to see them broken and to know or mend what that loses.

A k that is learned is in doubt, and every k where the query says MONITOR (KMON 4.3, 5.3, 6.3). TRUST does not look.
What is set aside of two streams that meet by an outer join or EXISTS is found as among inner joins: of EXISTS nothing
is then wrong; a row that was given out with NULLs cannot be taken back, and is counted as contradicted by the match
that came late (below). Where more streams meet so, rows are set aside under RECOVER alone, and nowhere under a budget,
which is there to lose rows. To see that a declared k has risen takes less, and is done without MONITOR: ORDERED BY sees
every row that is late by itself, CLUSTERED BY remembers the ends of clusters for a while, and FOLLOWS the keys of rows
that it let go.

**RECOVER** (KMON 1.5): nothing may be lost when the constraint is broken. What the constraint lets go is set aside on
disk, and a late row finds it there. That makes up for an answer to which results are only added: joins, EXISTS,
DISTINCT, and groups that are given anew whenever they change.

A row that an outer join or NOT EXISTS gave out with nothing beside it is final. To hold it back until no recoverable
promise alone speaks for it would mean for ever, where the promise is the only one: nobody who declares ORDERED BY … ON
VIOLATION RECOVER wants that. So it is given when the promises say so, as without RECOVER; a match that comes late all
the same is found and given, which is what TRUST, ADAPT and RECOVER have in common (DESIGN, ON VIOLATION), and the row
that it contradicts is counted: nothing that is due is missing, and the metrics say how many rows too many there are
(`contradicted`). A late row that is itself kept by the join finds its partners, so it is never given wrongly.

With more than two streams a late row may complete rows of a join below whose other tuples have all left, and that
waited for nothing any more: there all that leaves is set aside, and what it changes is worked out anew
(`runtime/discarded/late_matches.py`). RECOVER is refused for a window of time that was given once and for rows that a
budget evicts: acting as ADAPT would lose results that it promised to keep.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Reason
from penstock.model.closed_groups import emits_once
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.plan.plan_reasons import PlanObstacle
from penstock.plan.promise_plans import ORDERS, PromiseKind, PromisePlan

_INSTEAD = PlanObstacle.INSTEAD()


def sets_aside(plan: Plan) -> bool:
    """Whether anything can be set aside in a query."""
    return plan.evict is None and (plan.inner or plan.tree.is_pair or recovers(plan))


def works_anew(plan: Plan) -> bool:
    """Whether what a late row changes is worked out anew, as several joins stand above each other."""
    return not plan.inner and not plan.tree.is_pair and plan.evict is None and recovers(plan)


def can_audit(plan: Plan) -> bool:
    """Whether rows that promises let go can be kept for an audit: where they would be found, and none are kept anyway.

    Of three or more streams under outer joins or EXISTS a row may leave for another reason than that it can match
    nothing more, so that a row which agrees with it tells nothing.
    """
    is_watched = recovers(plan) or any(is_doubted(plan, promise) for promise in plan.promises)
    return sets_aside(plan) and len(plan.sources) > 1 and not is_watched


def may_contradict(plan: Plan) -> bool:
    """Whether a row may be found to have been given without the match that it has."""
    is_audited = plan.audit > 0 and can_audit(plan)
    is_watched = recovers(plan) or any(is_doubted(plan, promise) for promise in plan.promises)
    return not plan.inner and (is_audited or is_watched)


def has_shadows(plan: Plan, promise: PromisePlan) -> bool:
    """Whether what a promise lets go is remembered as shadows; where rows are recovered, they are there anyway."""
    if not sets_aside(plan) or recovers(plan):
        return False
    if is_learned(promise):
        return True
    return plan.monitor.declared and has_k(promise) and promise.policy is not Policy.TRUST


def is_doubted(plan: Plan, promise: PromisePlan) -> bool:
    """Whether shadows tell what is lost when a promise breaks: of one with a k, or under MONITOR of a key that closes.

    A key has no k by which it could be known how long to remember what it let go: of that there is a sample at once.
    """
    is_key = promise.kind in (PromiseKind.PRIMARY_KEY, PromiseKind.PUNCTUATED) and promise.policy is not Policy.TRUST
    is_counted = is_key and plan.monitor.declared and sets_aside(plan) and not recovers(plan)
    return is_counted or has_shadows(plan, promise)


def counts_losses(plan: Plan, constraint: str) -> bool:
    """Whether results that are lost because a constraint broke are counted, as far as shadows go."""
    broken = [(block, p) for block in plan.all_blocks for p in block.promises if p.constraint == constraint]
    return bool(broken) and all(is_doubted(block, promise) for block, promise in broken)


def remembers_past_clusters(plan: Plan, promise: PromisePlan) -> bool:
    """Whether the ends of clusters are remembered beyond the need for them; a budget has no room for that."""
    return promise.kind is PromiseKind.CLUSTERED and promise.policy is not Policy.TRUST and plan.evict is None


def remembers_past_followers(plan: Plan, promise: PromisePlan) -> bool:
    """Whether the keys of rows that a FOLLOWS let go are remembered, where these are not set aside anyway."""
    is_declared = promise.kind is PromiseKind.FOLLOWS_ROWS and not is_learned(promise)
    # What a promise lets go that is not itself recovered from is not set aside, though others' may be.
    is_there = has_shadows(plan, promise) or promise.policy is Policy.RECOVER
    return is_declared and not is_there and promise.policy is not Policy.TRUST and plan.evict is None


def has_k(promise: PromisePlan) -> bool:
    """Whether a promise is one of those whose k is measured."""
    return promise.kind in (*ORDERS, PromiseKind.FOLLOWS_ROWS, PromiseKind.CLUSTERED)


def is_learned(promise: PromisePlan) -> bool:
    """Whether its k is left to be learned."""
    return has_k(promise) and (promise.high if promise.kind is PromiseKind.ORDERED_TIME else promise.rows) is None


def recovery_obstacles(query: Query) -> Iterator[Reason]:
    """Why RECOVER cannot be kept in a query that reads a stream which asks for it."""
    named = next((text for source in query.all_sources if (text := _recovered(source.stream)) is not None), None)
    if named is None:
        return
    if query.hints.budget is not None:
        yield PlanObstacle.RECOVER_WITH_BUDGET(named, _INSTEAD)
    if emits_once(query):
        yield PlanObstacle.RECOVER_OF_WINDOW(named, _INSTEAD)


def recovers(plan: Plan) -> bool:
    """Whether a promise of the plan is to be recovered from."""
    return any(promise.policy is Policy.RECOVER for promise in plan.promises)


def _recovered(stream: Stream) -> str | None:
    for scheme in stream.schemes:
        if scheme.on_violation is not None and scheme.on_violation.policy is Policy.RECOVER:
            return scheme.on(stream.name)
    arrival = stream.arrival
    if arrival is not None and arrival.on_violation is not None and arrival.on_violation.policy is Policy.RECOVER:
        return arrival.on(stream.name)
    return None
