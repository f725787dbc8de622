"""Is a query a count over joins and anti-joins, by windows of one stream's event time? (REWRITE section 4)

The form that the rules understand: inner joins, EXISTS and NOT EXISTS; grouped by `window(ts, k)` of the event time of
one source of FROM, the root, and by further columns; giving these and counts. Conditions are sorted by what they are
about: those on one source make a sub-stream of it (`substreams.py`), and of those that a tie makes equal to it; those
between two tie it to the others.

Anything else is left as it is, and the answer says why: outer joins, DISTINCT, [ROWS n], other aggregates, groups that
are expressions, conditions of NOT EXISTS that are not about its own stream. [RANGE d] is a set of time differences
where there is no EXISTS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.count_values import count_value
from penstock.model.clauses import TIME, Aggregate, Formula, RangeWindow, RowsWindow, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import (
    Bound,
    Difference,
    Equalities,
    OneOf,
    Op,
    Predicate,
    Residual,
    aliases_of,
    rejects_null,
)
from penstock.model.query import Query
from penstock.model.relation import JoinKind, joins
from penstock.records import record

MOST_SOURCES = 8
"""Every pair of sources is asked about, so beyond these a check would no longer be quick."""


@record
class CountQuestion:
    """A count over joins and anti-joins."""

    query: Query
    root: str
    """The source whose event time makes the windows."""
    window: TimeWindow
    groups: tuple[ColumnRef, ...]
    joined: tuple[str, ...]
    """The sources that have a row in every result: those of FROM, then those of EXISTS."""
    without: tuple[str, ...]
    """The sources of NOT EXISTS."""
    filters: Mapping[str, tuple[Predicate, ...]]
    """By source, the conditions on it alone."""
    ties: tuple[Predicate, ...]
    """The conditions between two of the joined sources."""
    ties_without: Mapping[str, tuple[Predicate, ...]]
    """For each source of NOT EXISTS, the conditions between it and a joined one."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """All sources."""
        return (*self.joined, *self.without)

    def time(self, alias: str) -> ColumnRef | None:
        """The event time of a source."""
        return self.query.by_alias[alias].event_time

    def not_null(self, alias: str) -> frozenset[str]:
        """The columns without which a row of a source stands in no match."""
        ties = self.ties_without.get(alias, self.ties)
        conditions = (*self.filters.get(alias, ()), *ties)
        return frozenset(ref.column for p in conditions if rejects_null(p) for ref in p.columns if ref.alias == alias)


def count_question(query: Query) -> CountQuestion | Reason:
    """The query as a count, or why it is none."""
    return next(_unfit(query), None) or _sorted_conditions(query)


def _unfit(query: Query) -> Iterator[Reason]:
    if not query.is_grouped:
        yield CountReason.NO_AGGREGATE()
        return
    for output in query.outputs:
        if isinstance(output.value, Aggregate) and count_value(output.value) is None:
            yield CountReason.NOT_FROM_COUNTS(output.value)
    if any(join.kind is not JoinKind.INNER for join in joins(query.tree)):
        yield CountReason.OUTER_JOIN()
    if len(query.all_sources) == 1:
        yield CountReason.NO_JOIN()
    if len(query.all_sources) > MOST_SOURCES:
        yield CountReason.TOO_MANY_SOURCES(MOST_SOURCES)
    windows = [key for key in query.group_by if isinstance(key, TimeWindow)]
    of_whole = len(windows) == 1 and not query.grouping_sets
    if not of_whole or windows[0].slide or windows[0].offset or windows[0].is_session:
        yield CountReason.NOT_BY_WINDOW()
    elif query.by_alias[windows[0].column.alias].event_time != windows[0].column:
        yield CountReason.NOT_EVENT_TIME(windows[0].column)
    for key in query.group_by:
        if not isinstance(key, TimeWindow | ColumnRef):
            yield CountReason.BY_EXPRESSION(key)
    for output in query.outputs:
        is_moment = isinstance(output.value, TimeWindow) and output.value.end == TIME
        if is_moment or not isinstance(output.value, TimeWindow | ColumnRef | Aggregate):
            yield CountReason.EXPRESSION(output.value)
    for formula in query.answer:
        if isinstance(formula, Formula) and formula.terms is None:
            yield CountReason.NO_SUM(formula)
    if query.having is not None:
        yield CountReason.HAVING(query.having)
    for source in query.all_sources:
        if source.stream.event_time is None:
            yield CountReason.NO_EVENT_TIME(source.stream.name)
        if isinstance(source.window, RowsWindow):
            yield CountReason.BY_ARRIVAL(source.window)
        if isinstance(source.window, RangeWindow) and query.existences:
            yield CountReason.BESIDE_EXISTS(source.window)


def _sorted_conditions(query: Query) -> CountQuestion | Reason:
    (window,) = (key for key in query.group_by if isinstance(key, TimeWindow))
    joined = [s.alias for s in query.sources] + [e.source.alias for e in query.existences if not e.negated]
    conditions = [p for join in joins(query.tree) for p in join.on] + list(query.where) + list(_ranges(query))
    conditions += [p for e in query.existences if not e.negated for p in e.condition]
    filters: dict[str, list[Predicate]] = {s.alias: [] for s in query.all_sources}
    ties_without: dict[str, list[Predicate]] = {}
    ties: list[Predicate] = []
    for predicate in conditions:
        about = aliases_of(predicate)
        if isinstance(predicate, Residual):
            return CountReason.NO_COMPARISON(predicate)
        if len(about) == 1:
            filters[min(about)].append(predicate)
        else:
            ties.append(predicate)
    for existence in query.existences:
        if not existence.negated:
            continue
        own = existence.source.alias
        ties_without[own] = []
        for predicate in existence.condition:
            about = aliases_of(predicate)
            if isinstance(predicate, Residual):
                return CountReason.NO_COMPARISON(predicate)
            if own not in about:
                return CountReason.NOT_ABOUT(predicate, own)
            (filters[own] if about == {own} else ties_without[own]).append(predicate)
    _carry(filters, ties, ties_without)
    return CountQuestion(
        query,
        window.column.alias,
        window,
        tuple(key for key in query.group_by if isinstance(key, ColumnRef)),
        tuple(joined),
        tuple(ties_without),
        {alias: tuple(found) for alias, found in filters.items()},
        tuple(ties),
        {alias: tuple(found) for alias, found in ties_without.items()},
    )


def _carry(
    filters: dict[str, list[Predicate]], ties: list[Predicate], ties_without: dict[str, list[Predicate]]
) -> None:
    """Put what is asked of a column of a joined source on whatever equals it: `s.ip = 'x' AND s.ip = sa.ip`.

    A row that does not satisfy it is in no match, so the answer stays as it is. From NOT EXISTS nothing is carried out.
    """
    joined = [alias for alias in filters if alias not in ties_without]
    asked = [p for alias in joined for p in filters[alias] if isinstance(p, Bound | OneOf)]
    for group, conditions in ((joined, ties), *(([own], [*ties, *found]) for own, found in ties_without.items())):
        equal = Equalities.of(conditions)
        for predicate in asked:
            for ref in equal.class_of(predicate.column):
                moved = replace(predicate, column=ref)
                if ref.alias in group and moved not in filters[ref.alias]:
                    filters[ref.alias].append(moved)


def _ranges(query: Query) -> Iterator[Predicate]:
    """[RANGE d] as what it says of two event times."""
    for source in query.sources:
        if isinstance(source.window, RangeWindow) and source.event_time is not None:
            for other in query.sources:
                if other is not source and other.event_time is not None:
                    yield Difference(other.event_time, source.event_time, Op.LT, source.window.span)
