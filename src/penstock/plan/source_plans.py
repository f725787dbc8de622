"""What is read, kept and merged of each source of a query.

A column is kept only where an output, a predicate with another stream, a condition on the joined row or a promise needs
it, and read where a filter looks at it too. Rows that the query cannot tell apart become one where the bound needs it
(`merge_rows.py` says when that is right) or where a group sums them up.
"""

from __future__ import annotations

from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Finding, StateFinding, Verdict
from penstock.analysis.reasons import Because, Reason, Told
from penstock.model.clauses import RangeWindow, RowsWindow, Source, Union
from penstock.model.expressions import ColumnRef
from penstock.model.graph import JoinGraph
from penstock.model.predicates import aliases_of
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.stream import SOURCE_PARTS, Stream
from penstock.plan.aggregate import AggregatePlan
from penstock.plan.aggregating import asked_ends, told_apart
from penstock.plan.closer_plans import Closer, JointCloser
from penstock.plan.condition_moments import (
    Moment,
    conditions_at,
    equal_values,
    needed_values,
    one_value,
    residuals,
)
from penstock.plan.merge_plan import MergePlan
from penstock.plan.merge_rows import (
    BY_ROW,
    Merging,
    merge_by_value,
    merge_plan,
    synopsis_of,
    unmerged,
)
from penstock.plan.order_across_streams import counts_by_arrival
from penstock.plan.parts import PairPredicate
from penstock.plan.plan import (
    ColumnPlan,
    OutputColumn,
    SourcePlan,
    StateFigure,
    WindowPlan,
)
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.plan.tree import TreePlan
from penstock.records import record


@record
class WholeQuery:
    """What is known of the whole query when its sources are planned."""

    query: Query
    graph: JoinGraph
    outputs: tuple[OutputColumn, ...]
    aggregate: AggregatePlan | None
    met: dict[str, tuple[str, ...]]
    matched: dict[str, tuple[str, ...]]
    merged: dict[str, MergePlan | Reason]
    """How a source is merged whose bound needs it, or what stands against it."""
    closers: tuple[Closer, ...]
    joint_closers: tuple[JointCloser, ...]
    promises: tuple[PromisePlan, ...]
    verdict: Verdict
    outer: TreePlan | None


def source_plan(whole: WholeQuery, source: Source) -> SourcePlan:
    """What is read of one source, what is kept of it, and when a row of it is final as it arrives."""
    alias = source.alias
    query, matched, merged = whole.query, whole.matched[alias], whole.merged.get(alias)
    kept = _kept(query, alias, whole.outputs, matched)
    watched = {column for p in whole.promises if p.alias == alias for column in p.columns}
    if any(p.policy is Policy.QUARANTINE and alias in (p.alias, p.partner) for p in whole.promises):
        # What is kept out of the query is handed out whole.
        watched |= {column.name for column in source.stream.carried if not column.of_query}
    # What a punctuation is told by: its columns, and the time from which it lives.
    mortal = any(p.alias == alias and p.kind is PromiseKind.PUNCTUATED and p.high is not None for p in whole.promises)
    timed = {source.stream.event_time} if mortal else set()
    read = (
        kept | watched | timed | {ref.column for p in query.predicates if aliases_of(p) == {alias} for ref in p.columns}
    )
    needed = needed_values(query, alias)
    must_be = {*whole.met[alias], *({source.stream.event_time} if _has_range(query) else ())}
    if whole.outer is not None and whole.outer.in_block(alias) and _has_range(query):
        needed |= {c for c in (source.stream.event_time,) if c is not None}
    tests = () if whole.outer is None else tuple(test.column for test in whole.outer.tests_of(alias))
    windowed: tuple[str, ...] = ()
    if whole.aggregate is not None:
        watched |= whole.aggregate.only_shipped(alias)
        read |= whole.aggregate.only_shipped(alias)
        windowed = tuple(w.column for w in whole.aggregate.windows_of(alias))
    if source.stream.has_parts:
        read |= {c for c in (source.stream.parts_by, source.stream.idle_after and source.stream.event_time) if c}
    if not read:
        # A row of which nothing is read is a row still, and what is read is as long as its columns.
        read = {_narrowest(source.stream)}
    return SourcePlan(
        alias,
        source.stream.name,
        source.stream.event_time,
        None if source.stream.arrival is None else source.stream.arrival.column,
        (
            *(ColumnPlan(c.name, str(c.type)) for c in source.stream.carried if c.name in read),
            *((ColumnPlan(SOURCE_PARTS, "STRING"),) if source.stream.parts == SOURCE_PARTS else ()),
        ),
        (*(c.name for c in source.stream.carried if c.name in kept), *tests),
        (*(c.name for c in source.stream.carried if c.name in kept | watched), *tests),
        tuple(str(p) for p in conditions_at(query, Moment.ARRIVAL, alias)),
        _window(source),
        # Bands and windows of the query make an event time needed too; under an outer join they decide no more than a
        # match. What only a declaration says of it is broken by a NULL: the row may match. window() of NULL is none.
        tuple(dict.fromkeys((*(c for c in matched if c in (must_be if whole.outer is None else needed)), *windowed))),
        equal_values(query, alias),
        merged if isinstance(merged, MergePlan) else None,
        merged if isinstance(merged, Reason) else None,
        state_figure(_finding(whole.verdict, alias)),
        None if source.below is None else source.stream.name,
        tuple(member.stream.name for member in source.below.members) if isinstance(source.below, Union) else (),
        source.stream.parts,
        None if source.stream.idle_after is None else source.stream.idle_after.ticks,
    )


