"""The verdict on a query: every piece of its state, and what follows for the whole.

A query is as bounded as the worst of its pieces. With a BUDGET it is bounded whatever else is known, and no longer
exact. Where counts replace the joins, nothing is kept but counts. The purge analysis and MEMORY each bound a piece by
themselves; a piece is unbounded only where neither does and a growing input that keeps every promise was found.

A query that is a tree of blocks is decided from below: each block by itself, over streams that have the promises which
follow of what is below them (blocks/derived_stream.py), and the whole is as bounded as the worst of its blocks. Of a
stream that a block gives no growing input is sought, since not every input is one that the block may give: what grows
there is undecided, never unbounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.blocks.derived_stream import Derived, derived_stream
from penstock.analysis.blocks.united_stream import united_stream
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.facts.together import Facts
from penstock.analysis.finality import finality
from penstock.analysis.finding import (
    BlockFinding,
    Bounded,
    Finding,
    Means,
    PurgeFinding,
    RewriteFinding,
    StateFinding,
    Strategy,
    UnionFinding,
    Verdict,
)
from penstock.analysis.full_joins import compared_after_full_join
from penstock.analysis.memory import memory_finding
from penstock.analysis.merging import merged_findings, merged_stage
from penstock.analysis.reasons import Because, BoundedBy, Notice, Reason, Told
from penstock.analysis.rewriting.bound import counted_state
from penstock.analysis.rewriting.rewrite import rewrite_finding
from penstock.analysis.second_stage import second_stage
from penstock.analysis.state import source_findings
from penstock.analysis.unbounded import settled, unknown_growth
from penstock.analysis.witness.purge_witness import Scenario, scenarios
from penstock.model.block_tree import blocks_below, is_block, over
from penstock.model.clauses import RowsWindow, Union
from penstock.model.formats import meant
from penstock.model.hints import Budget
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Follows, Ordered
from penstock.model.shown_names import shown_names
from penstock.model.simplify import simplified
from penstock.model.spans import Auto
from penstock.model.stream import Storage, Stream, TableJoin

_WORST_FIRST = ("unbounded", "undecided", "bounded")


def check_query(query: Query) -> Verdict:
    """Decide for each stream of each block of a query, and for the query, whether its state is bounded."""
    blocks: list[BlockFinding] = []
    unions: list[UnionFinding] = []
    known: dict[str, Derived] = {}
    streams: dict[str, Stream] = {}
    for source in blocks_below(query):
        if isinstance(source.below, Union):
            members = [member.stream.name for member in source.below.members]
            derived = united_stream(source.stream, [known[name] for name in members])
            known[source.stream.name], streams[source.stream.name] = derived, derived.stream
            unions.append(UnionFinding(source.stream.name, tuple(members), derived))
            continue
        assert source.below is not None
        block = over(source.below, streams)
        verdict = check_block(block, is_alone=False)
        derived = derived_stream(source.stream, block, verdict)
        known[source.stream.name], streams[source.stream.name] = derived, derived.stream
        blocks.append(BlockFinding(source.stream.name, block, verdict, derived))
    top = check_block(over(query, streams), is_alone=not blocks)
    if not blocks:
        return top
    verdicts = [top, *(block.verdict for block in blocks)]
    verdict_of_all = min((verdict.verdict for verdict in verdicts), key=_WORST_FIRST.index)
    return replace(
        top,
        verdict=verdict_of_all,
        strategy=top.strategy if verdict_of_all == "bounded" or top.strategy is Strategy.BUDGET else Strategy.NONE,
        exact=all(verdict.exact for verdict in verdicts),
        learned=tuple(dict.fromkeys(text for verdict in verdicts for text in verdict.learned)),
        blocks=tuple(blocks),
        unions=tuple(unions),
        shown=shown_names(query),
    )


def check_block(query: Query, *, is_alone: bool = True) -> Verdict:
    """Decide for one block, whose sources have all their promises; `is_alone` if it is the whole query."""
    facts = Facts(query)
    graph = ClosingGraph(facts)
    memory = memory_finding(query)
    findings = merged_findings(facts, memory, source_findings(facts, graph))
    entries = [StateFinding(s.stream.name, s.alias, findings[s.alias]) for s in query.all_sources]
    stage = merged_stage(memory, second_stage(facts, graph, findings))
    if stage is not None:
        entries.append(stage)
    left = [alias for alias in graph.aliases if not _is_purged(facts, graph, findings[alias], alias)]
    found = (scenarios(graph, left) if is_block(query) else unknown_growth(query, left)) if left else {}
    entries, witness = settled(graph, memory, found, entries)
    budget = query.hints.budget
    rewrite = rewrite_finding(query) if is_alone else RewriteFinding(False, because=(CountReason.SEVERAL_BLOCKS(),))
    if rewrite.applies and rewrite.rewriting is not None:
        witness = None
        entries = counted_state(query, rewrite.rewriting)
    if budget is not None:
        witness = None
        entries = [replace(entry, finding=_within(budget, entry.finding)) for entry in entries]
    verdict = min((entry.finding.verdict for entry in entries), key=_WORST_FIRST.index)
    return Verdict(
        query.name,
        verdict,
        _strategy(entries, verdict, budget),
        budget is None and not (rewrite.applies and rewrite.error_bound),
        tuple(entries),
        memory,
        _purge(graph, found),
        rewrite,
        witness,
        notices=(
            *_notices(query, graph),
            *_counting_notice(query, rewrite),
            *(compared_after_full_join(query) if verdict != "bounded" else ()),
        ),
        finality=finality(simplified(query), graph),
        learned=() if rewrite.applies else tuple(dict.fromkeys((*graph.learned, *_learned_of(query, stage)))),
        graph=graph,
    )


def _learned_of(query: Query, stage: StateFinding | None) -> Iterator[str]:
    """The orders WITHIN AUTO by which groups or remembered rows leave: a later row of one finds it gone."""
    if stage is None or not isinstance(stage.finding, Bounded):
        return
    for source in query.all_sources:
        for scheme in source.stream.schemes:
            is_learned = isinstance(scheme, Ordered) and isinstance(scheme.slack, Auto)
            if is_learned and (text := scheme.on(source.stream.name)) in stage.finding.because:
                yield text


def _within(budget: Budget, finding: Finding) -> Bounded:
    """The tighter of a finding and the budget."""
    limit, evicted = BoundedBy.BUDGET(budget), Because.EVICTED_OVER_BUDGET()
    if not isinstance(finding, Bounded):
        return Bounded(limit, Means.BUDGET, (evicted, *finding.because), budget.rows)
    if budget.rows is None or (finding.rows is not None and finding.rows <= budget.rows):
        return finding
    bound = BoundedBy.WITHIN_BUDGET(finding.bound, limit)
    return replace(finding, bound=bound, because=(*finding.because, evicted), rows=budget.rows)


def _strategy(entries: list[StateFinding], verdict: str, budget: Budget | None) -> Strategy:
    if budget is not None:
        return Strategy.BUDGET
    if verdict != "bounded":
        return Strategy.NONE
    means = [entry.finding.means for entry in entries if isinstance(entry.finding, Bounded)]
    if Means.REWRITE in means:
        return Strategy.REWRITE
    return Strategy.SYNOPSIS if Means.SYNOPSIS in means else Strategy.PURGE


def _is_purged(facts: Facts, graph: ClosingGraph, finding: Finding, alias: str) -> bool:
    """Whether every row of a source leaves in the end, or none is stored."""
    source = facts.query.by_alias[alias]
    is_stateless = isinstance(finding, Bounded) and finding.means is Means.STATELESS
    return is_stateless or isinstance(source.window, RowsWindow) or graph.reach(alias).is_complete


def _purge(graph: ClosingGraph, found: Mapping[str, Scenario | Told]) -> PurgeFinding:
    """SAFETY's answer; `found` has an entry for each source that is not purged."""
    because = tuple((alias, doubt) for alias, doubt in found.items() if not isinstance(doubt, Scenario))
    doubted = {alias for alias, _ in because}
    streams = tuple((alias, None if alias in doubted else alias not in found) for alias in graph.aliases)
    answers = [safe for _, safe in streams]
    return PurgeFinding(False if False in answers else None if None in answers else True, streams, because)


