"""What to declare so that every tuple of a source can be purged.

Each fix is a set of declarations that is sufficient by the closing graph itself: with them every other source is
reachable. One is grown for each order of preference (clock first, FOLLOWS first, ordered keys first), taking a
declaration for each source that is still out of reach and following all edges that these open; then what turns out
not to be needed is dropped again. So a fix has no part that can be left out, though another of fewer parts may exist.
Declarations whose numbers the user must know (windows, COOCCURS, CHECK) are advice in the reasons, never a fix.
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
    chosen: dict[Missing, None] = {}
    while not (reach := graph.reach(alias, frozenset(chosen))).is_complete:
        reached = (alias, *(edge.target for edge in reach.edges))
        opened = [
            min(candidates, key=lambda edge: preference.index(edge.way)).missing
            for target in reach.unreached
            if (candidates := _candidates(graph, alias, reached, target))
        ]
        if not opened:
            return None
        chosen.update((missing, None) for missing in opened if missing is not None)
    for missing in reversed(tuple(chosen)):
        if graph.reach(alias, frozenset(chosen) - {missing}).is_complete:
            del chosen[missing]
    return tuple(chosen)


def _candidates(graph: ClosingGraph, alias: str, reached: tuple[str, ...], target: str) -> list[Edge]:
    """The edges to a source that one more declaration would make, those from the source itself first."""
    return [
        edge
        for via in reached
        for edge in graph.edges[via, target]
        if edge.missing is not None and graph.stands_between(alias, via, target)
    ]
