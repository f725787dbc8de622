"""Is the state of DISTINCT and of GROUP BY bounded? (DESIGN section 2: the second stage, `(distinct)` and `(groups)`)

DISTINCT remembers each row that it gave, GROUP BY each group. Both are bounded

- if the columns that make up a row or a group have finite domains (a deterministic expression takes at most as many
  values as its columns together; a column of a source that may be absent may also be NULL); or
- if one of them is the event time (or another column of which the block below tells its frontier), or a window or a
  cut of it (model/closed_groups.py), of a source that stands in every result, whose time is ordered and has no largest
  value (largest_value.py), and whose own rows all leave: once its clock has passed the value, and the rows with it have
  left, that row or group cannot come again; or
- if they hold all columns of a punctuation scheme of such a source (SAFETY, Example 1): once its punctuation has come.
  Not of one with a LIFESPAN, after which its values may come again.

count(DISTINCT x) and median keep the values of a group: x needs a finite domain too, or the groups must close by
time. A row without an event time is never passed by any clock: where the event time may be NULL, the other columns
must be finite. window() drops such rows. Not decided: that a row which holds a PRIMARY KEY never comes again once the
row with that key has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import Missing, order_text
from penstock.analysis.closings.punctuated_columns import narrowed
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Finding, Fix, Means, StateFinding, Undecided
from penstock.analysis.fixes import fixes_of
from penstock.analysis.reasons import Because, BoundedBy, Reason, Told, WhyOpen
from penstock.analysis.state import LARGE
from penstock.model.clauses import Aggregate, RangeWindow, Scalar, Source, TimeWindow, columns_of
from penstock.model.closed_groups import clock_column, clocks_of
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.predicates import NullTest
from penstock.model.query import Query
from penstock.model.schemes import Check, NamedTime, Ordered, Punctuated
from penstock.model.spans import Auto
from penstock.model.types import Kind
from penstock.records import record

_LEAVES = (Means.STATELESS, Means.WINDOW, Means.PURGE)


@record
class _Stage:
    """What one entry remembers."""

    name: str
    item: str
    """What is remembered, in one word."""
    values: tuple[Scalar, ...]
    """What makes up every item."""
    kept: tuple[tuple[ColumnRef | Expression, ...], ...] = ()
    """Arguments, by aggregate, whose different values together are kept for each item."""
    rows: int = 0
    """How many rows are kept for each item."""
    at_times: tuple[Scalar, ...] = ()
    """What makes up some items only: of as many `sets` of values."""
    sets: int = 1

    @property
    def all_values(self) -> tuple[Scalar, ...]:
        """What makes up every item, or some."""
        return (*self.values, *self.at_times)

    @property
    def kept_values(self) -> tuple[ColumnRef | Expression, ...]:
        """The arguments whose values are kept, each once."""
        return tuple(dict.fromkeys(argument for arguments in self.kept for argument in arguments))


@record
class _Clock:
    """A column that is the event time of a source in every result."""

    source: Source
    column: ColumnRef
    may_be_null: bool


def second_stage(facts: Facts, graph: ClosingGraph, findings: Mapping[str, Finding]) -> StateFinding | None:
    """The entry for DISTINCT or GROUP BY, if the query has one; `findings` are those of the sources."""
    stage = _stage_of(facts.query)
    if stage is None:
        return None
    finding = _finite(facts, stage) or _by_time(facts, stage, findings)
    finding = finding or _by_punctuation(facts, stage, findings)
    return StateFinding(stage.name, stage.name, finding or _undecided(facts, graph, stage, findings))


def _stage_of(query: Query) -> _Stage | None:
    if query.is_grouped:
        aggregates = [output.value for output in query.outputs if isinstance(output.value, Aggregate)]
        if query.top is not None:
            return _Stage("(groups)", "group", query.group_by, rows=query.top.most)
        kept = tuple(a.arguments for a in aggregates if a.keeps_values)
        rest = tuple(key for key in query.group_by if key not in query.sure_keys)
        return _Stage("(groups)", "group", query.sure_keys, kept, at_times=rest, sets=len(query.grouping_sets) or 1)
    if query.distinct:
        values = tuple(output.value for output in query.outputs if not isinstance(output.value, Aggregate))
        return _Stage("(distinct)", "row", values)
    return None


def _finite(facts: Facts, stage: _Stage) -> Bounded | None:
    impossible = facts.of().impossible
    if impossible and stage.all_values:
        return Bounded(BoundedBy.NOTHING_IS_STORED(), Means.STATELESS, (*impossible, Because.NO_RESULT()), 0)
    items = _count(facts, stage.all_values)
    kept = [_count(facts, arguments) for arguments in stage.kept]
    if items is None or any(count is None for count in kept):
        return None
    rows = stage.sets * items * (1 + stage.rows + sum(count for count in kept if count is not None))
    because: list[Told] = [
        Because.TAKES_VALUES_TOGETHER(stage.all_values, items) if stage.all_values else Because.ONE_GROUP()
    ]
    because += _values_kept(stage)
    if rows > LARGE:
        because.append(Because.IMPRACTICAL(rows))
    return Bounded(BoundedBy.DISTINCT_ROWS(rows), Means.SYNOPSIS, tuple(because), rows)


def _values_kept(stage: _Stage) -> list[Told]:
    """What is kept of each item beside itself."""
    return [Because.VALUES_KEPT(stage.kept_values)] if stage.kept else []


def _count(facts: Facts, values: tuple[Scalar, ...]) -> int | None:
    """How many different choices of these values there are in results."""
    sizes: dict[ColumnRef, int] = {}
    for value in values:
        if isinstance(value, Expression) and not value.deterministic:
            return None
        for ref in columns_of(value):
            size = _size_in_results(facts, ref)
            if size is None:
                return None
            sizes[_counted_as(facts, ref)] = size
    return prod(sizes.values()) * prod(value.many for value in values if isinstance(value, TimeWindow))


def _size_in_results(facts: Facts, ref: ColumnRef) -> int | None:
    domain = facts.of(ref.alias).domain(ref)
    if domain.size is None:
        return None
    may_be_absent = ref.alias not in facts.query.core
    return domain.size + (may_be_absent and not domain.nullable)


def _counted_as(facts: Facts, ref: ColumnRef) -> ColumnRef:
    """Columns that are equal in every result count once; but 0.0 = -0.0, and the two are not the same output."""
    kind = facts.query.type_of(ref)
    if kind is not None and kind.kind in (Kind.FLOAT, Kind.DOUBLE):
        return ref
    return facts.of().equalities.class_of(ref)[0]


def _clocks(facts: Facts, value: Scalar) -> Iterator[_Clock]:
    """The sources of which a value is the event time, or a window of it."""
    query = facts.query
    if not clocks_of(query, value) or (ref := clock_column(value)) is None:
        return
    for equal in facts.of().equalities.class_of(ref):
        if query.by_alias[equal.alias].stream.is_clock(equal.column) and equal.alias in query.core:
            yield _clock(facts, value, equal)


def _clocks_not_named(facts: Facts, value: Scalar) -> Iterator[_Clock]:
    """The sources of which a value would be the event time, or a window or a cut of it, if they named theirs."""
    query, ref = facts.query, clock_column(value)
    if ref is None or (isinstance(value, ColumnRef) and not query.by_alias[ref.alias].stream.ordering(ref.column)):
        return  # Any number could be a time: one that is no window's must at least be in order.
    for equal in facts.of().equalities.class_of(ref):
        kind, source = query.type_of(equal), query.by_alias[equal.alias]
        is_time = kind is not None and kind.is_clock and source.stream.event_time is None
        if is_time and equal.alias in query.core and source.below is None:
            yield _clock(facts, value, equal)


def _clock(facts: Facts, value: Scalar, column: ColumnRef) -> _Clock:
    may_be_null = not isinstance(value, TimeWindow) and _may_be_null(facts, column)
    return _Clock(facts.query.by_alias[column.alias], column, may_be_null)


def _may_be_null(facts: Facts, ref: ColumnRef) -> bool:
    if any(isinstance(s.window, RangeWindow) for s in facts.query.all_sources):
        return False
    return facts.of().domain(ref).nullable


def _leaves(finding: Finding) -> bool:
    """Whether every row of a source is gone in the end."""
    return isinstance(finding, Bounded) and finding.means in _LEAVES


def _by_time(facts: Facts, stage: _Stage, findings: Mapping[str, Finding]) -> Bounded | None:
    for value in stage.values:
        for clock in _clocks(facts, value):
            own, stream = findings[clock.source.alias], clock.source.stream
            orders = stream.ordering(clock.column.column)
            if not orders or not isinstance(own, Bounded) or not _leaves(own):
                continue
            if never_passes(stream, clock.column.column) or not _passes_all(facts, stage, value, clock):
                continue
            alias = clock.source.alias
            because = (
                Because.ITEM_CARRIES(stage.item, value, alias),
                order_text(stream, orders[0]),
                Because.BOUND_OF(alias, own.bound),
                *_values_kept(stage),
            )
            passed = _what_is_passed(value)
            bound = BoundedBy.ITEM_PASSED(stage.item, alias, passed)
            return Bounded(_with_its_rows(bound, alias, own), Means.PURGE, because)
    return None


def _what_is_passed(value: Scalar) -> str:
    if not isinstance(value, TimeWindow):
        return "it"
    return "its session" if value.is_session else "its window"


def _by_punctuation(facts: Facts, stage: _Stage, findings: Mapping[str, Finding]) -> Bounded | None:
    """A scheme all of whose columns are in what is remembered, none of them ever NULL there."""
    here = facts.of()
    given = {equal for v in stage.values if isinstance(v, ColumnRef) for equal in here.equalities.class_of(v)}
    for source in facts.query.all_sources:
        own = findings[source.alias]
        if source.alias not in facts.query.core or not isinstance(own, Bounded) or not _leaves(own):
            continue
        for scheme in source.stream.schemes:
            if not isinstance(scheme, Punctuated) or narrowed(scheme, source.stream) is not None:
                continue
            if scheme.lifespan is not None:
                continue  # After it the value may come again, and with it the item.
            columns = [ColumnRef(source.alias, column) for column in scheme.columns]
            if given.issuperset(columns) and not any(here.domain(ref).nullable for ref in columns):
                because = (
                    Because.ITEM_CARRIES(stage.item, columns, source.alias),
                    scheme.on(source.stream.name),
                    Because.BOUND_OF(source.alias, own.bound),
                    *_values_kept(stage),
                )
                bound = BoundedBy.ITEM_PUNCTUATED(stage.item, source.alias, columns)
                return Bounded(_with_its_rows(bound, source.alias, own), Means.PURGE, because)
    return None


def _with_its_rows(bound: Reason, alias: str, own: Bounded) -> Reason:
    """A bound of items whose stream has rows to leave too."""
    return bound if own.means is Means.STATELESS else BoundedBy.ITEM_AND_ITS_ROWS(bound, alias)


def _undecided(facts: Facts, graph: ClosingGraph, stage: _Stage, findings: Mapping[str, Finding]) -> Undecided:
    columns = [ref for value in (*stage.all_values, *stage.kept_values) for ref in columns_of(value)]
    endless = [str(ref) for ref in dict.fromkeys(columns) if _size_in_results(facts, ref) is None]
    because: list[Told] = [WhyOpen.ITEMS_REMEMBERED(stage.item)]
    if endless:
        because.append(WhyOpen.ENDLESS_COLUMNS(endless))
    unsure = [v for v in (*stage.all_values, *stage.kept_values) if isinstance(v, Expression) and not v.deterministic]
    because += [WhyOpen.MAY_DIFFER_EACH_TIME(value) for value in unsure]
    clocks = [(value, clock) for value in stage.values for clock in _clocks(facts, value)]
    not_named = [] if clocks else [(v, clock) for v in stage.values for clock in _clocks_not_named(facts, v)]
    because += [WhyOpen.TIME_NOT_NAMED(clock.column) for _, clock in not_named]
    fixes: dict[Fix, None] = {}
    for value, clock in clocks or not_named:
        limit = never_passes(clock.source.stream, clock.column.column)
        if limit is not None:
            because.append(WhyOpen.COLUMN_STOPS(clock.column, limit))
            continue
        is_null_in_the_way = not _passes_all(facts, stage, value, clock)
        missing = _undeclared(clock.source, clock.column.column, is_null_in_the_way)
        if not clock.source.stream.ordering(clock.column.column):
            because.append(WhyOpen.NOT_ORDERED(clock.column))
        if is_null_in_the_way:
            because.append(WhyOpen.NULL_IS_NOT_PASSED(clock.column))
        leaves = _leaves(findings[clock.source.alias])
        if not leaves:
            because.append(WhyOpen.ROWS_STAY(clock.source.alias))
        open_ends = dict.fromkeys(alias for alias, finding in findings.items() if not isinstance(finding, Bounded))
        goals = (*open_ends, *([] if leaves else [clock.source.alias]))
        for fix in fixes_of(graph, dict.fromkeys(goals)) if goals else (Fix(()),):
            fixes[Fix(tuple(dict.fromkeys((*fix.declarations, *missing))))] = None
    if not clocks and not not_named and stage.all_values:
        because.append(WhyOpen.CARRIES_NO_TIME(stage.item))
    advice = [] if unsure or not endless else [WhyOpen.CHECK_WOULD(endless)]
    advice += [] if clocks else _times_to_carry(facts, stage, findings)
    if advice:
        because.append(WhyOpen.WOULD_BOUND(advice))
    return Undecided(tuple(dict.fromkeys(because)), tuple(fixes))


def _undeclared(source: Source, column: str, is_null_in_the_way: bool) -> tuple[Missing, ...]:
    """What a stream must declare so that a clock of it passes every row."""
    stream = source.stream
    found: list[Missing] = [] if stream.is_clock(column) else [(stream.name, NamedTime(column))]
    found += [] if stream.ordering(column) else [(stream.name, Ordered(column, Auto()))]
    if is_null_in_the_way:
        ref = ColumnRef("", column)
        found.append((stream.name, Check((NullTest(ref, is_null=False),))))
    return tuple(found)


def _times_to_carry(facts: Facts, stage: _Stage, findings: Mapping[str, Finding]) -> Iterator[Reason]:
    """The event times that would close what is remembered, if it carried them."""
    for source in facts.query.all_sources if stage.all_values else ():
        time = source.event_time
        if time is None or source.alias not in facts.query.core or not _leaves(findings[source.alias]):
            continue
        if never_passes(source.stream, time.column) is not None:
            continue
        is_grouped = stage.item == "group"
        missing = _undeclared(source, time.column, not is_grouped and _may_be_null(facts, time))
        advice = WhyOpen.GROUPING_WOULD(time) if is_grouped else WhyOpen.GIVING_OUT_WOULD(time)
        yield WhyOpen.WITH_DECLARATIONS(advice, str(Fix(missing))) if missing else advice


def _passes_all(facts: Facts, stage: _Stage, value: Scalar, clock: _Clock) -> bool:
    """Whether the clock passes every item: none is without an event time, or those without are finitely many."""
    rest = tuple(other for other in stage.values if other != value)
    return not clock.may_be_null or _finite(facts, replace(stage, values=rest)) is not None
