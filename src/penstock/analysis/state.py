"""Is the state that a query keeps of one source bounded, and by what?

Tried in this order: nothing is stored (one source alone; rows that never stand in a result); [ROWS n]; every row is
purged in the end (closing_graph.py); rows that the query cannot tell apart are merged, and the columns that it needs
have finite domains.

Merging keeps one row, with a count, for each choice of values of the needed columns: outputs, group keys, what
conditions between streams read, the columns of VALUE, and the event time under a [RANGE] window; a filter on one
source is settled as the row arrives. It is used only where every source stands in every result. Rows merged under an
outer join or EXISTS may have to be given out at different times, so there the answer is left undecided. What none of
these bounds is undecided, never unbounded: no growing input is sought here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import prod

from penstock.analysis.closings.between import Way, guarantee
from penstock.analysis.closings.closing_graph import ClosingGraph, Reachability, kept_until
from penstock.analysis.closings.edges import passages, shared_columns, stalled
from penstock.analysis.closings.outer_join_purge import Stuck
from penstock.analysis.facts.together import Facts, Together
from penstock.analysis.finding import Bounded, Finding, Fix, Means, Undecided
from penstock.analysis.fixes import fixes_of
from penstock.analysis.reasons import Because, BoundedBy, Reason, Told, WhyOpen
from penstock.analysis.usefulness import why_useless
from penstock.model.clauses import RangeWindow, RowsWindow, Source, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.model.schemes import Clustered, PrimaryKey, Punctuated

_MOST_REASONS = 6
"""Streams that a row waits for beyond these are only counted."""

LARGE = 10**6
"""A bound above this many rows is true and of no use."""


def source_findings(facts: Facts, graph: ClosingGraph) -> dict[str, Finding]:
    """The findings for the sources of a query, by alias; a fix bounds all sources that nothing bounds yet."""
    found = {s.alias: _bounded(facts, graph, s) for s in facts.query.all_sources}
    waiting = graph.stuck()
    for stuck in waiting:
        found |= {alias: None for alias in stuck.rows if not _is_unstored(found[alias])}
    open_ends = [alias for alias, finding in found.items() if finding is None]
    fixes = fixes_of(graph, open_ends) if open_ends else ()
    return {
        alias: finding or _open(facts, graph, facts.query.by_alias[alias], waiting, fixes)
        for alias, finding in found.items()
    }


def _bounded(facts: Facts, graph: ClosingGraph, source: Source) -> Bounded | None:
    stored_nothing = unstored(facts, source)
    if stored_nothing is not None:
        return stored_nothing
    if isinstance(source.window, RowsWindow):
        return _windowed(graph, source, source.window)
    reach = graph.reach(source.alias)
    if reach.is_complete:
        reasons = dict.fromkeys(chain.from_iterable(edge.closing.because for edge in reach.edges))
        return Bounded(kept_until(reach, source.alias), Means.PURGE, tuple(reasons))
    return synopsis(facts, source, needed_columns(facts.query, source))


def _windowed(graph: ClosingGraph, source: Source, window: RowsWindow) -> Bounded:
    count = window.count
    because = (Because.OUT_OF_REACH(window, source.alias, count),)
    late = () if graph.leaving is None else graph.leaving.waiting_across(source.alias)
    if not late:
        return Bounded(BoundedBy.LAST_ROWS(count), Means.WINDOW, because, count)
    bound = BoundedBy.LAST_ROWS_AND_AWAITED(BoundedBy.LAST_ROWS(count), late)
    return Bounded(bound, Means.WINDOW, (*because, Because.MAY_COME_LATE(late)))


def _is_unstored(finding: Bounded | None) -> bool:
    return finding is not None and finding.rows == 0


def _open(
    facts: Facts, graph: ClosingGraph, source: Source, waiting: tuple[Stuck, ...], fixes: tuple[Fix, ...]
) -> Undecided:
    reach = graph.reach(source.alias)
    reasons: tuple[Told, ...] = (*_why_open(facts, graph, source, reach), *_why_not_merged(facts, source))
    if reach.is_complete:
        reasons = (*_why_stuck(source, waiting), *reasons)
    if not isinstance(source.window, RowsWindow):
        window = WhyOpen.WINDOW_WOULD_TOO if fixes else WhyOpen.WINDOW_WOULD_BOUND
        reasons = (*reasons, window(source.alias))
    return Undecided(reasons, fixes)


def unstored(facts: Facts, source: Source) -> Bounded | None:
    """The finding for a source of which no row is ever stored."""
    query = facts.query
    if len(query.all_sources) == 1:
        return Bounded(BoundedBy.NOTHING_IS_STORED(), Means.STATELESS, (Because.FINAL_ON_ARRIVAL(),), 0)
    why = facts.of(source.alias).impossible
    if why:
        because = (*why, Because.IN_NO_RESULT(source.alias))
        return Bounded(BoundedBy.NOTHING_IS_STORED(), Means.STATELESS, because, 0)
    return None


def needed_columns(query: Query, source: Source, windows: bool = True) -> tuple[ColumnRef, ...]:
    """The columns by which the query can tell rows of a source apart."""
    needed: dict[ColumnRef, None] = {}
    for value in (*(output.value for output in query.outputs), *query.group_by):
        needed.update(dict.fromkeys(columns_of(value)))
    for predicate in query.predicates:
        if len(aliases_of(predicate)) > 1:
            needed.update(dict.fromkeys(predicate.columns))
    if query.hints.value is not None:
        needed.update(dict.fromkeys(query.hints.value.columns))
    has_range = any(isinstance(s.window, RangeWindow) for s in query.all_sources)
    if windows and has_range and source.event_time is not None:
        needed[source.event_time] = None
    return tuple(ref for ref in needed if ref.alias == source.alias)


def synopsis(facts: Facts, source: Source, needed: tuple[ColumnRef, ...]) -> Bounded | None:
    """The finding for a source whose needed columns are all of finite domain."""
    if not _stands_in_every_result(facts.query):
        return None
    here = facts.of(source.alias)
    sizes = [(ref, here.domain(ref).size) for ref in needed]
    known = [(ref, size) for ref, size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    rows = prod(size for _, size in known)
    because = [Because.TAKES_VALUES(ref, size, here.domain(ref).listed) for ref, size in known]
    because.append(Because.MERGED_WITH_COUNT() if needed else Because.ONLY_COUNTED(source.alias))
    if rows > LARGE:
        because.append(Because.IMPRACTICAL(rows))
    return Bounded(BoundedBy.DISTINCT_ROWS(rows), Means.SYNOPSIS, tuple(because), rows)


def _stands_in_every_result(query: Query) -> bool:
    return len(query.core) == len(query.all_sources)


def _why_stuck(source: Source, waiting: tuple[Stuck, ...]) -> Iterator[Reason]:
    """For each join in which rows of a source wait for ever, though others with which they stand do not."""
    for stuck in waiting:
        if source.alias in stuck.rows:
            yield WhyOpen.STUCK(stuck.rows, stuck.others)


def _why_open(facts: Facts, graph: ClosingGraph, source: Source, reach: Reachability) -> Iterator[Reason]:
    """For each source that nothing closes: what is known, and what is missing."""
    query = facts.query
    for target in reach.unreached[:_MOST_REASONS]:
        here = facts.of(source.alias, target)
        other = query.by_alias[target]
        clock = next((p for way, p in passages(source, other, here) if way is Way.CLOCK), None)
        shared = shared_columns(here, source.alias, target)
        stuck = tuple(stalled(source, other, here))
        if clock is not None:
            yield WhyOpen.WAITS_FOR_UNORDERED(source.alias, target, clock.reasons, other.event_time)
        elif shared:
            keys = [WhyOpen.EQUAL(f"{source.alias}.{own}", f"{target}.{theirs}") for own, theirs in shared]
            yield WhyOpen.WAITS_FOR_KEYS(source.alias, target, keys)
        else:
            waits = WhyOpen.WAITS_FOR if stuck else WhyOpen.WAITS_FOR_ANYTHING
            yield waits(source.alias, target)
        yield from stuck
        yield from _of_no_help(graph, source, other, here)
    more = len(reach.unreached) - _MOST_REASONS
    if more > 0:
        yield WhyOpen.WAITS_FOR_MORE(source.alias, more)


def _of_no_help(graph: ClosingGraph, source: Source, other: Source, here: Together) -> Iterator[Reason]:
    """Declarations that seem to close a source, and why they do not."""
    joined = {theirs for _, theirs in shared_columns(here, source.alias, other.alias)}
    for scheme in other.stream.schemes:
        text = scheme.on(other.stream.name)
        match scheme:
            case Clustered(column=column) if not other.stream.lies_in_one_part(column):
                yield WhyOpen.CLUSTERS_OVER_PARTS(text, other.stream.name)
            case PrimaryKey() | Clustered():
                columns = scheme.columns if isinstance(scheme, PrimaryKey) else (scheme.column,)
                if joined.issuperset(columns) and guarantee(source, other, here, columns) is None:
                    yield WhyOpen.CLOSES_ARRIVED_ONLY(text)
                elif joined.issuperset(columns):
                    yield WhyOpen.FINITE_CLUSTERS(text)
            case Punctuated():
                why = why_useless(graph, other, scheme)
                if why is not None:
                    yield WhyOpen.CLOSES_NOTHING(text, why)
            case _:
                continue
    if isinstance(source.window, RangeWindow) and other.stream.event_time is None:
        yield WhyOpen.RANGE_WITHOUT_TIME(source.window, source.alias, other.alias)


def _why_not_merged(facts: Facts, source: Source) -> Iterator[Reason]:
    query = facts.query
    here = facts.of(source.alias)
    endless = [str(ref) for ref in needed_columns(query, source) if here.domain(ref).size is None]
    if endless:
        yield WhyOpen.ENDLESS_COLUMNS_UNMERGED(endless)
    else:
        yield WhyOpen.UNMERGED_UNDER_OUTER(source.alias)
