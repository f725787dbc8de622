"""The verdict on a query: every piece of its state, and what follows for the whole.

A query is as bounded as the worst of its pieces. With a BUDGET it is bounded whatever else is known, and no longer
exact. In this version nothing is called unbounded: what is not shown to be bounded is undecided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.analysis.closing import ClosingGraph
from penstock.analysis.combination import Combinations
from penstock.analysis.finding import (
    Bounded,
    Finding,
    Means,
    PurgeFinding,
    RewriteFinding,
    StateFinding,
    Strategy,
    Verdict,
)
from penstock.analysis.memory import memory_finding
from penstock.analysis.merging import merged_findings, merged_stage
from penstock.analysis.second_stage import second_stage
from penstock.analysis.state import source_findings, unstored
from penstock.model.hints import Budget
from penstock.model.query import Query, RowsWindow
from penstock.model.schemes import Follows

_WORST_FIRST = ("unbounded", "undecided", "bounded")


def check_query(query: Query) -> Verdict:
    """Decide for each stream of a query, and for the query, whether its state is bounded."""
    combinations = Combinations(query)
    graph = ClosingGraph(combinations)
    memory = memory_finding(query)
    findings = merged_findings(combinations, memory, source_findings(combinations, graph))
    entries = [StateFinding(s.stream.name, s.alias, findings[s.alias]) for s in query.all_sources]
    stage = merged_stage(memory, second_stage(combinations, graph, findings))
    if stage is not None:
        entries.append(stage)
    budget = query.hints.budget
    if budget is not None:
        entries = [replace(entry, finding=_within(budget, entry.finding)) for entry in entries]
    verdict = min((entry.finding.verdict for entry in entries), key=_WORST_FIRST.index)
    return Verdict(
        query.name,
        verdict,
        _strategy(entries, verdict, budget),
        budget is None,
        tuple(entries),
        memory,
        _purge(combinations, graph),
        RewriteFinding(None),
        notices=tuple(_notices(query, graph)),
    )


def _within(budget: Budget, finding: Finding) -> Bounded:
    """The tighter of a finding and the budget."""
    limit = f"the budget of {budget} for the whole query"
    evicted = "over the budget, rows are evicted and results lost"
    if not isinstance(finding, Bounded):
        return Bounded(limit, Means.BUDGET, (evicted, *finding.because), budget.rows)
    if budget.rows is None or (finding.rows is not None and finding.rows <= budget.rows):
        return finding
    return replace(
        finding, bound=f"{finding.bound}, within {limit}", because=(*finding.because, evicted), rows=budget.rows
    )


def _strategy(entries: list[StateFinding], verdict: str, budget: Budget | None) -> Strategy:
    if budget is not None:
        return Strategy.BUDGET
    if verdict != "bounded":
        return Strategy.NONE
    means = [entry.finding.means for entry in entries if isinstance(entry.finding, Bounded)]
    return Strategy.SYNOPSIS if Means.SYNOPSIS in means else Strategy.PURGE


def _purge(combinations: Combinations, graph: ClosingGraph) -> PurgeFinding:
    streams = tuple(
        (
            source.alias,
            True
            if unstored(combinations, source)
            or isinstance(source.window, RowsWindow)
            or graph.reach(source.alias).is_complete
            else None,
        )
        for source in combinations.query.all_sources
    )
    return PurgeFinding(True if all(safe for _, safe in streams) else None, streams)


def _notices(query: Query, graph: ClosingGraph) -> Iterator[str]:
    if all(source.stream.arrival is not None for source in query.all_sources):
        return
    counted: dict[str, None] = {}
    for closing in graph.closings:
        own = query.by_alias[closing.needs[0][0]].stream.name
        # A stream joined with itself is read in one order.
        if isinstance(closing.scheme, Follows) and own != query.by_alias[closing.target].stream.name:
            counted[closing.scheme.on(own)] = None
    for text in counted:
        yield f"{text} counts rows across streams that do not all declare ARRIVES BY: it is about the order of reading"
