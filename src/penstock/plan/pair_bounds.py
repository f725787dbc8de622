"""How far apart columns of two streams may lie wherever the two stand together; for outer joins and EXISTS.

Among inner joins every bound holds in every result, and bounds are chained freely (`bounds.py`). Under an outer join
the ON of a join holds only where its sides matched. So for each pair of streams the bounds are chained over those
streams alone that are there wherever the pair is, and only by conditions that hold there; the result is a table in
which nothing is chained any further. A chain that rests on two declarations is left out: ADAPT widens them apart.

Preconditions: WHERE holds no condition on two streams (`simplify.py`). [RANGE] windows are used as the analysis uses
them: only between streams of which neither may be absent below the join that brings them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.analysis.bands import window_constraints
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.plan.bounds import Reach, TimeBound, close


def pair_bounds(
    query: Query, written: dict[Predicate, tuple[TimeBound, ...]], declared: tuple[TimeBound, ...]
) -> tuple[TimeBound, ...]:
    """The table; `written` are the bounds of each condition, `declared` those of the streams' declarations."""
    windows = tuple(
        TimeBound(c.earlier, c.later, c.limit.ticks, c.limit.strict, c.reason) for c in window_constraints(query)
    )
    aliases = [source.alias for source in query.all_sources]
    found: list[TimeBound] = []
    for number, one in enumerate(aliases):
        for other in aliases[number + 1 :]:
            holding = query.holding(frozenset({one, other}))
            direct = [bound for p in holding.predicates for bound in written.get(p, ())]
            direct += [b for b in (*windows, *declared) if {b.earlier.alias, b.later.alias} <= holding.present]
            found += _between(query, one, other, direct)
    return tuple(dict.fromkeys(found))


def _between(query: Query, one: str, other: str, direct: list[TimeBound]) -> Iterator[TimeBound]:
    equal = query.equalities(frozenset({one, other}))
    node = {ref: equal.class_of(ref)[0] for b in direct for end in (b.earlier, b.later) for ref in equal.class_of(end)}
    named = [replace(b, earlier=node[b.earlier], later=node[b.later]) for b in direct]
    closed = close(b for b in named if b.earlier != b.later)
    for earlier in sorted(node):
        for later in sorted(node):
            reach = closed.get((node[earlier], node[later]))
            if {earlier.alias, later.alias} == {one, other} and reach is not None and len(reach.constraints) <= 1:
                yield _bound(earlier, later, reach)


def _bound(earlier: ColumnRef, later: ColumnRef, reach: Reach) -> TimeBound:
    constraint = reach.constraints[0] if reach.constraints else None
    return TimeBound(earlier, later, reach.ticks, reach.strict, "; ".join(reach.texts), constraint)
