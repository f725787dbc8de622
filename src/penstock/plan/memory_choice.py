"""Where it pays to remember what promises closed: the choice of KMON section 8, by cost, for keys and for clusters.

**Keys.** A key of j that has left may still be named by rows of i to come. Remembered as a promise row it lets these go
as they arrive; forgotten, they stay until another constraint closes j for them. Where there is none, it is remembered,
unless all streams are bounded and the key would be remembered for ever, nothing closing i for one that has come: no
bound rests on it, for the key that a row of i names need not come at all. Whether groups over the join are bounded is
another question.
Where FOLLOWS closes j within k_f rows of j, and a constraint on i ends the need for the key within k_e rows of i,
either will do, and the cheaper is chosen. Rows of i that leave by [ROWS n] need nothing remembered. In steady state,
with r_i and r_j the rows of each stream in the same time:

    remembered:  (share of keys that left) * r_j * (k_e / r_i)   promise rows
    forgotten:   (share of rows that name one) * r_i * (k_f / r_j)   stored rows that wait
                 (share of keys that left before their cluster of i ended) * k_f   clusters that are held for the key

So KMON's Figure 11 crosses: past some k_f it is cheaper to remember. Where no such end is declared, promise rows would
be needed for ever, and the key is forgotten. Either choice is right; only memory differs, and it can be made anew at
any time. Here it is made from the declarations, with equal rates and shares; a cell makes it anew from what it sees
(`runtime/promise/choosing.py`). A k that is still to be learned says nothing: then the key is forgotten.

**Clusters.** The clusters of j let rows of i go once their value has come and gone on j, within k_c rows. They cost a
promise row for each open value, and one for each ended one that a row of i may still carry. FOLLOWS from i, or ORDERED
on j, in k_a rows, cost nothing. Where these close j for every row of i anyway, clusters pay only for the rows that
leave earlier by them. In steady state, with r_i and r_j the rows of each stream in the same time:

    clusters cost:  promise rows, u * k_c if u values a row begin
    clusters save:  sum over i of  r_i / r_j * (k_a - k_c)   stored rows

Either choice gives the same answer, and can be made anew at any time; where clusters are not used, the constraint is
not watched. So they are always used under FAIL and QUARANTINE, where a bound in rows may rest on them, and where
punctuations may be forgotten by them. Here the choice is made from the declarations, at equal rates and with a value a
row; a cell makes it anew from what it sees (`runtime/promise/choosing.py`). A k that is to be learned says nothing:
then clusters are used.
"""

from __future__ import annotations

from penstock.analysis.finding import Means
from penstock.analysis.reasons import Reason
from penstock.model.schemes import Policy
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.plan import Plan
from penstock.plan.plan_reasons import MemoryChoice
from penstock.plan.promise_expiry import ending
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.records import record


@record
class KeyMemory:
    """Whether the keys of `closer.target` are remembered for the rows of `closer.source` that may still name them."""

    closer: Closer
    waits: tuple[str, ...]
    """The constraints in rows that would close the target for rows that name a forgotten key."""
    ends: tuple[str, ...]
    """The constraints in rows that end the need for a key."""
    kept: bool
    because: Reason


def key_memories(plan: Plan) -> tuple[KeyMemory, ...]:
    """The choice for each key closer."""
    return tuple(_key_choice(plan, c) for c in plan.closers if c.kind is CloserKind.KEY)


def keeping_is_cheaper(rows_waiting: float, rows_remembered: float) -> bool:
    """The choice itself."""
    return rows_remembered < rows_waiting


def _key_choice(plan: Plan, closer: Closer) -> KeyMemory:
    if plan.by_alias[closer.source].has_rows_window:
        return KeyMemory(closer, (), (), False, MemoryChoice.ROWS_LET_GO())
    others = [
        c
        for c in plan.closers_between(closer.source, closer.target)
        if c.certain and c.kind not in (CloserKind.KEY, CloserKind.PUNCTUATION, CloserKind.CLUSTER)
    ]
    if not others:
        bounded = all(source.state.verdict == "bounded" for source in plan.sources)
        if bounded and not closer.certain and not _may_end(plan, closer):
            return KeyMemory(closer, (), (), False, MemoryChoice.NOTHING_ENDS())
        return KeyMemory(closer, (), (), True, MemoryChoice.NOTHING_ELSE())
    if any(c.kind is not CloserKind.FOLLOWS for c in others):
        return KeyMemory(closer, (), (), False, MemoryChoice.AN_ORDER_CLOSES())
    waits = {constraint: c.rows for c in others for constraint in c.constraints}
    ends = _ends(plan, closer)
    if not ends:
        return KeyMemory(closer, tuple(waits), (), False, MemoryChoice.NOTHING_ENDS())
    known = [rows for rows in waits.values() if rows is not None], [rows for rows in ends.values() if rows is not None]
    wait, end = min(known[0], default=None), min(known[1], default=None)
    if wait is None or end is None:
        return KeyMemory(closer, tuple(waits), tuple(ends), False, MemoryChoice.K_UNKNOWN())
    kept = keeping_is_cheaper(wait, end)
    costs = MemoryChoice.KEYS_COST(wait, end)
    return KeyMemory(closer, tuple(waits), tuple(ends), kept, costs)


def _may_end(plan: Plan, closer: Closer) -> bool:
    """Whether anything says that no row of the source will name a key of the target that has come."""
    if any(ending(plan, closer.target, closer.source, closer.target_columns)):
        return True
    return any(back.kind is CloserKind.FOLLOWS for back in plan.closers_between(closer.target, closer.source))


def _ends(plan: Plan, closer: Closer) -> dict[str, int | None]:
    """By constraint, the rows of the source after which no row of it names a key of the target that has come."""
    found: dict[str, int | None] = {}
    for back in plan.closers_between(closer.target, closer.source):
        named = set(back.columns) <= set(closer.target_columns)
        if back.kind is CloserKind.FOLLOWS or (back.kind is CloserKind.CLUSTER and named):
            found |= dict.fromkeys(back.constraints, back.rows)
        if back.kind in (CloserKind.ORDER, CloserKind.BAND) and named and back.is_exact:
            for promise in plan.promises:
                place = (promise.alias, promise.columns)
                if promise.kind is PromiseKind.ORDERED_ROWS and place == (closer.source, back.target_columns):
                    found[promise.constraint] = promise.rows
    return found


@record
class ClusterMemory:
    """Whether the clusters of one CLUSTERED are used, where other constraints would do."""

    promise: PromisePlan
    alternatives: tuple[tuple[str, tuple[str, ...]], ...]
    """By alias of the streams whose rows they let go, the constraints in rows that would do instead."""
    kept: bool
    because: Reason


def cluster_memories(plan: Plan) -> tuple[ClusterMemory, ...]:
    """The choice for each CLUSTERED that others could stand in for."""
    found = (_cluster_choice(plan, promise) for promise in plan.promises if promise.kind is PromiseKind.CLUSTERED)
    return tuple(choice for choice in found if choice is not None)


def clusters_pay(rows_saved: float, rows_remembered: float) -> bool:
    """The choice itself."""
    return rows_remembered < rows_saved


def _cluster_choice(plan: Plan, promise: PromisePlan) -> ClusterMemory | None:
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
