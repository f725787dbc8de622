"""What would Spark's own join of the same streams keep of a row, and for how long?

Spark joins two inputs at a time, in the order of FROM, and keeps rows of both sides of each join, so a row that met
others is kept again with them. Of one side it lets rows go where

- an equality of the join is of a column with a watermark: rows of both sides are kept until the watermark is past it;
- both sides have a watermark, and a condition of the join says how far the other side's event time may lie above this
  side's: once the watermark has passed that.

There is one watermark for the query, the least over its streams: the latest event time read less the delay. A watermark
here is what Spark could be told: an order of a TIMESTAMP that is the event time, WITHIN a span. Spark knows no other
promise. It refuses joins of streams without an equality, NOT EXISTS, outer joins of which it would keep all, and, as it
is set by default, a join of rows that carry several columns with a watermark: those of streams joined before, where the
query reads them there or above. What it refuses is refused for all streams.

Preconditions: conditions are taken as if they were written so that Spark understands them, and [RANGE d] as the
condition that it is; where a joined row has several event times, the best of them is taken. So it keeps at least what
is said here. Not decided: what Spark keeps for DISTINCT and GROUP BY.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.analysis.facts.bands import Constraint
from penstock.analysis.facts.together import Facts
from penstock.analysis.reasons import Reason, SparkKeeps
from penstock.model.clauses import RowsWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.model.relation import JoinKind, Leaf, joins, leaves
from penstock.model.schemes import Ordered
from penstock.model.spans import Frontier, Rows, Span, span_of_ticks
from penstock.model.types import Kind
from penstock.records import record

_REFUSALS = (
    SparkKeeps.REFUSES_ANTI,
    SparkKeeps.REFUSES_UNEQUAL,
    SparkKeeps.REFUSES_OUTER,
    SparkKeeps.REFUSES_SEVERAL_TIMES,
)


@record
class SparkKept:
    """What Spark's own joins keep of a row."""

    alias: str
    ticks: int | None
    """How far beyond the row's own event time the watermark must be; None if it is kept for ever."""
    late: int
    """How far the watermark lags behind what was read."""
    because: Reason
    """What lets it go, or why nothing does."""

    @property
    def is_refused(self) -> bool:
        """Whether Spark does not run the query at all."""
        return self.because.kind in _REFUSALS

    @property
    def end(self) -> int | None:
        """What event time must have been read of all streams, counted from the row's own."""
        return None if self.ticks is None else max(0, self.ticks) + self.late


@record
class _Meeting:
    """One join of two sides."""

    left: frozenset[str]
    right: frozenset[str]
    is_outer: bool
    negated: bool = False


@record
class _Leaves:
    """Rows of a side are kept until the watermark has passed one of its columns by so much."""

    start: ColumnRef
    ticks: int


def spark_keeps(query: Query) -> dict[str, SparkKept]:
    """What Spark keeps of each source, by alias."""
    unpromised = _unpromised(query)
    marked = {s.alias: s.event_time for s in query.all_sources if s.event_time is not None and _delay(s) is not None}
    late = max((_delay(s) or 0 for s in query.all_sources), default=0)
    facts = Facts(unpromised)
    meetings = tuple(_meetings(query))
    found = {s.alias: _kept(facts, s, meetings, marked, late) for s in unpromised.all_sources}
    several = _several_times(query, meetings, marked)
    refused = next((one.because for one in found.values() if one.is_refused), several)
    return found if refused is None else {a: SparkKept(a, None, late, refused) for a in found}


def _several_times(query: Query, meetings: tuple[_Meeting, ...], marked: dict[str, ColumnRef]) -> Reason | None:
    """That rows which were joined carry several watermarks into another join."""
    shown = set(replace(query.block, tree=Leaf(""), where=(), existences=()).columns)
    for meeting in meetings:
        for side in (meeting.left, meeting.right):
            read = {ref for p in query.predicates if not aliases_of(p) <= side for ref in p.columns}
            times = [marked[alias] for alias in sorted(side) if alias in marked and marked[alias] in shown | read]
            if len(times) > 1:
                return SparkKeeps.REFUSES_SEVERAL_TIMES(times)
    return None


def _unpromised(query: Query) -> Query:
    """The query over streams that promise nothing: its conditions and windows are left."""

    def bare(source: Source) -> Source:
        return replace(source, stream=replace(source.stream, schemes=(), arrival=None))

    found = tuple(replace(e, source=bare(e.source)) for e in query.existences)
    return query.with_block(replace(query.block, existences=found), tuple(map(bare, query.sources)))


