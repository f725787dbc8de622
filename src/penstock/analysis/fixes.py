"""What to declare so that every tuple of a source can be purged.

Each fix is a set of declarations that is sufficient by the closing graph itself: with them every other source is
reachable. One is grown for each order of preference (clock first, FOLLOWS first, ordered keys first), taking one
missing declaration at a time and following all edges that it opens; then what turns out not to be needed is dropped
again. So a fix has no part that can be left out, though another of fewer parts may exist. Declarations whose
numbers the user must know (windows, COOCCURS, CHECK) are advice in the reasons, never a fix.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.analysis.closing import ClosingGraph, Edge, Missing, Way

Fix = tuple[Missing, ...]

_PREFERENCES = (
    (Way.CLOCK, Way.FOLLOWS, Way.ORDER),
    (Way.FOLLOWS, Way.CLOCK, Way.ORDER),
    (Way.ORDER, Way.CLOCK, Way.FOLLOWS),
)
_MOST = 4


def fixes_of(graph: ClosingGraph, alias: str) -> tuple[Fix, ...]:
    """Declarations that would make a source purgeable: alternatives, the smallest first."""
    found: dict[Fix, None] = {}
    for preference in _PREFERENCES:
        fix = _grown(graph, alias, preference)
        if fix is not None:
            found[fix] = None
    return tuple(sorted(found, key=len))[:_MOST]


def text_of(fix: Iterable[Missing]) -> str:
    """A fix as `penstock implies` reads it."""
    return "; ".join(scheme.on(stream) for stream, scheme in fix)


def _grown(graph: ClosingGraph, alias: str, preference: tuple[Way, ...]) -> Fix | None:
    chosen: list[Missing] = []
    while not (reach := graph.reach(alias, frozenset(chosen))).is_complete:
        reached = [a for a in graph.aliases if a not in reach.unreached]
        candidates = [
            edge
            for via in (alias, *(a for a in reached if a != alias))
            for target in reach.unreached
            for edge in graph.edges[via, target]
            if edge.missing is not None and graph.stands_between(alias, via, target)
        ]
        if not candidates:
            return None
        best: Edge = min(candidates, key=lambda edge: preference.index(edge.way))
        assert best.missing is not None
        chosen.append(best.missing)
    for missing in tuple(chosen):
        rest = [other for other in chosen if other != missing]
        if graph.reach(alias, frozenset(rest)).is_complete:
            chosen = rest
    return tuple(chosen)
