"""From a query and its verdict to its plan. Decides nothing that the verdict decides; every choice is deterministic.

What is kept of each source is `source_plans.py`. Outer joins that are inner ones in truth are planned as such. A query
that cannot be run (`runnable.py`) gets a plan all the same, for `explain` to show.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import BlockFinding, Strategy, Verdict, each_block
from penstock.analysis.usefulness import punctuation_uses, remembered_by_items
from penstock.model.clauses import TIME, RangeWindow, RowsWindow, TimeWindow, columns_of
from penstock.model.closed_groups import clocks_of, cut_of
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.graph import JoinGraph
from penstock.model.predicates import Comparison, Difference, Op, aliases_of
from penstock.model.query import Query
from penstock.model.simplify import simplified
from penstock.plan.aggregating import aggregate_plan, calendar_cut, carried_columns
from penstock.plan.closer_plans import CloserKind
from penstock.plan.closers import find_agreements, find_closers
from penstock.plan.condition_moments import (
    evaluated,
    left_to_spark,
)
from penstock.plan.evict import evict_plan
from penstock.plan.merge_rows import (
    stay,
    without_covered,
    without_merged,
)
from penstock.plan.order_across_streams import counts_by_arrival
from penstock.plan.outer_tree import block_tree, outer_axes, outer_plan
from penstock.plan.parts import KeyAxis, PairPredicate, monitor_plan
from penstock.plan.plan import (
    FORMAT,
    FrontierColumn,
    OutputColumn,
    Plan,
    SelectedColumn,
    UselessPunctuations,
)
from penstock.plan.promises import find_clusters, find_promises
from penstock.plan.punctuation_closers import find_punctuation_rows, find_punctuations
from penstock.plan.purge_decisions import with_decisions
from penstock.plan.purge_trees import find_purge_trees
from penstock.plan.second_stage_plan import item_closers
from penstock.plan.source_plans import (
    WholeQuery,
    matched_columns,
    merged_sources,
    met_columns,
    source_plan,
    state_figure,
)
from penstock.plan.watched_checks import Named, checks_of, named_by


def as_run(query: Query, verdict: Verdict) -> Query:
    """The query without the outer joins that are inner ones in truth, and the sources that others cover."""
    return without_covered(simplified(query), verdict)


def closings_of(query: Query, verdict: Verdict) -> ClosingGraph:
    """What closes what in a query as it is run: as the verdict derived it, unless it is run as another query."""
    known = verdict.graph
    return known if known is not None and known.query == query else ClosingGraph(Facts(query))


def make_plan(query: Query, verdict: Verdict) -> Plan:
    """The plan of a checked query, with those of the blocks below it."""
    *below, top = each_block(query, verdict)
    named = named_by((*(block for block, _ in below), top[0]))
    blocks = tuple(
        replace(block_plan(block.query, block.verdict, named, block.name), frontiers=_frontiers(block))
        for block in verdict.blocks
    )
    return replace(block_plan(*top, named), blocks=blocks)


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
            found.others,
        )
        if found.window is None or found.window.end != TIME
        else _last_moment(found.column, found.clock, found.window)
        for found in block.derived.clocks
    )


def _last_moment(column: str, clock: ColumnRef, window: TimeWindow) -> FrontierColumn:
    """The last moment of the windows that may still be emitted.

    These end after the frontier, sessions at the frontier or after it. What begins a window of one tick is the frontier
    itself, of two ticks the tick before it.
    """
    return FrontierColumn(column, clock, 2 if window.is_session else 1, is_end=False)


def block_plan(query: Query, verdict: Verdict, named: Named, name: str | None = None) -> Plan:
    """The plan of one block, whose sources have all their promises; `named` is what all blocks name of a stream."""
    known = {source.alias for source in query.all_sources}
    query = as_run(query, verdict)
    graph = JoinGraph.of(query)
    closing = closings_of(query, verdict)
    facts = closing.facts
    outputs = _outputs(query, verdict)
    aggregate = aggregate_plan(query, verdict, graph, outputs)
    predicates = _pair_predicates(query)
    met = {source.alias: met_columns(graph, source, predicates) for source in query.all_sources}
    matched = {source.alias: matched_columns(facts, source, met[source.alias]) for source in query.all_sources}
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
    whole = WholeQuery(query, graph, outputs, aggregate, met, matched, {}, closers, joint, promises, verdict, outer)
    merged = merged_sources(whole)
    closers, promises = without_merged(merged, closers, punctuations.joint_closers, promises, remembered)
    promises = (*promises, *checks_of(query, merged, named))
    whole = replace(whole, merged=merged, closers=closers, promises=promises)
    sources = tuple(source_plan(whole, source) for source in query.all_sources)
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
        tuple(state_figure(entry.finding) for entry in verdict.streams if entry.alias not in known),
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
    found = []
    for o in query.outputs:
        column = SelectedColumn(o.name, named[o.value] if isinstance(o.value, ColumnRef) else None)
        if query.distinct and isinstance(o.value, Expression) and (cut := cut_of(o.value)) is not None:
            column = replace(column, clocks=clocks_of(query, o.value), cut=calendar_cut(query, cut))
        found.append(column)
    return tuple(found)


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