def _delay(source: Source) -> int | None:
    """The delay of the watermark that Spark could be told; None if there is none."""
    time = source.stream.event_time
    kind = None if time is None else source.stream.type_of(time)
    if kind is None or kind.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return None
    delays = [_span(order) for order in source.stream.low]
    return min((delay for delay in delays if delay is not None), default=None)


def _span(order: Ordered) -> int | None:
    match order.slack:
        case Span() as span:
            return span.ticks
        case Rows(count=0) | Frontier():
            return 0
        case _:
            return None


def _meetings(query: Query) -> Iterator[_Meeting]:
    for join in joins(query.tree):
        outer = join.kind is not JoinKind.INNER
        yield _Meeting(frozenset(leaves(join.left)), frozenset(leaves(join.right)), outer)
    there = frozenset(leaves(query.tree))
    for existence in query.existences:
        yield _Meeting(there, frozenset((existence.source.alias,)), True, existence.negated)


def _kept(
    facts: Facts, source: Source, meetings: tuple[_Meeting, ...], marked: dict[str, ColumnRef], late: int
) -> SparkKept:
    longest: tuple[int, _Leaves] | None = None
    for meeting in meetings:
        sides = (meeting.left, meeting.right)
        if not any(source.alias in side for side in sides):
            continue
        own, other = sides if source.alias in meeting.left else (sides[1], sides[0])
        said = facts.of(*own, *other).bands.constraints
        why = _refused(facts, meeting)
        found = None if why is not None else _best(facts, source, list(_ways(said, own, other, marked)))
        if found is None:
            why = why or _why_endless(source, own, other, marked, meeting)
            return SparkKept(source.alias, None, late, why)
        if longest is None or found[0] > longest[0]:
            longest = found
    if longest is None:
        return SparkKept(source.alias, 0, 0, SparkKeeps.NOTHING())
    return SparkKept(source.alias, longest[0], late, _until(longest[1]))


def _until(way: _Leaves) -> Reason:
    if not way.ticks:
        return SparkKeeps.UNTIL_PASSED(way.start)
    return SparkKeeps.UNTIL_PASSED_BY(
        way.start, "+" if way.ticks > 0 else "-", span_of_ticks(abs(way.ticks), True).spoken
    )


def _ways(
    said: tuple[Constraint, ...], own: frozenset[str], other: frozenset[str], marked: dict[str, ColumnRef]
) -> Iterator[_Leaves]:
    times = set(marked.values())
    equal = {(c.later, c.earlier) for c in said if c.limit.ticks == 0 and not c.limit.strict}
    own_is_marked = any(alias in marked for alias in own)
    for demand in said:
        later, earlier = demand.later, demand.earlier
        if later.alias not in other or earlier.alias not in own:
            continue
        is_key = (earlier, later) in equal and (later, earlier) in equal
        if (is_key and times & {later, earlier}) or (own_is_marked and later in times and earlier in times):
            yield _Leaves(earlier, demand.limit.ticks)


def _best(facts: Facts, source: Source, ways: list[_Leaves]) -> tuple[int, _Leaves] | None:
    """The way by which it leaves first, with the ticks from the row's own event time."""
    found = []
    for way in ways:
        own = source.event_time
        if own is None or way.start == own:
            found.append((way.ticks, way))
            continue
        limit = facts.of(own.alias, way.start.alias).bands.upper(way.start, own)
        if limit is not None:
            found.append((limit.ticks + way.ticks, way))
    return min(found, key=lambda pair: pair[0], default=None)


def _refused(facts: Facts, meeting: _Meeting) -> Reason | None:
    if meeting.negated:
        return SparkKeeps.REFUSES_ANTI()
    ties = facts.of(*meeting.left, *meeting.right).equalities.classes
    if not any(_spans(refs, meeting) for refs in ties):
        return SparkKeeps.REFUSES_UNEQUAL()
    return None


def _spans(refs: tuple[ColumnRef, ...], meeting: _Meeting) -> bool:
    there = {ref.alias for ref in refs}
    return not there.isdisjoint(meeting.left) and not there.isdisjoint(meeting.right)


def _why_endless(
    source: Source, own: frozenset[str], other: frozenset[str], marked: dict[str, ColumnRef], meeting: _Meeting
) -> Reason:
    if isinstance(source.window, RowsWindow):
        why = SparkKeeps.NO_ROWS_WINDOW()
    elif lacking := [alias for alias in (*sorted(own), *sorted(other)) if alias not in marked]:
        why = SparkKeeps.NO_WATERMARK(lacking)
    else:
        why = SparkKeeps.NO_TIME_CONDITION(sorted(own), sorted(other))
    return SparkKeeps.REFUSES_OUTER(why) if meeting.is_outer else why
