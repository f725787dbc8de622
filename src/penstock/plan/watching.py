"""Which broken promises go unseen (DESIGN section 7.6): what was never watched, and what is forgotten in time.

A promise is watched as far as its memory goes, and memory goes where nothing stored or to come could need it. So a key
is known while its first row is stored, or while a row that names it may come; a match outside of its time is seen while
the row that it met is stored. A k is watched beyond that, up to c times k surely and then by a sample. A declaration
that closes nothing in a query is not watched there at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Reason
from penstock.model.block_tree import blocks_below
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Cooccurs, Follows, Policy, PrimaryKey, Scheme
from penstock.model.script import policy_of
from penstock.plan.closer_plans import CloserKind
from penstock.plan.doubting import has_shadows, remembers_past_clusters, remembers_past_followers
from penstock.plan.memory_choice import cluster_memories
from penstock.plan.plan import Plan
from penstock.plan.plan_reasons import Unseen
from penstock.plan.promise_plans import CLOCKS, MATCHES, PromiseKind, PromisePlan
from penstock.plan.watched_checks import unwatched_checks

_LOOKED_AT_IF_STORED = (*CLOCKS, PromiseKind.PRIMARY_KEY, PromiseKind.CLUSTERED, PromiseKind.CHECK)


def unseen(query: Query, plan: Plan, alias: str) -> tuple[Reason, ...]:
    """What may break on a stream without being seen: each declaration, and why."""
    source = query.by_alias[alias]
    stream = source.stream
    # What follows from below is watched there.
    stated = [s for s in stream.schemes if source.below is None or policy_of(s) is not Policy.TRUST]
    promises = [p for p in plan.promises if p.alias == alias]
    watched = {p.constraint for p in promises}
    found = [Unseen.OF(s.on(stream.name), _why_not(s)) for s in stated if s.on(stream.name) not in watched]
    told = {s.on(stream.name) for s in stated} if source.below is not None else watched
    found += [Unseen.OF(p.constraint, why) for p in promises if p.constraint in told for why in _forgets(plan, p)]
    return tuple(dict.fromkeys(found))


def rests_on_unseen(query: Query, plan: Plan) -> tuple[str, ...]:
    """The constraints on which an answer rests and that may break without being seen; RECOVER makes up for its own."""
    below = {source.stream.name: source.below for source in blocks_below(query)}
    found: dict[str, None] = {}
    for block in plan.blocks:
        member = below[block.query]
        assert isinstance(member, Query)
        found.update(dict.fromkeys(rests_on_unseen(member, block)))
    for promise in plan.promises:
        # What follows from below, or is recovered from, does no harm.
        is_derived = plan.by_alias[promise.alias].block is not None and promise.policy is Policy.TRUST
        if promise.kind is PromiseKind.CHECK:
            continue  # A row that a filter drops is in no result, whatever it breaks; every other is looked at.
        if promise.policy is not Policy.RECOVER and not is_derived and any(_forgets(plan, promise)):
            found[promise.constraint] = None
    found.update(dict.fromkeys(unwatched_checks(query)))
    return tuple(found)


def _why_not(scheme: Scheme) -> Reason:
    match scheme:
        case PrimaryKey() | Clustered():
            return Unseen.CLOSES_NOTHING()
        case Follows() | Cooccurs():
            return Unseen.DO_NOT_MEET()
        case _:
            return Unseen.NOT_WATCHED()


def _forgets(plan: Plan, promise: PromisePlan) -> Iterator[Reason]:
    if promise.kind is PromiseKind.PRIMARY_KEY:
        users = [c for c in plan.closers if c.kind is CloserKind.KEY and c.target == promise.alias]
        waiting = [
            c.source
            for c in users
            if c.target_columns == promise.columns
            and not plan.by_alias[c.source].has_rows_window
            and not any(other.certain for other in plan.closers_between(c.source, c.target))
        ]
        yield Unseen.KEY_AND_NAMING(tuple(dict.fromkeys(waiting))) if waiting else Unseen.KEY()
    elif promise.kind in MATCHES:
        ends = (promise.alias, promise.partner)
        is_merged = any(plan.by_alias[alias].merge is not None for alias in ends if alias is not None)
        if has_shadows(plan, promise) or remembers_past_followers(plan, promise):
            sampled = Unseen.MATCH_OF_MERGED_SAMPLED if is_merged else Unseen.MATCH_SAMPLED
            yield sampled(_sampled(plan))
        elif promise.kind is not PromiseKind.FOLLOWS_ROWS or promise.policy is not Policy.RECOVER:
            yield Unseen.MATCH_OF_MERGED() if is_merged else Unseen.MATCH()
    elif promise.kind is PromiseKind.CLUSTERED:
        if remembers_past_clusters(plan, promise):
            yield Unseen.CLUSTER_SAMPLED(_sampled(plan))
        else:
            yield Unseen.CLUSTER_FORGOTTEN()
        if any(memory.promise == promise for memory in cluster_memories(plan)):
            yield Unseen.WHILE_UNUSED()
    elif promise.kind is PromiseKind.PUNCTUATED:
        yield Unseen.AFTER_PUNCTUATION()
    elif promise.kind is PromiseKind.CHECK and promise.policy not in (Policy.FAIL, Policy.QUARANTINE):
        yield from (Unseen.NO_BUCKET(),) if plan.by_alias[promise.alias].merge is not None else ()
    if promise.kind in _LOOKED_AT_IF_STORED and plan.by_alias[promise.alias].filters:
        yield Unseen.FILTERED()


def _sampled(plan: Plan) -> Reason:
    monitor = plan.monitor
    return Unseen.SAMPLED(f"{monitor.factor:g}", f"{monitor.probability:g}")
