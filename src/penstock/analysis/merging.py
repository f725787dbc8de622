"""Where merging bounds a stream that nothing else bounds (MEMORY's synopses, as findings).

A synopsis stands for its stream whatever is kept of the others, so it bounds that stream by itself. It is used only in
a query without windows, since rows that were merged can no longer leave one by one, and without VALUE, whose columns
would have to be kept apart. Where no tuples can satisfy the conditions, nothing is stored at all. What DISTINCT and
GROUP BY remember is bounded by the number of results, windows or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Finding, Means, MemoryFinding, StateFinding
from penstock.analysis.reasons import Because, BoundedBy
from penstock.analysis.synopsis_form import ABSURD, SynopsisForm
from penstock.model.expressions import ColumnRef


def merged_findings(facts: Facts, memory: MemoryFinding, findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """The findings of the sources, by alias, with merging where it helps."""
    query = facts.query
    if memory.never and len(query.all_sources) > 1:
        because = (*memory.because, Because.NO_RESULT())
        nothing = Bounded(BoundedBy.NOTHING_IS_STORED(), Means.STATELESS, because, 0)
        return {alias: finding if _is_stateless(finding) else nothing for alias, finding in findings.items()}
    if query.hints.value is not None or any(source.window is not None for source in query.all_sources):
        return dict(findings)
    known = {synopsis.alias: synopsis for synopsis in memory.synopses}
    return {
        alias: _merged(facts, known[alias]) if alias in known and not _leaves(finding) else finding
        for alias, finding in findings.items()
    }


def merged_stage(memory: MemoryFinding, stage: StateFinding | None) -> StateFinding | None:
    """The entry for DISTINCT or GROUP BY, where the number of results bounds it."""
    if stage is None or isinstance(stage.finding, Bounded) or memory.results is None:
        return stage
    rows = memory.results
    because = [Because.CHOICES_LEFT(rows), *([Because.IMPRACTICAL(rows)] if rows > ABSURD else [])]
    return replace(stage, finding=Bounded(BoundedBy.DISTINCT_ROWS(rows), Means.SYNOPSIS, tuple(because), rows))


def _is_stateless(finding: Finding) -> bool:
    return isinstance(finding, Bounded) and finding.means is Means.STATELESS


def _leaves(finding: Finding) -> bool:
    """Whether rows leave by themselves, which is better than merging them."""
    return isinstance(finding, Bounded) and finding.means is not Means.SYNOPSIS


def _merged(facts: Facts, synopsis: SynopsisForm) -> Bounded:
    here = facts.of(synopsis.alias)
    because = []
    for column in synopsis.columns:
        ref = ColumnRef(synopsis.alias, column.column)
        domain = here.domain(ref)
        if domain.size == column.values and not column.stretches:
            because.append(Because.TAKES_VALUES(ref, domain.size, domain.listed))
    return Bounded(synopsis.bound, Means.SYNOPSIS, (*because, *synopsis.reasons), synopsis.rows)
