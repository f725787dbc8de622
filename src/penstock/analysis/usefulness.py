"""Which punctuation schemes are of use to a query, and which may be dropped at the source?

A scheme is of use if its punctuations can ever let a row go: a row of one source alone may carry values for all its
columns, and then dies or completes by it; or some source reaches, over closings of any kind, enough others to carry
them. Closings that are uncertain count, since what did arrive is purged by them too. A scheme whose columns all stand
in what DISTINCT or GROUP BY remembers is of use there, unless its values may come again after a LIFESPAN. Everything
else closes nothing that is stored.

Preconditions: those of edges.py. Not decided: whether a scheme is worth its cost where another closes as much.
"""

from __future__ import annotations

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import Closing
from penstock.analysis.closings.punctuated_columns import narrowed, punctuated_columns
from penstock.analysis.reasons import Reason, WhyUseless
from penstock.model.clauses import Source, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Punctuated
from penstock.records import record


@record
class PunctuationUse:
    """Whether a scheme of a source is of use to the query."""

    alias: str
    scheme: Punctuated
    useless: Reason | None
    """Why it is of no use; None if it is of use."""


def punctuation_uses(graph: ClosingGraph) -> tuple[PunctuationUse, ...]:
    """For each punctuation scheme of each source, in the order of FROM."""
    return tuple(
        PunctuationUse(source.alias, scheme, why_useless(graph, source, scheme))
        for source in graph.query.all_sources
        for scheme in source.stream.schemes
        if isinstance(scheme, Punctuated)
    )


def remembered_by_items(graph: ClosingGraph) -> frozenset[tuple[str, str]]:
    """The schemes, by alias and text, all of whose columns stand in what DISTINCT or GROUP BY remembers."""
    return frozenset(
        (source.alias, scheme.on(source.stream.name))
        for source in graph.query.all_sources
        for scheme in source.stream.schemes
        if isinstance(scheme, Punctuated) and _is_remembered(graph, source, scheme)
    )


def why_useless(graph: ClosingGraph, source: Source, scheme: Punctuated) -> Reason | None:
    """Why punctuations of a scheme never let a row go; None if they do."""
    if _is_remembered(graph, source, scheme):
        return None
    made = [c for c in graph.declared if c.target == source.alias and c.scheme == scheme]
    if not made:
        return _loose_end(graph, source, scheme)
    if any(set.intersection(*map(set, closing.needs)) for closing in made):
        return None
    roots = [alias for alias in graph.aliases if alias != source.alias]
    if any(_fires(graph, root, closing) for root in roots for closing in made):
        return None
    return WhyUseless.CARRIERS_STAY_OPEN()


def _loose_end(graph: ClosingGraph, source: Source, scheme: Punctuated) -> Reason:
    limited = narrowed(scheme, source.stream)
    if limited is not None:
        return limited
    for column in punctuated_columns(graph.facts, source, scheme):
        if column.equals or column.values is not None:
            continue
        if graph.facts.of(source.alias).domain(column.ref).size is None:
            return WhyUseless.EQUALS_NOTHING(column.ref)
        return WhyUseless.NULL_PROMISES_NOTHING(column.ref)
    return WhyUseless.NO_COLUMN_TIED()


def _is_remembered(graph: ClosingGraph, source: Source, scheme: Punctuated) -> bool:
    query = graph.query
    if not (query.distinct or query.is_grouped) or source.alias not in query.core or scheme.lifespan is not None:
        return False
    values = query.sure_keys if query.is_grouped else tuple(o.value for o in query.outputs)
    given = {ref for value in values if isinstance(value, ColumnRef) for ref in columns_of(value)}
    equalities = graph.facts.of().equalities
    return narrowed(scheme, source.stream) is None and all(
        not given.isdisjoint(equalities.class_of(ColumnRef(source.alias, column))) for column in scheme.columns
    )


def _fires(graph: ClosingGraph, root: str, closing: Closing) -> bool:
    """Whether what a source reaches, uncertain closings included, carries all columns of a closing."""
    reached = [alias for alias in graph.reachable_if_arrived(root) if alias != closing.target]
    return graph.usable(root, closing, reached) is not None
