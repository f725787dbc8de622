"""The closings of the analysis as the plan carries them: flat records that the runtime evaluates. Nothing is derived.

Of a closing by an ordered column there is one record for each column of the source that the state holds and that the
ordered one lies only so far above: what is stored of a row decides which of them can be looked at.
"""

from __future__ import annotations

from itertools import permutations

from penstock.analysis.closings.between import PairClosing, Way, closings_between
from penstock.analysis.closings.edges import order_text
from penstock.analysis.facts.combination import Combinations
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Ordered
from penstock.model.spans import Auto, Rows
from penstock.plan.arrival import by_arrival
from penstock.plan.plan import Agreement, Closer, CloserKind

Kept = dict[str, tuple[str, ...]]
"""By alias, the columns that every row of a result has and the state holds."""

_KINDS = {Way.KEY: CloserKind.KEY, Way.FOLLOWS: CloserKind.FOLLOWS, Way.CLUSTER: CloserKind.CLUSTER}


def find_closers(combinations: Combinations, kept: Kept) -> tuple[Closer, ...]:
    """Every way to close one source for the tuples of another; `kept` are the columns that can be looked at."""
    query = combinations.query
    found = {
        _closer(query, closing)
        for own, target in permutations(query.all_sources, 2)
        for closing in closings_between(combinations, own, target, kept[own.alias])
    }
    return tuple(sorted(found, key=lambda c: (c.source, c.target, c.kind, c.text)))


def find_agreements(combinations: Combinations, kept: Kept) -> tuple[Agreement, ...]:
    """The bounds that rows of two sources keep wherever they stand in one result, whether written or implied."""
    query, found = combinations.query, list[Agreement]()
    for i, j in permutations(query.all_sources, 2):
        bands = combinations.of(i.alias, j.alias).bands
        for left in (ColumnRef(i.alias, name) for name in kept[i.alias]):
            kind = query.type_of(left)
            if kind is None or not kind.is_clock or not bands.touches(left):
                continue
            for right in (ColumnRef(j.alias, name) for name in kept[j.alias]):
                excess = bands.excess(right, left)
                if excess is not None and not excess.equal:
                    found.append(Agreement(left, right, excess))
    return tuple(found)


def _closer(query: Query, closing: PairClosing) -> Closer:
    declared = query.by_alias[closing.source if closing.way is Way.FOLLOWS else closing.target].stream
    kind, excess = _KINDS.get(closing.way), None
    constraints: tuple[str, ...] = ()
    if closing.passage is not None:
        excess = closing.passage.excess
        column = query.by_alias[closing.target].stream.type_of(closing.target_columns[0])
        kind = CloserKind.BAND if column is not None and column.is_clock else CloserKind.ORDER
        constraints = tuple(dict.fromkeys(excess.tightest.declared))
    else:
        constraints = (closing.scheme.on(declared.name),)
    assert kind is not None
    return Closer(
        kind=kind,
        source=closing.source,
        target=closing.target,
        certain=closing.certain,
        columns=closing.columns,
        target_columns=closing.target_columns,
        excess=excess,
        rows=closing.rows,
        constraints=constraints,
        text=_text(query, closing, constraints),
    )


def _text(query: Query, closing: PairClosing, constraints: tuple[str, ...]) -> str:
    """When it closes, as the end of a sentence about a row."""
    reasons = "; ".join((*constraints, *([closing.sure.text] if closing.sure is not None else [])))
    match closing.way:
        case Way.KEY:
            return f"the row of {closing.target} that it names has arrived ({reasons})"
        case Way.FOLLOWS:
            return f"{_arrived(query, closing)} ({reasons})"
        case Way.CLUSTER:
            column = ColumnRef(closing.target, closing.target_columns[0])
            return f"its {column} has come, and {_others(closing)} followed it ({reasons})"
        case _:
            passage, order = closing.passage, closing.scheme
            assert passage is not None
            assert isinstance(order, Ordered)
            limits = () if passage.excess.equal else passage.reasons
            said = dict.fromkeys((*limits, order_text(query.by_alias[closing.target].stream, order)))
            return f"{passage} ({'; '.join(said)})"


def _arrived(query: Query, closing: PairClosing) -> str:
    if closing.rows == 0:
        return f"{closing.target} was read past it" if by_arrival(query) else "at once"
    if closing.rows is None:
        return f"so many rows of {closing.target} arrived after it as the k that is learned"
    return f"{closing.rows} rows of {closing.target} arrived after it"


def _others(closing: PairClosing) -> str:
    assert isinstance(closing.scheme, Clustered)
    match closing.scheme.slack:
        case Rows(count=0):
            return "another"
        case Auto():
            return "more others than the k that is learned"
        case slack:
            assert isinstance(slack, Rows)
            return f"more than {slack.count} others"
