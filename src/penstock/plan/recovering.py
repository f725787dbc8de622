"""Where ON VIOLATION RECOVER can be kept: nothing may be lost when the constraint is broken (KMON 1.5).

What the constraint lets go is set aside on disk, and a late row finds it there. That makes up for an answer to which
results are only added: joins, DISTINCT, and groups that are given anew whenever they change. It cannot make up for an
answer that was final: a row that an outer join or NOT EXISTS gave out with nothing beside it, a window of time that was
given once, a row that a budget evicted. There RECOVER is refused before the query starts, for acting as ADAPT would
lose results that it promised to keep.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.clauses import TimeWindow
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.stream import Stream
from penstock.plan.plan import Plan

_INSTEAD = "use ADAPT, which counts the loss it knows of, or QUARANTINE or FAIL"


def recovery_obstacles(query: Query) -> Iterator[str]:
    """Why RECOVER cannot be kept in a query that reads a stream which asks for it."""
    named = next((text for source in query.all_sources if (text := _recovered(source.stream)) is not None), None)
    if named is None:
        return
    if not query.is_inner:
        yield (
            f"{named} asks to RECOVER: under outer joins and EXISTS a row that was given out by itself cannot be taken "
            f"back when its partner comes late; {_INSTEAD}"
        )
    if query.hints.budget is not None:
        yield f"{named} asks to RECOVER, which loses nothing, and a BUDGET is there to lose rows; {_INSTEAD}"
    if any(isinstance(key, TimeWindow) for key in query.group_by):
        yield (
            f"{named} asks to RECOVER: a window of time is given once, so what is recovered later cannot be added; "
            f"{_INSTEAD}, or group by other columns"
        )


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
