"""What this version's engine cannot do yet of what `check` and `explain` understand; said before a query starts.

A query that cannot be run at all has `obstacles`. One that can, but whose stated bound rests on a move that the engine
does not make yet (merging rows that a promise watches), has `unkept_bounds`: its answer is right and its
state may grow. Whether a bound is kept is read off the plan alone: a stream's rows are merged; or they leave by
[ROWS n], at once where nothing joins them, or where certain closers, of one stream or of several together, lead from it
to every other stream. Where nothing but clocks and counted rows closes streams that are all joined by inner joins, the
engine's closers are those of the verdict: then no plan is made to find that out (`asks_for_plan`).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.closings.outer_join_purge import Leaving
from penstock.analysis.finding import Bounded, Means, Verdict, each_block
from penstock.analysis.reasons import Reason
from penstock.model.closed_groups import emits_once
from penstock.model.expressions import is_random
from penstock.model.names import fold
from penstock.model.predicates import written
from penstock.model.query import Query
from penstock.model.schemes import Clustered, Ordered, PrimaryKey, Punctuated
from penstock.model.simplify import simplified
from penstock.model.spans import Auto
from penstock.plan.aggregating import grouping_obstacles
from penstock.plan.closer_plans import JointCloser
from penstock.plan.condition_moments import residuals
from penstock.plan.doubting import recovers, recovery_obstacles
from penstock.plan.evict import budget_obstacles
from penstock.plan.order_across_streams import counts_by_arrival, uncomparable_arrivals
from penstock.plan.plan import Plan, SourcePlan, StateFigure
from penstock.plan.plan_reasons import PlanObstacle, WhyUnkept
from penstock.plan.promise_plans import CLOCKS, PromisePlan

_OURS = "__ps_"
"""What columns of our own begin with, beside those of a stream."""


def obstacles_of_blocks(query: Query, verdict: Verdict) -> tuple[Reason, ...]:
    """Why the engine cannot run the query at all, whichever of its blocks stands against it."""
    found: dict[Reason, None] = {}
    for block, _ in each_block(query, verdict):
        found.update(dict.fromkeys(obstacles(block)))
    for below in verdict.blocks:
        if below.query.is_grouped and not emits_once(below.query):
            found[PlanObstacle.RUNNING_GROUPS(below.name)] = None
        if below.query.hints.archive is not None:
            found[PlanObstacle.ARCHIVE_BELOW(below.name)] = None
    return tuple(found)


def obstacles(query: Query) -> tuple[Reason, ...]:
    """Why the engine cannot run a block at all."""
    query = simplified(query)
    found = [*recovery_obstacles(query)]
    if query.is_grouped or query.distinct:
        random = (p for p in residuals(query) if is_random(p.expression.term))
        found += [PlanObstacle.CONDITION_RANDOM(written(p)) for p in random]
    if query.is_grouped:
        found += grouping_obstacles(query)
    if query.hints.budget is not None:
        found += budget_obstacles(query)
    elif query.hints.shed_input:
        found.append(PlanObstacle.SHED_WITHOUT_BUDGET())
    columns = {c.name for s in query.all_sources for c in s.stream.carried}
    if reserved := sorted(name for name in columns if fold(name).startswith(_OURS)):
        found.append(PlanObstacle.NAME_OF_ENGINE(reserved))
    found += _obstacles_of_parts(query)
    if counts_by_arrival(query) and (types := uncomparable_arrivals(query)):
        found.append(PlanObstacle.UNCOMPARABLE_ARRIVALS(types))
    return tuple(found)


def _obstacles_of_parts(query: Query) -> Iterator[Reason]:
    streams = {source.stream.name: source.stream for source in query.all_sources if source.stream.has_parts}
    for stream in streams.values():
        if counts_by_arrival(query):
            yield PlanObstacle.ARRIVALS_OVER_PARTS(stream.name)
        for scheme in stream.schemes:
            match scheme:
                case Ordered(column=column, slack=Auto()) if column != stream.event_time:
                    yield PlanObstacle.K_LEARNED_OVER_PARTS(scheme.on(stream.name))
                case _:
                    pass


def asks_for_plan(query: Query, verdict: Verdict) -> bool:
    """Whether only the plan of a bounded query tells if bounds are kept, promises pile up, or no state is needed."""
    if len(query.all_sources) == 1:
        return True
    if not query.is_inner or query.distinct or query.is_grouped:
        return True
    schemes = (scheme for source in query.all_sources for scheme in source.stream.schemes)
    if any(isinstance(scheme, PrimaryKey | Clustered | Punctuated) for scheme in schemes):
        return True
    return any(isinstance(s.finding, Bounded) and s.finding.means is Means.SYNOPSIS for s in verdict.streams)


def may_have_budget(query: Query) -> bool:
    """Whether a BUDGET on the query could be held."""
    return not budget_obstacles(simplified(query))


def unkept_bounds(plan: Plan) -> tuple[Reason, ...]:
    """What has a bound by `check` that the engine does not keep yet: a reason for each stream, DISTINCT last."""
    found = [why for source in plan.sources if (why := unkept(plan, source)) is not None]
    if plan.distinct:
        found += [why for figure in plan.second_stage if (why := _unkept_distinct(plan, figure)) is not None]
    if plan.aggregate is not None:
        found += [why for figure in plan.second_stage if (why := _unkept_groups(plan, figure)) is not None]
    return tuple(found)


def unkept(plan: Plan, source: SourcePlan) -> Reason | None:
    """What the engine lacks to keep the bound of a stream; None if it keeps it, or there is none."""
    is_merged = source.merge is not None and not source.merge.leaves
    if source.state.verdict != "bounded" or plan.evict is not None or is_merged or _leaves(plan, source):
        return None
    match source.state.means:
        case Means.STATELESS if source.state.rows == 0:
            return None  # No row of it is ever in a result, so each leaves with its batch.
        case Means.SYNOPSIS:
            missing = source.unmerged or WhyUnkept.MERGING()
        case _ if not plan.inner:
            missing = WhyUnkept.CHAIN_OF_OUTER()
        case _:
            missing = WhyUnkept.FEW_VALUES_PUNCTUATED()
    return WhyUnkept.NEEDS(source.alias, missing)


def _leaves(plan: Plan, source: SourcePlan) -> bool:
    """Whether the engine lets every row of a stream go in the end."""
    if not plan.inner:
        return every_row_leaves(plan)
    if len(plan.sources) == 1 or source.has_rows_window:
        return True
    together: dict[str, list[JointCloser]] = {}
    for joint in plan.joint_closers:
        for alias in {ref.alias for refs in joint.partners for ref in refs} if joint.certain else ():
            together.setdefault(alias, []).append(joint)
    reached, new = {source.alias}, [source.alias]
    while new and len(reached) < len(plan.sources):
        alias = new.pop()
        if plan.by_alias[alias].has_rows_window:
            return True  # What was met there leaves by itself, whatever it waits for.
        closed = [*plan.closed_for.get(alias, ())]
        closed += [j.target for j in together.get(alias, ()) if j.within(frozenset(reached)) is not None]
        further = [target for target in dict.fromkeys(closed) if target not in reached]
        reached.update(further)
        new += further
    return reached == set(plan.aliases)


def _unkept_distinct(plan: Plan, figure: StateFigure) -> Reason | None:
    """DISTINCT forgets a row when a clock passes an output column that is its event time or a cut of it, or by a
    punctuation.
    """
    if figure.means != Means.PURGE:
        return None
    if recovers(plan):
        return WhyUnkept.UNDER_RECOVER("(distinct)")
    for source in plan.sources:
        given = {c.output for c in plan.selected}
        shown = [o.column for o in plan.outputs if o.alias == source.alias and o.name in given]
        shown += [ref.column for c in plan.selected for ref in c.clocks if ref.alias == source.alias]
        clocks = {p.columns[0] for p in _orders(plan) if p.alias == source.alias}
        is_passed = any(column in clocks and plan.is_clock(source.alias, column) for column in shown)
        if is_passed and _leaves(plan, source):
            return None
    if _forgets_by_punctuation(plan):
        return None
    return WhyUnkept.DISTINCT()


def _unkept_groups(plan: Plan, figure: StateFigure) -> Reason | None:
    """A group is forgotten when the clock of a stream passes a column of it that is its event time."""
    assert plan.aggregate is not None
    if figure.means != Means.PURGE:
        return None
    if recovers(plan):
        return WhyUnkept.UNDER_RECOVER("(groups)")
    clocks = {(clock.alias, clock.column) for key in plan.aggregate.keys for clock in key.clocks}
    ordered = {(p.alias, p.columns[0]) for p in _orders(plan)}
    if any(_leaves(plan, plan.by_alias[alias]) for alias, _ in clocks & ordered):
        return None
    if _forgets_by_punctuation(plan):
        return None
    return WhyUnkept.GROUPS()


def _forgets_by_punctuation(plan: Plan) -> bool:
    """Whether punctuations close each row or group, and the rows of their stream leave."""
    return any(_leaves(plan, plan.by_alias[closer.alias]) for closer in plan.item_closers)


def _orders(plan: Plan) -> Iterator[PromisePlan]:
    return (p for p in plan.promises if p.kind in CLOCKS)


def every_row_leaves(plan: Plan) -> bool:
    """Whether every row leaves every node, and every block, in the end."""
    assert not plan.inner
    beyond = [() if node.block is None else node.block.beyond for node in plan.tree.nodes]
    counted = frozenset(source.alias for source in plan.sources if source.has_rows_window)

    def closes(there: frozenset[str], target: str) -> bool:
        return any(c.certain and c.source in there and c.target == target for c in plan.closers) or any(
            c.certain and c.target == target and c.within(there) is not None for c in plan.joint_closers
        )

    return next(Leaving(plan.tree.nodes, beyond, counted).stuck(closes), None) is None