def _narrowest(stream: Stream) -> str:
    """A column that costs little to read, and no evaluation."""
    plain = [column for column in stream.carried if column.derived is None] or list(stream.carried)
    return next((c for c in plain if c.type is not None and c.type.is_integer), plain[0]).name


def _kept(query: Query, alias: str, outputs: tuple[OutputColumn, ...], matched: tuple[str, ...]) -> set[str]:
    kept = {o.column for o in outputs if o.alias == alias} | set(matched)
    kept |= {ref.column for p in residuals(query) for ref in p.columns if ref.alias == alias}
    if query.hints.value is not None:
        kept |= {ref.column for ref in query.hints.value.columns if ref.alias == alias}
    return kept


def merged_sources(whole: WholeQuery) -> dict[str, MergePlan | Reason]:
    """By alias, how rows become one, or what stands against it where the bound needs it."""
    query, found = whole.query, dict[str, MergePlan | Reason]()
    for alias, source in query.by_alias.items():
        synopsis = synopsis_of(whole.verdict, alias)
        if not query.is_inner or query.hints.archive is not None:
            continue  # An archive is about single rows.
        if synopsis is None:
            if (by_value := _merged_by_value(whole, source)) is not None:
                found[alias] = by_value
            continue
        shown = {o.column for o in whole.outputs if o.alias == alias}
        if query.is_grouped:
            shown = {ref.column for ref in told_apart(query) if ref.alias == alias}
        keys = {ref.column for k in whole.graph.key_classes for ref in k.columns if ref.alias == alias}
        merging = Merging(
            {column.name: column.type for column in source.stream.carried if column.type is not None},
            tuple(sorted(_kept(query, alias, whole.outputs, whole.met[alias]))),
            one_value(query, alias),
            frozenset(shown | keys),
            frozenset(asked_ends(query, alias)),
        )
        found[alias] = unmerged(synopsis, merging) or merge_plan(synopsis, source.stream)
    return found


def _merged_by_value(whole: WholeQuery, source: Source) -> MergePlan | None:
    """How rows of a grouped query become one that differ in nothing but what is summed up of them."""
    alias, aggregate = source.alias, whole.aggregate
    is_watched = any(p.kind in BY_ROW and alias in (p.alias, p.partner) for p in whole.promises)
    # Of two rows of one stream that come in one batch, [ROWS n] of either alias asks which came first.
    kin = [s for s in whole.query.all_sources if s.stream.name == source.stream.name]
    is_counted = counts_by_arrival(whole.query) or any(isinstance(s.window, RowsWindow) for s in kin)
    kept = _kept(whole.query, alias, whole.outputs, whole.matched[alias])
    types = [source.stream.type_of(column) for column in kept]
    if aggregate is None or is_watched or is_counted or len(whole.query.all_sources) == 1:
        return None
    if not all(kind is not None and kind.is_key for kind in types):
        return None
    columns: dict[str, Told] = {c.name: c.name for c in source.stream.carried if c.name in kept}
    windows = {w.name: Because.WINDOW_OF(w.column) for w in aggregate.windows_of(alias) if w.column not in kept}
    return merge_by_value(columns | windows)


def met_columns(graph: JoinGraph, source: Source, predicates: tuple[PairPredicate, ...]) -> tuple[str, ...]:
    """The columns that conditions compare with other streams."""
    own = {r.column for k in graph.key_classes for r in k.columns if r.alias == source.alias}
    own |= {r.column for p in predicates for r in (p.left, p.right) if r.alias == source.alias}
    return tuple(c.name for c in source.stream.carried if c.name in own)


def matched_columns(facts: Facts, source: Source, met: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that meet other streams, and the event time of a band; a NULL in one meets nothing."""
    own = set(met)
    time = source.event_time
    if time is not None and (_has_range(facts.query) or _is_banded(facts, time)):
        own.add(time.column)
    return tuple(c.name for c in source.stream.carried if c.name in own)


def _is_banded(facts: Facts, time: ColumnRef) -> bool:
    """Whether something limits how far an event time, or what equals it, lies from a column of another stream."""
    others = [other.alias for other in facts.query.all_sources if other.alias != time.alias]
    # Sources that are in every result share their whole.
    for here in dict.fromkeys(facts.of(time.alias, other) for other in others):
        equal = here.equalities.class_of(time)
        for c in here.bands.constraints if here.bands.touches(time) else ():
            is_apart = c.later.alias != c.earlier.alias
            if is_apart and (c.later in equal) != (c.earlier in equal):
                return True
    return False


def _has_range(query: Query) -> bool:
    return any(isinstance(source.window, RangeWindow) for source in query.all_sources)


def _window(source: Source) -> WindowPlan | None:
    match source.window:
        case RowsWindow(count=count):
            return WindowPlan(count, None, str(source.window))
        case RangeWindow(span=span):
            return WindowPlan(None, span.ticks, str(source.window))
        case None:
            return None


def _finding(verdict: Verdict, alias: str) -> Finding:
    entries: tuple[StateFinding, ...] = tuple(e for e in verdict.streams if e.alias == alias)
    if len(entries) != 1:
        raise ValueError(f"the verdict of {verdict.query} has {len(entries)} entries for {alias}")
    return entries[0].finding


def state_figure(finding: Finding) -> StateFigure:
    """What the plan tells of a finding."""
    if isinstance(finding, Bounded):
        return StateFigure(finding.verdict, finding.means.value, finding.rows)
    return StateFigure(finding.verdict, None, None)
