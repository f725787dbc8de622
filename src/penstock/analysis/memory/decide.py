"""Does constant memory suffice for a query? (MEMORY; predicates, types and CHECK alone)

It does where every column that the query can tell rows apart by has a finite domain, since rows that agree on these
can be kept as one with a count. Not decided: anything else.
"""

from __future__ import annotations

from penstock.analysis.combination import Combinations
from penstock.analysis.finding import MemoryFinding
from penstock.analysis.second_stage import finite_second_stage
from penstock.analysis.state import needed_columns, synopsis, unstored
from penstock.model.query import Query


def memory_finding(query: Query) -> MemoryFinding:
    """Whether constant memory suffices, whatever windows and promises say."""
    bare = Combinations(query, promised=False)
    bounded = finite_second_stage(bare) and all(
        unstored(bare, source) or synopsis(bare, source, needed_columns(query, source, windows=False))
        for source in query.all_sources
    )
    return MemoryFinding(True if bounded else None)
