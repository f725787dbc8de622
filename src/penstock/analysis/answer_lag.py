"""How far, in an event time, may a row of the answer lie behind rows that were given in batches before?

Whoever deduplicates an answer by one of its event times may forget what lies further behind.

Theorem. In a join where every row is given in the batch in which the last of its tuples arrives, let r be a row given
before s, t an event time that both show, and j the stream whose tuple of s arrived after r was given. Of j nothing
arrives more than its lateness below what it has shown, the tuple of r among that; and both tuples lie within the bands
of their rows. So s.t >= r.t - (t - ts_j) - late_j - (ts_j - t), each difference at its most, and the lag is the
greatest of these sums over all streams.

Preconditions: all joins are inner, nothing is grouped or made distinct, no row waits for an order of arrival, and each
stream has one clock, whose lateness is a length of time. Not decided: answers of blocks, whose frontiers have none.
"""

from __future__ import annotations

from penstock.analysis.facts.together import Facts
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.hints import NO_HINTS
from penstock.model.query import Query
from penstock.model.schemes import Ordered
from penstock.model.spans import Rows, Span


def answer_lag(query: Query, column: str) -> int | None:
    """The ticks by which a column of the answer may lie behind what was given before; None if none are known."""
    if not query.is_inner or query.is_grouped or query.distinct or query.hints != NO_HINTS:
        return None
    time = next((output.value for output in query.outputs if output.name == column), None)
    if not isinstance(time, ColumnRef) or query.by_alias[time.alias].event_time != time:
        return None
    bands = Facts(query).of().bands
    lags = []
    for source in query.sources:
        own, late = source.event_time, _lateness(source)
        if own is None or late is None:
            return None
        above, below = bands.upper(time, own), bands.upper(own, time)
        if own != time and (above is None or below is None):
            return None
        lags.append(late if own == time or above is None or below is None else above.ticks + late + below.ticks)
    return max(lags)


def _lateness(source: Source) -> int | None:
    """How far a stream may come below what it has shown; None if nothing is known of it as a whole."""
    stream = source.stream
    waits = stream.parts is not None or stream.arrival is not None
    if waits or source.window is not None or source.below is not None:
        return None
    orders = [one for one in stream.schemes if isinstance(one, Ordered) and one.column == stream.event_time]
    known = [one.slack.ticks if isinstance(one.slack, Span) else 0 for one in orders if _is_length(one)]
    return min(known, default=None)


def _is_length(order: Ordered) -> bool:
    return isinstance(order.slack, Span) or order.slack == Rows(0)
