"""When does a row that may have no match become final? A reason for each outer join and EXISTS.

A row of a side whose rows are kept is given with NULLs once the promises close the other side for it: that is the edge
of the closing graph from a stream that is sure to be in the row to one that is sure to be on the other side. The same
edge tells when NOT EXISTS is certain. EXISTS needs none: a row is given at its first match. Preconditions: none. What
has no edge is never certain: the verdict on that stream says so too, and names what to declare.

Not decided: rows that are final earlier, because a NULL or a condition on their own stream lets them match nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.finding import Fix
from penstock.analysis.reasons import Final, Reason
from penstock.model.query import Query
from penstock.model.relation import JoinKind, certain, joins, leaves

_LIKELY = (Way.FOLLOWS, Way.CLOCK, Way.PUNCTUATION, Way.CLUSTER, Way.ORDER, Way.WINDOW, Way.KEY, Way.NEVER)
"""What one is likeliest to know of streams that need not meet."""


def finality(query: Query, graph: ClosingGraph) -> tuple[Reason, ...]:
    """When rows become final: outer joins first, in the order in which they are joined."""
    return tuple(_final(query, graph))


def _final(query: Query, graph: ClosingGraph) -> Iterator[Reason]:
    for join in joins(query.tree):
        for kept, other, kinds in (
            (join.left, join.right, (JoinKind.LEFT, JoinKind.FULL)),
            (join.right, join.left, (JoinKind.RIGHT, JoinKind.FULL)),
        ):
            # What must be there for other reasons makes it an inner join.
            if join.kind in kinds and query.core.isdisjoint(leaves(other)):
                there, others = certain(kept), certain(other) or frozenset(leaves(other))
                once, rows = _once(graph, there, others), (leaves(kept), leaves(other))
                yield Final.UNMATCHED_WITH_NULLS(*rows, once) if once else _never(rows, graph, there, others)
    for existence in query.existences:
        alias = existence.source.alias
        outer = tuple(source.alias for source in query.sources)
        if existence.negated:
            there, others = query.core - {alias}, frozenset({alias})
            once, rows = _once(graph, there, others), (outer, (alias,))
            yield Final.UNMATCHED(*rows, once) if once else _never(rows, graph, there, others)
        else:
            yield Final.FIRST_MATCH(outer, alias)


def _once(graph: ClosingGraph, there: frozenset[str], others: frozenset[str]) -> tuple[Reason, ...]:
    ways: dict[Reason, None] = {}
    for alias in (a for a in graph.aliases if a in there):
        found = (e for e in graph.reach(alias).edges if e.target in others and there.issuperset(e.sources))
        ways.update((edge.wait, None) for edge in list(found)[:1])
    return tuple(ways)


def _never(
    rows: tuple[tuple[str, ...], tuple[str, ...]], graph: ClosingGraph, there: frozenset[str], others: frozenset[str]
) -> Reason:
    would = [c for c in graph.candidates if c.target in others and all(there & set(need) for need in c.needs)]
    told = min(would, key=lambda closing: _LIKELY.index(closing.way), default=None)
    return Final.NEVER(*rows) if told is None else Final.NEVER_UNLESS(*rows, str(Fix(told.missing)))
