"""What of the undecided state is unbounded? Where an input that keeps its promises makes it grow.

A stream is unbounded if its rows are needed for ever (unsafe.py) and the input that shows it grows, whatever algorithm
keeps the state. Where no stream declares a promise and none has a window, MEMORY's growing input is one too, for
streams and for what DISTINCT or GROUP BY remembers. Constant memory that suffices rules both out. Everything else
stays undecided, and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.analysis.closing import ClosingGraph
from penstock.analysis.finding import Finding, MemoryFinding, StateFinding, Unbounded, Undecided, Witness
from penstock.analysis.memory.decide import growing_sources, memory_witness
from penstock.analysis.unsafe import SHOWN, Scenario, growing
from penstock.model.query import Query
from penstock.model.schemes import Check


def settled(
    graph: ClosingGraph, memory: MemoryFinding, scenarios: Mapping[str, Scenario | str], entries: list[StateFinding]
) -> tuple[list[StateFinding], Witness | None]:
    """The entries with what is unbounded named so, and the input that shows it."""
    open_ends = [entry.alias for entry in entries if isinstance(entry.finding, Undecided)]
    if memory.bounded or not open_ends:
        return entries, None
    waiting = {alias: scenarios[alias] for alias in open_ends if alias in scenarios}
    witness = growing(graph, waiting)
    grows = {alias for alias, scenario in waiting.items() if isinstance(scenario, Scenario)} if witness else set[str]()
    if witness is None and memory.bounded is False and _is_plain(graph.query):
        witness = _without_promises(graph.query)
        sources = {alias for alias in waiting if isinstance(waiting[alias], Scenario)}
        # Where every stream is bounded, it is the second stage that is not.
        doubted = frozenset(waiting) - sources
        shown = sources | growing_sources(graph.query, doubted) if waiting else set(open_ends)
        grows = shown if witness is not None else set()
    found = [replace(entry, finding=_named(entry, entry.alias in grows, waiting)) for entry in entries]
    return found, witness if grows else None


def _named(entry: StateFinding, grows: bool, waiting: Mapping[str, Scenario | str]) -> Finding:
    finding = entry.finding
    if not isinstance(finding, Undecided):
        return finding
    if grows:
        return Unbounded(finding.because, finding.fixes)
    doubt = waiting.get(entry.alias)
    if isinstance(doubt, str):
        return replace(finding, because=(*finding.because, f"whether it grows is not known: {doubt}"))
    return finding


def _is_plain(query: Query) -> bool:
    """Whether nothing is promised but CHECKs, and nothing windowed."""
    return all(
        source.window is None
        and source.stream.arrival is None
        and all(isinstance(scheme, Check) for scheme in source.stream.schemes)
        for source in query.all_sources
    )


def _without_promises(query: Query) -> Witness | None:
    short = memory_witness(query, SHOWN)

    def longer(count: int) -> tuple[tuple[str, tuple[tuple[str, object], ...]], ...]:
        found = memory_witness(query, count)
        return () if found is None else found.rows

    return None if short is None else Witness(short.growth, short.rows, longer)
