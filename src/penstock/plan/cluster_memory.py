"""Where CLUSTERED pays beside FOLLOWS and ORDERED: the other half of KMON section 8's choice, by cost.

The clusters of j let rows of i go once their value has come and gone on j, within k_c rows. They cost a promise row for
each open value, and one for each ended one that a row of i may still carry. FOLLOWS from i, or ORDERED on j, in k_a
rows, cost nothing. Where these close j for every row of i anyway, clusters pay only for the rows that leave earlier
by them. In steady state, with r_i and r_j the rows of each stream in the same time:

    clusters cost:  promise rows, u * k_c if u values a row begin
    clusters save:  sum over i of  r_i / r_j * (k_a - k_c)   stored rows

Either choice gives the same answer, and can be made anew at any time; where clusters are not used, the constraint is
not watched. So they are always used under FAIL and QUARANTINE, where a bound in rows may rest on them, and where
punctuations may be forgotten by them. Here the choice is made from the declarations, at equal rates and with a value a
row; a cell makes it anew from what it sees (`runtime/promise/choosing.py`). A k that is to be learned says nothing:
then clusters are used.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.finding import Means
from penstock.analysis.reasons import Reason
from penstock.model.schemes import Policy
from penstock.plan.plan import Closer, CloserKind, Plan, PromiseKind, PromisePlan
from penstock.plan.plan_reasons import MemoryChoice


@dataclass(frozen=True)
class ClusterMemory:
    """Whether the clusters of one CLUSTERED are used, where other constraints would do."""

    promise: PromisePlan
    alternatives: tuple[tuple[str, tuple[str, ...]], ...]
    """By alias of the streams whose rows they let go, the constraints in rows that would do instead."""
    kept: bool
    because: Reason


def cluster_memories(plan: Plan) -> tuple[ClusterMemory, ...]:
    """The choice for each CLUSTERED that others could stand in for."""
    found = (_choice(plan, promise) for promise in plan.promises if promise.kind is PromiseKind.CLUSTERED)
    return tuple(choice for choice in found if choice is not None)


def clusters_pay(rows_saved: float, rows_remembered: float) -> bool:
    """The choice itself."""
    return rows_remembered < rows_saved


def _choice(plan: Plan, promise: PromisePlan) -> ClusterMemory | None:
    if promise.policy not in (Policy.ADAPT, Policy.TRUST) or not plan.inner or _is_needed(plan):
        return None
    users = [
        c
        for c in plan.closers
        if c.kind is CloserKind.CLUSTER and c.target == promise.alias and promise.constraint in c.constraints
    ]
    waits: dict[str, dict[str, int | None]] = {}
    for user in users:
        others = rows_of_others(plan, user)
        if not others:
            return None
        waits.setdefault(user.source, {}).update(others)
    alternatives = tuple((alias, tuple(others)) for alias, others in waits.items())
    known = [min((rows for rows in others.values() if rows is not None), default=None) for others in waits.values()]
    k = promise.rows
    if k is None or any(rows is None for rows in known):
        return ClusterMemory(promise, alternatives, True, MemoryChoice.K_UNKNOWN())
    saved = sum(max(0, rows - k) for rows in known if rows is not None)
    named = tuple(dict.fromkeys(text for _, texts in alternatives for text in texts))
    costs = MemoryChoice.CLUSTERS_COST(k, saved, named)
    return ClusterMemory(promise, alternatives, clusters_pay(saved, k), costs)


def _is_needed(plan: Plan) -> bool:
    """Whether bounds in rows, or the need for punctuations, may rest on clusters."""
    by_rows = [s for s in plan.sources if s.state.rows and s.state.means != Means.WINDOW]
    return bool(by_rows) or any(p.kind is PromiseKind.PUNCTUATED for p in plan.promises)


def rows_of_others(plan: Plan, user: Closer) -> dict[str, int | None]:
    """The constraints in rows, other than the closer's, that close its target for every row of its source."""
    found: dict[str, int | None] = {}
    for other in plan.closers_between(user.source, user.target):
        if other.kind is CloserKind.FOLLOWS and other.certain:
            found |= dict.fromkeys(other.constraints, other.rows)
        if other.kind in (CloserKind.ORDER, CloserKind.BAND) and other.certain and other.is_exact:
            for promise in plan.promises:
                place = (promise.alias, promise.columns)
                if promise.kind is PromiseKind.ORDERED_ROWS and place == (user.target, other.target_columns):
                    found[promise.constraint] = promise.rows
    return found
