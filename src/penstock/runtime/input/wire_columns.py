"""What a cell must be told of each stream, read off the plan."""

from __future__ import annotations

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan

_BY_KEY = (PromiseKind.PRIMARY_KEY, PromiseKind.CLUSTERED)

ORDER = "__ps_order"
"""The row's place in the order of ARRIVES BY: the code of the largest value up to it; where rows are counted so."""

PART = "__ps_part"
"""Of a row whose stream has parts, the number of its part among those of its chunk."""
PART_ROW = "__ps_part_row"
"""Its number among the rows of its part in the chunk, where rows are counted within parts."""

SEEN = "__ps_seen_"
"""How the columns begin in which rows carry what they have seen of other streams (`match/rows_windows.py`)."""


def order_column(plan: Plan) -> tuple[str, ...]:
    """ORDER, where rows carry it."""
    return (ORDER,) if plan.in_arrival_order else ()


def value_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """What VALUE gives for the rows of an alias, where it is about them."""
    values = plan.evict.values if plan.evict is not None else ()
    return (f"__ps_value_{alias}",) if any(value.alias == alias for value in values) else ()


def hidden_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """What a stored row of an alias carries beside the columns of its stream."""
    return (*order_column(plan), *value_columns(plan, alias))


def part_column(plan: Plan, stream: str) -> str | None:
    """The column whose values are the parts of a stream, where it has some."""
    return next((source.parts for source in plan.sources if source.stream == stream), None)


def timed_parts(plan: Plan, stream: str) -> tuple[str, ...]:
    """The event time by which parts of a stream are idle, where they may be."""
    found = (source for source in plan.sources if source.stream == stream and source.idle is not None)
    return tuple(dict.fromkeys(source.event_time for source in found if source.event_time is not None))


def counts_in_parts(plan: Plan, stream: str) -> bool:
    """Whether an order of a stream that has parts is counted in rows."""
    orders = (p for p in plan.promises if plan.by_alias[p.alias].stream == stream)
    return any(p.kind in (PromiseKind.ORDERED_ROWS, PromiseKind.ARRIVES) for p in orders)


def shipped_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """What a cell is given of each row of an alias; its part is looked at as the row comes, and not stored."""
    source = plan.by_alias[alias]
    numbered: tuple[str, ...] = ()
    if source.parts is not None:
        numbered = (PART, PART_ROW) if counts_in_parts(plan, source.stream) else (PART,)
    return (*source.shipped, *hidden_columns(plan, alias), *numbered)


def matching_columns(plan: Plan, alias: str, stored: tuple[str, ...]) -> tuple[str, ...]:
    """Of the stored columns of an alias those that say what a row meets and when it can leave, not what it gives."""
    refs = [ref for axis in plan.axes for ref in axis.columns]
    refs += [ref for predicate in plan.predicates for ref in (predicate.left, predicate.right)]
    refs += [ref for agreement in plan.agreements for ref in (agreement.left, agreement.right)]
    for node in plan.nodes:
        refs += [ref for axis in node.equalities for ref in axis.columns]
        refs += [ref for predicate in (*node.predicates, *node.windows) for ref in (predicate.left, predicate.right)]
    refs += [ref for condition in plan.tree.all_conditions for ref in condition.columns]
    refs += [ref for joint in plan.joint_closers for refs_ in joint.partners for ref in refs_]
    needed = {ref.column for ref in refs if ref.alias == alias}
    needed |= {test.column for test in plan.tree.tests_of(alias)}
    for closer in plan.closers:
        needed |= set(closer.columns) if closer.source == alias else set()
        needed |= set(closer.target_columns) if closer.target == alias else set()
    for promise in plan.promises:
        needed |= set(promise.columns) if promise.alias == alias else set()
        needed |= set(promise.partner_columns) if promise.partner == alias else set()
    needed |= {column for columns in plan.by_alias[alias].equal for column in columns}
    needed |= {str(plan.by_alias[alias].event_time), *order_column(plan)}
    needed |= {column for column in stored if column.startswith(SEEN)}
    # A table without any column has no rows.
    return tuple(column for column in stored if column in needed) or stored[:1]


def counted_streams(plan: Plan) -> frozenset[str]:
    """The streams whose rows are counted in the order of ARRIVES BY, so that every cell must know the place of each."""
    if not plan.in_arrival_order:
        return frozenset()
    follows = [p.partner for p in plan.promises if p.kind is PromiseKind.FOLLOWS_ROWS]
    return plan.rows_windowed | {plan.by_alias[alias].stream for alias in follows if alias is not None}


def key_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns of the key promises of an alias; empty if no key or cluster of it closes anything."""
    return tuple(dict.fromkeys(column for columns in keys_of(plan, alias) for column in columns))


def keys_of(plan: Plan, alias: str) -> tuple[tuple[str, ...], ...]:
    """The columns of each PRIMARY KEY and CLUSTERED promise of an alias: all its rows are told of."""
    return tuple(dict.fromkeys(p.columns for p in plan.promises if p.kind in _BY_KEY and p.alias == alias))


def clustered_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns of an alias whose clusters close something."""
    clustered = (p.columns[0] for p in plan.promises if p.kind is PromiseKind.CLUSTERED and p.alias == alias)
    return tuple(dict.fromkeys(clustered))


def belongs(column: str) -> str:
    """The boolean column of a key: whether rows here may name its value of a clustered column."""
    return f"__ps_belongs_{column}"


def promise_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """What a key promise must carry: the keys, the event time if it is kept, ORDER if rows do; empty without keys."""
    keys = key_columns(plan, alias)
    if not keys:
        return ()
    source = plan.by_alias[alias]
    timed = source.event_time in source.kept and source.event_time not in keys
    clock = (source.event_time,) if timed and source.event_time is not None else ()
    return (*keys, *clock, *order_column(plan))


def punctuation_promises(plan: Plan, stream: str) -> tuple[tuple[int, PromisePlan], ...]:
    """The punctuations of a stream that are of use, each under its number in `plan.promises`; one for each alias."""
    aliases = {source.alias for source in plan.sources if source.stream == stream}
    return tuple(
        (number, p) for number, p in enumerate(plan.promises) if p.kind is PromiseKind.PUNCTUATED and p.alias in aliases
    )


def punctuation_columns(plan: Plan, promise: PromisePlan) -> tuple[str, ...]:
    """What a punctuation must carry: the columns that it closes, and the event time if it has a LIFESPAN."""
    time = plan.by_alias[promise.alias].event_time
    timed = promise.high is not None and time is not None and time not in promise.columns
    return (*promise.columns, time) if timed and time is not None else promise.columns
