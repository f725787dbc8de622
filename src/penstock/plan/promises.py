"""The declarations that the runtime turns into promises and watches, as data of the plan.

The k of WITHIN AUTO is left open: rows for FOLLOWS and for columns that are no event time, else a span of it; nothing
is closed before it is learned. A window on matches is watched where the query ties all its columns; FOREIGN KEY windows
only where the parent's key makes the partner unique. Which promise closes what is the analysis's to say
(analysis/closings).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from penstock.analysis.closings.between import orders
from penstock.analysis.facts.bands import match_window, tied
from penstock.analysis.facts.together import Facts
from penstock.model.clauses import Source, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Follows, Policy, PrimaryKey, Scheme, reference_of
from penstock.model.script import policy_of
from penstock.model.spans import Auto, Frontier, Rows, Span, Window
from penstock.model.stream import Arrival
from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.promise_plans import PromiseKind, PromisePlan


def find_promises(facts: Facts, closers: tuple[Closer, ...]) -> tuple[PromisePlan, ...]:
    """The declarations that the runtime turns into promises and watches; of keys and clusters those that close."""
    found: list[PromisePlan] = []
    used = {(c.kind, c.target, c.target_columns) for c in closers}
    for source in facts.query.all_sources:
        for scheme in source.stream.schemes:
            if isinstance(scheme, PrimaryKey) and (CloserKind.KEY, source.alias, scheme.columns) in used:
                found.append(promise_of(PromiseKind.PRIMARY_KEY, source, scheme, scheme.columns))
        if source.stream.arrival is not None:
            found.append(_arrives(source, source.stream.arrival))
        for order in orders(source):
            if order not in source.stream.schemes:
                continue  # It is ARRIVES BY, which says more.
            match order.slack:
                case Rows(count=count):
                    found.append(promise_of(PromiseKind.ORDERED_ROWS, source, order, (order.column,), rows=count))
                case Span() as span:
                    found.append(promise_of(PromiseKind.ORDERED_TIME, source, order, (order.column,), high=span.ticks))
                case Frontier():
                    if _is_of_use(facts.query, source.alias, order.column, closers):
                        found.append(promise_of(PromiseKind.FRONTIER, source, order, (order.column,)))
                case Auto():
                    in_time = order.column == source.stream.event_time
                    kind = PromiseKind.ORDERED_TIME if in_time else PromiseKind.ORDERED_ROWS
                    found.append(promise_of(kind, source, order, (order.column,)))
    for i, j, scheme, own, other in _references(facts):
        if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows | Auto):
            rows = scheme.slack.count if isinstance(scheme.slack, Rows) else None
            kind = PromiseKind.FOLLOWS_ROWS
            found.append(promise_of(kind, i, scheme, own, partner=j.alias, partner_columns=other, rows=rows))
        window = match_window(scheme, j.stream.keys)
        if window is None or window == Window() or i.event_time is None or j.event_time is None:
            continue  # A window without ends promises nothing.
        kind = PromiseKind.FOLLOWS_TIME if isinstance(scheme, Follows) else PromiseKind.COOCCURS
        low = None if window.low is None else window.low.ticks
        high = None if window.high is None else window.high.ticks
        found.append(promise_of(kind, i, scheme, own, partner=j.alias, partner_columns=other, low=low, high=high))
    return tuple(found)


def _is_of_use(query: Query, alias: str, column: str, closers: tuple[Closer, ...]) -> bool:
    """Whether an order that follows from below closes anything here, or tells how far results have come."""
    ref = ColumnRef(alias, column)
    closes = any(c.target == alias and c.target_columns == (column,) for c in closers)
    values = (*(output.value for output in query.outputs), *query.group_by)
    equal = query.equalities(frozenset()).class_of(ref)
    return closes or any(other in columns_of(value) for value in values for other in equal)


def find_clusters(query: Query, closers: tuple[Closer, ...]) -> tuple[PromisePlan, ...]:
    """The clusters that close something."""
    used = {(c.target, c.target_columns) for c in closers if c.kind is CloserKind.CLUSTER}
    return tuple(
        promise_of(
            PromiseKind.CLUSTERED,
            source,
            scheme,
            (scheme.column,),
            rows=scheme.slack.count if isinstance(scheme.slack, Rows) else None,
        )
        for source in query.all_sources
        for scheme in source.stream.schemes
        if isinstance(scheme, Clustered) and (source.alias, (scheme.column,)) in used
    )


def _references(
    facts: Facts,
) -> Iterator[tuple[Source, Source, Scheme, tuple[str, ...], tuple[str, ...]]]:
    """Schemes about two streams whose columns the query ties: own source, other source, scheme, columns of each."""
    query = facts.query
    for i, j in permutations(query.all_sources, 2):
        for scheme in i.stream.schemes:
            reference = reference_of(scheme)
            if reference is None or reference.stream != j.stream.name:
                continue
            if tied(query, facts.of(i.alias, j.alias).equalities, i.alias, j.alias, reference):
                own, other = (tuple(names) for names in zip(*reference.pairs, strict=True))
                yield i, j, scheme, own, other


def _arrives(source: Source, arrival: Arrival) -> PromisePlan:
    return PromisePlan(
        PromiseKind.ARRIVES,
        arrival.on(source.stream.name),
        source.alias,
        (arrival.column,),
        None,
        (),
        0,
        None,
        None,
        Policy.ADAPT if arrival.on_violation is None else arrival.on_violation.policy,
        None if arrival.on_violation is None else arrival.on_violation.into,
    )


def promise_of(
    kind: PromiseKind,
    source: Source,
    scheme: Scheme,
    columns: tuple[str, ...],
    *,
    partner: str | None = None,
    partner_columns: tuple[str, ...] = (),
    rows: int | None = None,
    low: int | None = None,
    high: int | None = None,
    when: str | None = None,
) -> PromisePlan:
    """The record of one declaration for one alias."""
    into = scheme.on_violation.into if scheme.on_violation is not None else None
    return PromisePlan(
        kind,
        scheme.on(source.stream.name),
        source.alias,
        columns,
        partner,
        partner_columns,
        rows,
        low,
        high,
        policy_of(scheme),
        into,
        when,
    )
