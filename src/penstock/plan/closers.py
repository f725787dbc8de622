"""The closings of the analysis as the plan carries them: flat records that the runtime evaluates. Nothing is derived.

Of a closing by an ordered column there is one record for each column of the source that the state holds and that the
ordered one lies only so far above: what is stored of a row decides which of them can be looked at. Where an outer join
or EXISTS asks for what can never be, its target is closed for every row from the first (in inner joins nothing is
stored then).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from penstock.analysis.closings.between import PairClosing, Way, closings_between
from penstock.analysis.closings.edges import order_text
from penstock.analysis.facts.together import Facts
from penstock.analysis.reasons import Told
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.schemes import Ordered
from penstock.plan.closer_plans import Agreement, Closer, CloserKind

Kept = dict[str, tuple[str, ...]]
"""By alias, the columns that every row of a result has and the state holds."""

_KINDS = {Way.KEY: CloserKind.KEY, Way.FOLLOWS: CloserKind.FOLLOWS, Way.CLUSTER: CloserKind.CLUSTER}


def find_closers(facts: Facts, kept: Kept) -> tuple[Closer, ...]:
    """Every way to close one source for the tuples of another; `kept` are the columns that can be looked at."""
    query = facts.query
    found = {
        _closer(query, closing)
        for own, target in permutations(query.all_sources, 2)
        for closing in closings_between(facts, own, target, kept[own.alias])
    }
    if not query.is_inner:
        found.update(_never(facts))
    return tuple(sorted(found, key=_place))


def _never(facts: Facts) -> Iterator[Closer]:
    for own, target in permutations(facts.query.all_sources, 2):
        if why := facts.of(own.alias, target.alias).impossible:
            yield Closer(
                kind=CloserKind.NEVER,
                source=own.alias,
                target=target.alias,
                certain=True,
                columns=(),
                target_columns=(),
                excess=None,
                rows=None,
                constraints=(),
                because=why,
            )


def _place(closer: Closer) -> tuple[object, ...]:
    told = str(closer.because[0]), str(closer.because[-1])
    return closer.source, closer.target, closer.kind, closer.target_columns, closer.columns, told


def find_agreements(facts: Facts, kept: Kept) -> tuple[Agreement, ...]:
    """The bounds that rows of two sources keep wherever they stand in one result, whether written or implied."""
    query, found = facts.query, list[Agreement]()
    for i, j in permutations(query.all_sources, 2):
        bands = facts.of(i.alias, j.alias).bands
        for left in (ColumnRef(i.alias, name) for name in kept[i.alias]):
            kind = query.type_of(left)
            if kind is None or not kind.is_clock or not bands.touches(left):
                continue
            for right in (ref for name in kept[j.alias] if bands.touches(ref := ColumnRef(j.alias, name))):
                excess = bands.excess(right, left)
                if excess is not None and not excess.equal:
                    found.append(Agreement(left, right, excess))
    return tuple(found)


def _closer(query: Query, closing: PairClosing) -> Closer:
    declared = query.by_alias[closing.source if closing.way is Way.FOLLOWS else closing.target].stream
    kind, excess = _KINDS.get(closing.way), None
    if closing.passage is not None:
        assert isinstance(closing.scheme, Ordered)
        excess = closing.passage.excess
        column = query.by_alias[closing.target].stream.type_of(closing.target_columns[0])
        kind = CloserKind.BAND if column is not None and column.is_clock else CloserKind.ORDER
        constraints = tuple(dict.fromkeys(excess.tightest.declared))
        limits = () if excess.equal else closing.passage.reasons
        because: tuple[Told, ...] = tuple(dict.fromkeys((*limits, order_text(declared, closing.scheme))))
    else:
        constraints = (closing.scheme.on(declared.name),)
        because = (*constraints, *([closing.sure.because] if closing.sure is not None else []))
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
        because=because,
    )