def _counting_notice(query: Query, rewrite: RewriteFinding) -> Iterator[Reason]:
    if rewrite.applies:
        yield Notice.COUNTS_WATCH_NOTHING()
    elif query.hints.error is not None and rewrite.rewriting is None:
        yield Notice.ERROR_REMOVES_NOTHING(rewrite.because[0])


def _misspelt_formats(query: Query) -> Iterator[Reason]:
    for stream in (source.stream for source in query.all_sources):
        tables = [(join.table, join.storage) for join in stream.tables if isinstance(join, TableJoin)]
        for name, storage in ((stream.name, stream.storage), *tables):
            if isinstance(storage, Storage) and (close := meant(storage.format)) is not None:
                yield Notice.FORMAT_MISSPELT(storage.format, name, close)


def _notices(query: Query, graph: ClosingGraph) -> Iterator[Reason]:
    for source in query.all_sources:
        yield from (Notice.TABLE_JOINED(source.alias, join.table) for join in source.stream.tables)
    yield from dict.fromkeys(_misspelt_formats(query))
    if renamed := [output.name for output in query.answer if output.is_renamed]:
        yield Notice.RENAMED(renamed)
    yield from dict.fromkeys(_notices_of_parts(query, graph))
    if all(source.stream.arrival is not None for source in query.all_sources):
        return
    counted: dict[str, None] = {}
    for closing in graph.closings:
        own = query.by_alias[closing.needs[0][0]].stream.name
        # A stream joined with itself is read in one order.
        if isinstance(closing.scheme, Follows) and own != query.by_alias[closing.target].stream.name:
            counted[closing.scheme.on(own)] = None
    for text in counted:
        yield Notice.COUNTED_AS_READ(text)


def _notices_of_parts(query: Query, graph: ClosingGraph) -> Iterator[Reason]:
    for source in query.all_sources:
        stream = source.stream
        if not stream.has_parts:
            continue
        if stream.idle_after is None and stream.low:
            yield Notice.SILENT_PART_HOLDS_CLOCK(stream.name, stream.event_time)
        if isinstance(source.window, RowsWindow):
            yield Notice.COUNTED_OVER_PARTS(source.window, stream.name)
        for scheme in stream.schemes:
            if isinstance(scheme, Clustered) and not stream.lies_in_one_part(scheme.column):
                yield Notice.CLUSTERS_OVER_PARTS(scheme.on(stream.name), stream.name, scheme.column)
    for closing in graph.closings:
        target = query.by_alias[closing.target].stream
        if isinstance(closing.scheme, Follows) and target.has_parts:
            own = query.by_alias[closing.needs[0][0]].stream.name
            yield Notice.COUNTED_OVER_PARTS(closing.scheme.on(own), target.name)
