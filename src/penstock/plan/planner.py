"""From a query and its verdict to its plan. Decides nothing that the verdict decides; every choice is deterministic.

Columns are kept only where an output, a predicate with another stream, a condition on the joined row or a promise
needs them; conditions on one stream are left to Spark as text. Outer joins that are inner ones in truth are planned as
such. Queries that the core cannot run yet (aggregates) get a plan all the same, for `explain` to show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import BlockFinding, Bounded, Finding, StateFinding, Strategy, Verdict, each_block
from penstock.analysis.reasons import Because, Reason, Told
from penstock.analysis.usefulness import punctuation_uses, remembered_by_items
from penstock.model.clauses import RangeWindow, RowsWindow, Source, Union, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.graph import JoinGraph
from penstock.model.predicates import Comparison, Difference, Op, aliases_of
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.simplify import simplified
from penstock.model.stream import SOURCE_PARTS, Stream
from penstock.plan.aggregate import AggregatePlan
from penstock.plan.aggregating import aggregate_plan, asked_ends, calendar_cut, carried_columns, told_apart
from penstock.plan.closers import find_agreements, find_closers
from penstock.plan.condition_moments import (
    Moment,
    conditions_at,
    equal_values,
    evaluated,
    left_to_spark,
    needed_values,
    one_value,
    residuals,
)
from penstock.plan.evict import evict_plan
from penstock.plan.merge_plan import MergePlan
from penstock.plan.merge_rows import (
    BY_ROW,
    Merging,
    merge_by_value,
    merge_plan,
    stay,
    synopsis_of,
    unmerged,
    without_covered,
    without_merged,
)
from penstock.plan.order_across_streams import counts_by_arrival
from penstock.plan.outer_tree import block_tree, outer_axes, outer_plan
from penstock.plan.parts import KeyAxis, PairPredicate, monitor_plan
from penstock.plan.plan import (
    FORMAT,
    Closer,
    CloserKind,
    ColumnPlan,
    FrontierColumn,
    JointCloser,
    OutputColumn,
    Plan,
    PromiseKind,
    PromisePlan,
    SelectedColumn,
    SourcePlan,
    StateFigure,
    UselessPunctuations,
    WindowPlan,
)
from penstock.plan.promises import find_clusters, find_promises
from penstock.plan.punctuation_closers import find_punctuation_rows, find_punctuations
from penstock.plan.purge_decisions import with_decisions
from penstock.plan.purge_trees import find_purge_trees
from penstock.plan.second_stage_plan import item_closers
from penstock.plan.tree import TreePlan
from penstock.plan.watched_checks import checks_of


def as_run(query: Query, verdict: Verdict) -> Query:
    """The query without the outer joins that are inner ones in truth, and the sources that others cover."""
    return without_covered(simplified(query), verdict)


def closings_of(query: Query, verdict: Verdict) -> ClosingGraph:
    """What closes what in a query as it is run: as the verdict derived it, unless it is run as another query."""
    known = verdict.graph
    return known if known is not None and known.query == query else ClosingGraph(Facts(query))


def make_plan(query: Query, verdict: Verdict) -> Plan:
    """The plan of a checked query, with those of the blocks below it."""
    if not verdict.blocks:
        return block_plan(query, verdict)
    blocks = tuple(
        replace(block_plan(block.query, block.verdict, block.name), frontiers=_frontiers(block))
        for block in verdict.blocks
    )
    return replace(block_plan(*each_block(query, verdict)[-1]), blocks=blocks)


def _frontiers(block: BlockFinding) -> tuple[FrontierColumn, ...]:
    return tuple(
        FrontierColumn(
            found.column,
            found.clock,
            None if found.window is None or found.window.is_session else found.window.span.ticks,
            found.window is not None and found.window.end == "end",
            1 if found.window is None else found.window.step,
            0 if found.window is None else found.window.shift,
            None if found.cut is None else calendar_cut(block.query, found.cut),
            found.window is not None and found.window.is_session,
        )
        for found in block.derived.clocks
    )


def block_plan(query: Query, verdict: Verdict, name: str | None = None) -> Plan:
    """The plan of one block, whose sources have all their promises."""
    known = {source.alias for source in query.all_sources}
    query = as_run(query, verdict)
    graph = JoinGraph.of(query)
    closing = closings_of(query, verdict)
    facts = closing.facts
    outputs = _outputs(query, verdict)
    aggregate = aggregate_plan(query, verdict, graph, outputs)
    predicates = _pair_predicates(query)
    met = {source.alias: _met(graph, source, predicates) for source in query.all_sources}
    matched = {source.alias: _matched(facts, source, met[source.alias]) for source in query.all_sources}
    uses = punctuation_uses(closing)
    idle = {
        (u.alias, u.scheme.on(query.by_alias[u.alias].stream.name)): u.useless for u in uses if u.useless is not None
    }
    remembered = remembered_by_items(closing)
    punctuations = find_punctuations(facts, frozenset(idle), remembered)
    found = find_closers(facts, matched)
    clusters = tuple(c for c in found if c.kind is CloserKind.CLUSTER)
    closers = (*(c for c in found if c not in clusters), *punctuations.closers, *clusters)
    promises = (*find_promises(facts, closers), *punctuations.promises, *find_clusters(query, closers))
    axes = tuple(KeyAxis(k.columns) for k in graph.key_classes) if query.is_inner else outer_axes(query, graph)
    outer = None if query.is_inner else outer_plan(query, axes, closers)
    joint = punctuations.joint_closers
    whole = _WholeQuery(query, graph, outputs, aggregate, met, matched, {}, closers, joint, promises, verdict, outer)
    merged = _merged(whole)
    closers, promises = without_merged(merged, closers, punctuations.joint_closers, promises, remembered)
    promises = (*promises, *checks_of(query, merged))
    whole = replace(whole, merged=merged, closers=closers, promises=promises)
    sources = tuple(_source_plan(whole, source) for source in query.all_sources)
    purge_trees = () if outer is not None else find_purge_trees(graph, closers, _counted(query))
    plan = Plan(
        FORMAT,
        name or query.name,
        sources,
        graph.shape,
        axes,
        graph.components,
        predicates,
        # A row that stands for others has their values only where the query meets them.
        find_agreements(facts, matched | {alias: met[alias] for alias in stay(merged)}),
        find_punctuation_rows(query),
        promises,
        closers,
        punctuations.joint_closers,
        outputs,
        _selected(query, outputs),
        counts_by_arrival(query),
        query.distinct,
        tuple(str(p) for p in left_to_spark(query)),
        outer or block_tree(graph, axes, predicates, purge_trees, evaluated(query, query.predicates)),
        aggregate,
        item_closers(query, promises, sources, outputs, aggregate),
        monitor_plan(query.hints),
        verdict.verdict,
        verdict.strategy.value,
        verdict.exact,
        tuple(_figure(entry.finding) for entry in verdict.streams if entry.alias not in known),
        tuple(
            UselessPunctuations(alias, constraint, why)
            for (alias, constraint), why in idle.items()
            if (alias, constraint) not in {(p.alias, p.constraint) for p in punctuations.promises}
        ),
        verdict.rewrite.rewriting if verdict.strategy is Strategy.REWRITE else None,
        evict_plan(query),
    )
    return with_decisions(plan)


def _counted(query: Query) -> frozenset[str]:
    return frozenset(s.alias for s in query.all_sources if isinstance(s.window, RowsWindow))


def _outputs(query: Query, verdict: Verdict) -> tuple[OutputColumn, ...]:
    refs = [ref for output in query.outputs for ref in columns_of(output.value)]
    if query.is_grouped:
        refs = carried_columns(query, verdict)
    refs += [ref for p in left_to_spark(query) for ref in p.columns]
    named: dict[ColumnRef, str] = {}
    for ref in dict.fromkeys(refs):
        name = f"{ref.alias}_{ref.column}"
        while name in named.values():
            name += "_"
        named[ref] = name
    return tuple(OutputColumn(ref.alias, ref.column, name) for ref, name in named.items())


def _selected(query: Query, outputs: tuple[OutputColumn, ...]) -> tuple[SelectedColumn, ...]:
    named = {ColumnRef(o.alias, o.column): o.name for o in outputs}
    return tuple(
        SelectedColumn(o.name, named[o.value] if isinstance(o.value, ColumnRef) else None) for o in query.outputs
    )


def _pair_predicates(query: Query) -> tuple[PairPredicate, ...]:
    found: list[PairPredicate] = []
    for predicate in query.predicates:
        if len(aliases_of(predicate)) < 2:
            continue
        text = predicate.text or str(predicate)
        match predicate:
            case Comparison() if predicate.op is not Op.EQ:
                found.append(PairPredicate(predicate.left, predicate.op, predicate.right, None, text))
            case Difference():
                ticks = predicate.span.ticks
                found.append(PairPredicate(predicate.minuend, predicate.op, predicate.subtrahend, ticks, text))
            case _:
                pass  # Equalities are the axes.
    for own in query.all_sources:
        if isinstance(own.window, RangeWindow) and own.event_time is not None:
            for other in query.all_sources:
                if other.alias != own.alias and other.event_time is not None:
                    text = f"{own.alias} has {own.window}"
                    ticks = own.window.span.ticks
                    found.append(PairPredicate(other.event_time, Op.LT, own.event_time, ticks, text))
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _WholeQuery:
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


def _source_plan(whole: _WholeQuery, source: Source) -> SourcePlan:
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
        _figure(_finding(whole.verdict, alias)),
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


def _merged(whole: _WholeQuery) -> dict[str, MergePlan | Reason]:
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


def _merged_by_value(whole: _WholeQuery, source: Source) -> MergePlan | None:
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


def _met(graph: JoinGraph, source: Source, predicates: tuple[PairPredicate, ...]) -> tuple[str, ...]:
    """The columns that conditions compare with other streams."""
    own = {r.column for k in graph.key_classes for r in k.columns if r.alias == source.alias}
    own |= {r.column for p in predicates for r in (p.left, p.right) if r.alias == source.alias}
    return tuple(c.name for c in source.stream.carried if c.name in own)


def _matched(facts: Facts, source: Source, met: tuple[str, ...]) -> tuple[str, ...]:
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


def _figure(finding: Finding) -> StateFigure:
    if isinstance(finding, Bounded):
        return StateFigure(finding.verdict, finding.means.value, finding.rows)
    return StateFigure(finding.verdict, None, None)
