"""A query without the sources that another one covers (MEMORY, section 8.1), where their bound rests on that.

Theorem: where it does not matter how often a result is found, a row of x is its own partner in y, and y can be left
out: Example 8.1 becomes a query over one stream. The engine then never reads the stream as y, and keeps nothing of it.

Preconditions: the verdict's own, and no VALUE that names a source. Not decided here: what is covered.
"""

from __future__ import annotations

from penstock.analysis.finding import Verdict
from penstock.analysis.memory.self_joins import folded
from penstock.model.query import Query
from penstock.plan.merging import synopsis_of


def without_covered(query: Query, verdict: Verdict) -> Query:
    """The query that is run instead; the same if no bound rests on leaving a source out."""
    if not query.is_inner or query.hints.value is not None:
        return query
    covered = [synopsis for synopsis in verdict.memory.synopses if synopsis.covered_by is not None]
    if not any(synopsis_of(verdict, synopsis.alias) is synopsis for synopsis in covered):
        return query
    return folded(query, [(synopsis.alias, str(synopsis.covered_by)) for synopsis in covered])
