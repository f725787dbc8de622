"""What of the undecided state is unbounded? Where an input that keeps its promises makes it grow.

A stream is unbounded if its rows are needed for ever (purge_witness.py) and the input that shows it grows, whatever
algorithm keeps the state. Where no stream declares a promise and none has a window, MEMORY's growing input is one too,
for streams and for what DISTINCT or GROUP BY remembers. Constant memory that suffices rules both out. Where a stream is
named more than once, and equal results count once, one row may stand for what several wait for (8.1's folding), so an
input that makes rows wait need not force any algorithm to keep them: that stays undecided where MEMORY does not decide
it. Everything else stays undecided too, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.finding import Finding, MemoryFinding, StateFinding, Unbounded, Undecided, Witness
from penstock.analysis.reasons import NoWitness, Told, WhyOpen
from penstock.analysis.witness.purge_witness import SHOWN, Scenario, growing
from penstock.model.block_tree import is_block
from penstock.model.query import Query
from penstock.model.schemes import Check


def settled(
    graph: ClosingGraph, memory: MemoryFinding, scenarios: Mapping[str, Scenario | Told], entries: list[StateFinding]
) -> tuple[list[StateFinding], Witness | None]:
    """The entries with what is unbounded named so, and the input that shows it."""
    open_ends = [entry.alias for entry in entries if isinstance(entry.finding, Undecided)]
    if memory.bounded or not open_ends:
        return entries, None
    if not is_block(graph.query):
        unknown = unknown_growth(graph.query, open_ends)
        return [replace(entry, finding=_named(entry, False, unknown)) for entry in entries], None
    waiting = {alias: scenarios[alias] for alias in open_ends if alias in scenarios}
    if memory.bounded is None and _may_fold(graph.query):
        waiting = dict.fromkeys(open_ends, NoWitness.MAY_FOLD())
    witness = growing(graph, waiting)
    grows = {alias for alias, scenario in waiting.items() if isinstance(scenario, Scenario)} if witness else set[str]()
    if witness is None and memory.bounded is False and _is_plain(graph.query):
        witness = _shown(memory.witness)
        sources = {alias for alias in waiting if isinstance(waiting[alias], Scenario)}
        # Where every stream is bounded, it is the second stage that is not.
        doubted = frozenset(waiting) - sources
        barred = memory.grows(doubted) if memory.grows is not None and doubted else frozenset[str]()
        grows = sources | barred if waiting else set(open_ends)
    found = [replace(entry, finding=_named(entry, entry.alias in grows, waiting)) for entry in entries]
    return found, witness if grows else None


def unknown_growth(query: Query, aliases: Iterable[str]) -> dict[str, Told]:
    """Why no growing input is known of a query that reads a block: not every input is one that the block may give."""
    given = [source.stream.name for source in query.all_sources if source.below is not None]
    return dict.fromkeys(aliases, NoWitness.GIVEN_BY_BLOCK(given))


def _named(entry: StateFinding, grows: bool, waiting: Mapping[str, Scenario | Told]) -> Finding:
    finding = entry.finding
    if not isinstance(finding, Undecided):
        return finding
    if grows:
        return Unbounded(finding.because, finding.fixes)
    doubt = waiting.get(entry.alias)
    if doubt is not None and not isinstance(doubt, Scenario):
        return replace(finding, because=(*finding.because, WhyOpen.GROWTH_UNKNOWN(doubt)))
    return finding


def _may_fold(query: Query) -> bool:
    """Whether results that say the same count once, and one row may take the place of rows under other names."""
    named = [source.stream.name for source in query.all_sources]
    return (query.distinct or query.is_grouped) and len(set(named)) < len(named)


def _is_plain(query: Query) -> bool:
    """Whether nothing is promised but CHECKs, and nothing windowed."""
    return all(
        source.window is None
        and source.stream.arrival is None
        and all(isinstance(scheme, Check) for scheme in source.stream.schemes)
        for source in query.all_sources
    )


def _shown(witness: Witness | None) -> Witness | None:
    return None if witness is None else replace(witness, rows=witness.first(SHOWN))
