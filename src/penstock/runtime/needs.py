"""What a cell must be told of each stream, read off the plan."""

from __future__ import annotations

from penstock.plan.plan import Plan, PromiseKind


def ordered_columns(plan: Plan, stream: str) -> tuple[str, ...]:
    """The columns whose largest value a header of that stream carries."""
    aliases = {source.alias for source in plan.sources if source.stream == stream}
    kinds = (PromiseKind.ORDERED_ROWS, PromiseKind.ORDERED_TIME)
    return tuple(dict.fromkeys(p.columns[0] for p in plan.promises if p.kind in kinds and p.alias in aliases))


def key_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns of the PRIMARY KEY promises of an alias; empty if no key of it closes anything."""
    promises = [p for p in plan.promises if p.kind is PromiseKind.PRIMARY_KEY and p.alias == alias]
    return tuple(dict.fromkeys(column for p in promises for column in p.columns))


def promise_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """What a key promise must carry: the columns of the keys, and the event time if it is kept; empty without keys."""
    keys = key_columns(plan, alias)
    source = plan.by_alias[alias]
    timed = keys and source.event_time in source.kept and source.event_time not in keys
    return (*keys, source.event_time) if timed and source.event_time is not None else keys
