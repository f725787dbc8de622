"""What a query keeps whose joins are replaced by counts: no row of any stream, and the counts of the open windows.

A window is over once the clocks of all counted streams have passed it; Spark then gives its counts and forgets them.
"""

from __future__ import annotations

from penstock.analysis.finding import Bounded, Means, StateFinding
from penstock.analysis.rewriting.counts import Rewriting
from penstock.model.query import Query
from penstock.model.spans import span_of_ticks


def counted_state(query: Query, made: Rewriting) -> list[StateFinding]:
    """The entries of the verdict."""
    counted = {source.stream for source in made.sources}
    entries = []
    for source in query.all_sources:
        is_read = source.stream.name in counted
        how = "its rows are counted" if is_read else "its rows are not even read: the counts suffice"
        finding = Bounded("nothing is stored", Means.REWRITE, (how,), 0)
        entries.append(StateFinding(source.stream.name, source.alias, finding))
    length = span_of_ticks(made.period, instants=True)
    clocks = ", ".join(f"{source.alias}.{source.event_time}" for source in made.sources)
    bound = f"the counts of a window of {length} leave once {clocks} have passed it"
    entries.append(StateFinding("(groups)", "(groups)", Bounded(bound, Means.REWRITE)))
    return entries
