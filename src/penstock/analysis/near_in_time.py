"""Would it bound a query to say how far apart in time the rows lie that it joins?

That is what a Spark user tries first: a condition on the times of both sides, and a watermark for each. It changes the
question, so it is an offer and no fix (`analysis/fixes.py` has these); what it says of the length is an example. It is
offered where the query has none that would do, each stream of it declares its event time, and the verdict on the query
with the conditions, and with an order for each event time that has none, is `bounded`.

Preconditions: the verdict is not `bounded`. Only for one block of inner joins of at most `_MOST` streams: in an outer
join the condition belongs to its ON, and which of several blocks it belongs to is not decided here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from penstock.analysis.check import check_query
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Fix, NearInTime
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Difference, Op
from penstock.model.query import Query
from penstock.model.schemes import NamedTime, Ordered, Scheme
from penstock.model.spans import Auto, Span, Unit

_MOST = 8
_APART = Span.of(1, Unit.HOUR)


def near_in_time(query: Query) -> NearInTime | None:
    """What would bound a query, if it were asked; None if nothing of that kind is known to."""
    sources = query.all_sources
    is_plain = query.is_inner and not query.existences and all(source.below is None for source in sources)
    if not is_plain or not 2 <= len(sources) <= _MOST or not all(map(_has_instants, sources)):
        return None
    clocks = [source.stream.clock for source in sources]
    if any(one is None or other is None or not one.compares_with(other) for one, other in product(clocks, repeat=2)):
        return None  # Of a DATE and a TIMESTAMP there is no difference.
    pairs = tuple(_apart(query))
    if not pairs:
        return None
    missing = {s.stream.name: s.stream.event_time for s in sources if not s.stream.low}
    declared: dict[str, Scheme] = {name: Ordered(time, Auto()) for name, time in missing.items() if time is not None}
    found = NearInTime(pairs, _APART, Fix(tuple(declared.items())))
    return found if _bounds(query, found) else None


def _has_instants(source: Source) -> bool:
    time = source.stream.event_time
    kind = None if time is None else source.stream.type_of(time)
    return kind is not None and kind.is_instant


def _apart(query: Query) -> list[tuple[ColumnRef, ColumnRef]]:
    """Each event time with that of the first source, but for those that the query ties to one that was looked at."""
    first, *others = [source.event_time for source in query.all_sources if source.event_time is not None]
    bands = Facts(query).of().bands
    near, found = [first], []
    for time in others:
        if all(bands.upper(time, other) is None or bands.upper(other, time) is None for other in near):
            found.append((time, first))
        near.append(time)
    return found


def _bounds(query: Query, near: NearInTime) -> bool:
    limits = [
        Difference(theirs, ours, op, replace(near.apart, amount=near.apart.amount * sign))
        for theirs, ours in near.pairs
        for op, sign in ((Op.GE, -1), (Op.LE, 1))
    ]
    orders = near.declared.by_stream

    def ordered(source: Source) -> Source:
        added = [order for order in orders.get(source.stream.name, ()) if not isinstance(order, NamedTime)]
        return replace(source, stream=replace(source.stream, schemes=(*source.stream.schemes, *added)))

    block = replace(query.block, where=(*query.where, *limits))
    return check_query(query.with_block(block, tuple(map(ordered, query.sources)))).verdict == "bounded"
