"""Which broken promises go unseen (DESIGN section 7.6): what was never watched, and what is forgotten in time.

A promise is watched as far as its memory goes, and memory goes where nothing stored or to come could need it. So a key
is known while its first row is stored, or while a row that names it may come; a match outside of its time is seen while
the row that it met is stored. A k is watched beyond that, up to c times k surely and then by a sample. A declaration
that closes nothing in a query is not watched there at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.query import Query
from penstock.model.schemes import Clustered, Cooccurs, Follows, Policy, PrimaryKey, Scheme
from penstock.plan.cluster_memory import cluster_memories
from penstock.plan.doubting import has_shadows, recovers, remembers_past_clusters, remembers_past_followers
from penstock.plan.plan import MATCHES, ORDERS, CloserKind, Plan, PromiseKind, PromisePlan

_LOOKED_AT_IF_STORED = (*ORDERS, PromiseKind.PRIMARY_KEY, PromiseKind.CLUSTERED, PromiseKind.CHECK)


def unseen(query: Query, plan: Plan, alias: str) -> tuple[str, ...]:
    """What may break on a stream without being seen, a phrase for each."""
    stream = query.by_alias[alias].stream
    promises = [p for p in plan.promises if p.alias == alias]
    watched = {p.constraint for p in promises}
    found = [f"{s.on(stream.name)}: {_why_not(s)}" for s in stream.schemes if s.on(stream.name) not in watched]
    found += [f"{p.constraint}: {why}" for p in promises for why in _forgets(plan, p)]
    return tuple(dict.fromkeys(found))


def _why_not(scheme: Scheme) -> str:
    match scheme:
        case PrimaryKey() | Clustered():
            return "not watched, it closes nothing here"
        case Follows() | Cooccurs():
            return "not watched, its columns do not meet here"
        case _:
            return "not watched by this version"


def _forgets(plan: Plan, promise: PromisePlan) -> Iterator[str]:
    if promise.kind is PromiseKind.PRIMARY_KEY:
        users = [c for c in plan.closers if c.kind is CloserKind.KEY and c.target == promise.alias]
        waiting = [
            c.source
            for c in users
            if c.target_columns == promise.columns
            and not plan.by_alias[c.source].has_rows_window
            and not any(other.certain for other in plan.closers_between(c.source, c.target))
        ]
        named_by = " or ".join(dict.fromkeys(waiting))
        forgotten = f" and no row of {named_by} that names it may come" if waiting else ""
        yield f"a key that comes again is not seen once its first row has left{forgotten}"
    elif promise.kind in MATCHES:
        ends = (promise.alias, promise.partner)
        is_merged = any(plan.by_alias[alias].merge is not None for alias in ends if alias is not None)
        merged = ", or another row stands for it" if is_merged else ""
        if has_shadows(plan, promise) or remembers_past_followers(plan, promise):
            yield f"once the row has left that it meets{merged}, a match that needs {_sampled(plan)}"
        elif promise.kind is not PromiseKind.FOLLOWS_ROWS or not recovers(plan):
            yield f"a match that breaks it is not seen once the row that it meets has left{merged}"
    elif promise.kind is PromiseKind.CLUSTERED:
        if remembers_past_clusters(plan, promise):
            yield f"once no stored or future row needs the end of a cluster, a row of it that needs {_sampled(plan)}"
        else:
            yield "a value that comes again after its cluster is not seen once no stored or future row needs its end"
        if any(memory.promise == promise for memory in cluster_memories(plan)):
            yield "not watched while it is not used"
    elif promise.kind is PromiseKind.PUNCTUATED:
        yield "a row that comes after its own punctuation is not seen once no stored or future row needs that one"
    elif promise.kind is PromiseKind.CHECK and promise.policy not in (Policy.FAIL, Policy.QUARANTINE):
        yield "a row that breaks it meets what is stored, and is not kept: it has no bucket"
    if promise.kind in _LOOKED_AT_IF_STORED and plan.by_alias[promise.alias].filters:
        yield "rows that a filter drops are not found to break it"


def _sampled(plan: Plan) -> str:
    monitor = plan.monitor
    return f"more than {monitor.factor:g} times k is seen only in a sample, with probability {monitor.probability:g}"
