"""From a grouped query to the plan of its two stages (MEMORY, section 8.2; DESIGN section 2, the second stage).

A sum, count, mean or extreme of a plain column is a **measure**: worked out below the join, and carried through it. The
columns that groups, expressions, count(DISTINCT) and median read are **carried**: results that differ in one are kept
apart until the second stage. An extreme of a stream of which only extreme rows are kept (section 7.2) is carried too.

Theorem: on a join tree (every key class is connected in it, and every other predicate is on an edge) the counts and
sums of all results are products and sums of what each edge hands on, so no result need be made. Such a tree is a
spanning tree of greatest weight, an edge weighing the key classes that it shares, with the pairs that predicates tie
put in first; there is one iff each class of n streams has n - 1 edges in it.

Under [RANGE d], which compares every two streams and so ties a circle, there is another way (`by_latest`). [ROWS n]
asks which row of a combination came last, so there results are made. Not decided here: whether the state is
bounded, and which rows are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.finding import Verdict
from penstock.analysis.reasons import Reason
from penstock.model.clauses import GROUPINGS, TOP, Aggregate, RangeWindow, RowsWindow, Scalar, TimeWindow, columns_of
from penstock.model.closed_groups import LAST_MOMENT, Cut, clocks_of, cut_of, emits_once, punctuates_groups
from penstock.model.expressions import ColumnRef, Expression, is_random
from penstock.model.graph import JoinGraph
from penstock.model.predicates import Comparison, Op, Predicate, aliases_of, written
from penstock.model.query import Query
from penstock.model.relation import Join, Leaf
from penstock.model.types import Kind
from penstock.plan.aggregate import (
    AggregateColumn,
    AggregatePlan,
    CalendarCut,
    Fold,
    FurtherArgument,
    GroupKey,
    KeySet,
    Measure,
    OrderColumn,
    TopPlan,
    TreeEdge,
    WindowColumn,
)
from penstock.plan.condition_moments import Moment, conditions_at, residuals
from penstock.plan.merge_rows import synopsis_of
from penstock.plan.plan import OutputColumn
from penstock.plan.plan_reasons import HowGrouped, PlanObstacle

_FOLDS = {"count": Fold.COUNT, "sum": Fold.SUM, "avg": Fold.SUM, "min": Fold.MIN, "max": Fold.MAX}


def carried_columns(query: Query, verdict: Verdict) -> list[ColumnRef]:
    """The columns by which the results of a grouped query are kept apart in the first stage."""
    refs = [*told_apart(query)]
    for aggregate in _aggregates(query):
        if _measure_of(aggregate, verdict) is None:
            refs += aggregate.columns
    return list(dict.fromkeys(refs))


def told_apart(query: Query) -> Iterator[ColumnRef]:
    """The columns of which a grouped query needs every value; of others a sum, a count or an extreme will do."""
    for key in query.group_by:
        if not isinstance(key, TimeWindow):
            yield from columns_of(key)
    for aggregate in _aggregates(query):
        if aggregate.tells_apart or isinstance(aggregate.argument, Expression):
            yield from aggregate.columns


def asked_ends(query: Query, alias: str) -> Iterator[tuple[str, bool]]:
    """The columns of a source of which the groups ask for the greatest (True) or the least."""
    for aggregate in _aggregates(query):
        if aggregate.function in ("min", "max"):
            yield from ((ref.column, aggregate.function == "max") for ref in aggregate.columns if ref.alias == alias)


def aggregate_plan(
    query: Query, verdict: Verdict, graph: JoinGraph, outputs: tuple[OutputColumn, ...]
) -> AggregatePlan | None:
    """The plan of the groups; None if the query has none."""
    if not query.is_grouped:
        return None
    named = {ColumnRef(o.alias, o.column): o.name for o in outputs}
    measures = _measures(query, verdict)
    windows = _windows(query)
    tree, how = _tree(query, graph)
    by_latest = _goes_by_latest(query, graph, tuple(measures))
    if by_latest:
        tree = None
        how = HowGrouped.LOOKED_UP()
    columns = tuple(
        _column(query, o.name, o.value, named, measures) for o in query.outputs if isinstance(o.value, Aggregate)
    )
    keys = tuple(_key(query, key, number, named, windows) for number, key in enumerate(query.group_by))
    if query.grouping_sets:
        keys = tuple(_left_out_at_times(query, key, number) for number, key in enumerate(keys))
    names = tuple(key.name for key in keys)
    return AggregatePlan(
        keys,
        columns,
        tuple(measures.values()),
        tuple(windows.values()),
        emits_once(query),
        tree,
        by_latest,
        how,
        _top(query, columns),
        tuple(
            KeySet(names, tuple(key.column if n in members else None for n, key in enumerate(keys)))
            for members in query.grouping_sets
        ),
    )


def _top(query: Query, columns: tuple[AggregateColumn, ...]) -> TopPlan | None:
    if query.top is None:
        return None
    found = {value: column.value for value, column in zip(_aggregates(query), columns, strict=True)}
    ordering = tuple(
        OrderColumn(name, by.descending, by.nulls_first)
        for by in query.top.ordering
        if (name := found.get(Aggregate(TOP, by.value))) is not None
    )
    values = dict.fromkeys(column.value for column in columns if column.value is not None)
    return TopPlan(query.top.most, ordering, tuple(values))


def grouping_obstacles(query: Query) -> Iterator[Reason]:
    """Why the groups of a query cannot be worked out."""
    for value in (*query.group_by, *(value for a in _aggregates(query) for value in a.arguments)):
        if isinstance(value, Expression) and is_random(value.term):
            yield PlanObstacle.MAY_DIFFER(value)
    windows = [key for key in query.group_by if isinstance(key, TimeWindow)]
    clocks = [clock for window in windows for clock in clocks_of(query, window)]
    is_passed = any(query.by_alias[clock.alias].stream.ordering(clock.column) for clock in clocks)
    if windows and not is_passed and not punctuates_groups(query):
        yield (PlanObstacle.NEVER_CLOSED(windows[0], windows[0].column))
    if query.top is not None and query.top.most > 1 and not emits_once(query):
        yield PlanObstacle.TOP_STAYS_OPEN(query.top.most)
    if query.top is not None and query.hints.budget is not None:
        yield PlanObstacle.TOP_WITH_BUDGET()
    if query.hints.budget is not None and any(window.is_session for window in windows):
        yield PlanObstacle.SESSION_WITH_BUDGET()
    if query.hints.budget is not None and query.grouping_sets:
        yield PlanObstacle.SETS_WITH_BUDGET()
    if query.appends and query.sink is not None and not emits_once(query):
        yield PlanObstacle.ONLY_APPENDS(query.sink)


def _aggregates(query: Query) -> Iterator[Aggregate]:
    return (o.value for o in query.outputs if isinstance(o.value, Aggregate))


def _measure_of(aggregate: Aggregate, verdict: Verdict) -> tuple[Fold, ColumnRef] | None:
    """What of it is worked out below the join."""
    ref = aggregate.argument
    fold = _FOLDS.get(aggregate.function)
    if not isinstance(ref, ColumnRef) or aggregate.distinct or fold is None:
        return None
    if fold in (Fold.MIN, Fold.MAX):
        synopsis = synopsis_of(verdict, ref.alias)
        if synopsis is not None and synopsis.extremes:
            return None
    return fold, ref


def _measures(query: Query, verdict: Verdict) -> dict[tuple[Fold, ColumnRef], Measure]:
    wanted = [found for a in _aggregates(query) if (found := _measure_of(a, verdict)) is not None]
    # A sum keeps its count.
    summed = {ref for fold, ref in wanted if fold is Fold.SUM}
    made: dict[tuple[Fold, ColumnRef], Measure] = {}
    for fold, ref in dict.fromkeys(wanted):
        if fold is Fold.COUNT and ref in summed:
            continue
        made[fold, ref] = Measure(f"__ps_m{len(made)}", fold, ref.alias, ref.column)
    return made


def _windows(query: Query) -> dict[TimeWindow, WindowColumn]:
    found: dict[TimeWindow, WindowColumn] = {}
    for key in query.group_by:
        if isinstance(key, TimeWindow):
            column, span = key.column, key.span.ticks
            length, step, gap = (1, 1, span) if key.is_session else (span, key.step, None)
            found[key.whole] = WindowColumn(
                f"__ps_w{len(found)}", column.alias, column.column, length, step, key.shift, gap
            )
    return found


def _key(
    query: Query,
    key: Scalar,
    number: int,
    named: Mapping[ColumnRef, str],
    windows: Mapping[TimeWindow, WindowColumn],
) -> GroupKey:
    match key:
        case TimeWindow():
            of = windows[key.whole]
            return GroupKey(of.name, str(key), None, of.ticks, clocks_of(query, key), gap=of.gap)
        case ColumnRef():
            return GroupKey(named[key], str(key), None, None, clocks_of(query, key))
        case Expression():
            cut = cut_of(key)
            of_clock = None if cut is None else calendar_cut(query, cut)
            return GroupKey(f"__ps_g{number}", str(key), key.text, None, clocks_of(query, key), of_clock)


def _left_out_at_times(query: Query, key: GroupKey, number: int) -> GroupKey:
    """A key under a name of its own; where it is NULL in some groups, no clock closes them."""
    clocks = key.clocks if query.group_by[number] in query.sure_keys else ()
    return replace(key, name=f"__ps_k{number}", of=key.name, clocks=clocks)


def calendar_cut(query: Query, cut: Cut) -> CalendarCut:
    """How the runtime cuts a clock as Spark cuts a column."""
    kind = query.type_of(cut.column)
    if cut.unit == LAST_MOMENT:
        return CalendarCut(cut.unit, False, "UTC")
    is_local = kind is None or kind.kind is not Kind.TIMESTAMP
    # A TIMESTAMP is cut in the session's zone, which is not known yet; what has no zone has its own dates.
    return CalendarCut(
        cut.unit,
        cut.gives_date,
        "UTC" if is_local and cut.gives_date else None,
        of_local=is_local and not cut.gives_date,
    )


def _kind(query: Query, argument: ColumnRef | Expression | None) -> str | None:
    return str(query.type_of(argument)) if isinstance(argument, ColumnRef) else None


def _left_out(query: Query, aggregate: Aggregate) -> tuple[int, ...]:
    """Of each set of keys whether it leaves out one, or a bit of each key, the first of all sets the highest."""
    sets = query.grouping_sets
    if aggregate.argument is not None:
        key = query.group_by.index(aggregate.argument)
        return tuple(int(key not in members) for members in sets)
    keys = [*dict.fromkeys(n for members in sets for n in members)]
    return tuple(sum((n not in members) << place for place, n in enumerate(reversed(keys))) for members in sets)


def _further(
    query: Query, argument: ColumnRef | Expression, name: str, named: Mapping[ColumnRef, str]
) -> FurtherArgument:
    if isinstance(argument, Expression):
        return FurtherArgument(name, argument.text, None)
    return FurtherArgument(named[argument], None, _kind(query, argument))


def _column(
    query: Query,
    name: str,
    aggregate: Aggregate,
    named: Mapping[ColumnRef, str],
    measures: Mapping[tuple[Fold, ColumnRef], Measure],
) -> AggregateColumn:
    """An aggregate: of a measure if it has one, else of values."""
    kind = _kind(query, aggregate.argument)
    text, function, ref = str(aggregate), aggregate.function, aggregate.argument
    if function in GROUPINGS:
        by_set = _left_out(query, aggregate)
        return AggregateColumn(name, text, function, False, None, None, None, None, by_set=by_set)
    if ref is None:
        return AggregateColumn(name, text, function, False, None, None, None, None)
    share = 0.5 if function == "median" else None if aggregate.share is None else float(aggregate.share)
    more = tuple(_further(query, argument, f"__ps_v{n}_{name}", named) for n, argument in enumerate(aggregate.more, 1))
    if isinstance(ref, Expression):
        value = f"__ps_v_{name}"
        return AggregateColumn(name, text, function, aggregate.distinct, None, value, ref.text, None, more, share)
    fold = None if aggregate.distinct else _FOLDS.get(function)
    measure = None if fold is None else measures.get((fold, ref))
    if measure is None and fold is Fold.COUNT:
        measure = measures.get((Fold.SUM, ref))
    if measure is None:
        return AggregateColumn(name, text, function, aggregate.distinct, None, named[ref], None, kind, more, share)
    return AggregateColumn(name, text, function, False, measure.name, None, None, kind)


def _tree(query: Query, graph: JoinGraph) -> tuple[tuple[TreeEdge, ...] | None, Reason]:
    aliases = graph.aliases
    if found := residuals(query):
        return None, HowGrouped.JOINED_FOR_CONDITION(written(found[0]))
    if not query.is_inner:
        return _outer_edge(query)
    if len(aliases) == 1:
        return (), HowGrouped.NO_JOIN()
    if any(isinstance(s.window, RowsWindow) for s in query.all_sources):
        return None, HowGrouped.JOINED_FOR_ROWS()
    tied = {tuple(sorted(aliases_of(p), key=aliases.index)) for p in _pair_predicates(query)}
    tied |= _range_pairs(query)
    shares = {(a, b): _shared(graph, a, b) for i, a in enumerate(aliases) for b in aliases[i + 1 :]}
    group = {alias: alias for alias in aliases}
    edges: list[TreeEdge] = []
    for one, other in sorted(shares, key=lambda pair: (pair not in tied, -shares[pair])):
        if group[one] != group[other]:
            edges.append(TreeEdge(one, other))
            left, right = group[one], group[other]
            group = {alias: left if own == right else own for alias, own in group.items()}
        elif (one, other) in tied:
            return None, HowGrouped.JOINED_FOR_CIRCLE(_named(tied))
    for axis in graph.key_classes:
        members = {ref.alias for ref in axis.columns}
        if sum(1 for edge in edges if {edge.one, edge.other} <= members) != len(members) - 1:
            return None, HowGrouped.JOINED_FOR_KEYS(graph.key_classes)
    hops = [HowGrouped.HOP(edge.one, edge.other) for edge in edges]
    return tuple(edges), HowGrouped.HANDED_ON(hops)


def _outer_edge(query: Query) -> tuple[tuple[TreeEdge, ...] | None, Reason]:
    """The edge of an outer join of two streams, if nothing is asked of its joined rows."""
    tree = query.tree
    if any(isinstance(s.window, RowsWindow) for s in query.all_sources):
        return None, HowGrouped.JOINED_FOR_ROWS()
    if query.existences or not (
        isinstance(tree, Join) and isinstance(tree.left, Leaf) and isinstance(tree.right, Leaf)
    ):
        return None, HowGrouped.JOINED_FOR_OUTER()
    if query.hints.budget is not None:
        return None, HowGrouped.JOINED_FOR_BUDGET()
    if conditions_at(query, Moment.RESULT):
        return None, HowGrouped.JOINED_FOR_WHERE()
    edge = TreeEdge(tree.left.alias, tree.right.alias)
    return (edge,), HowGrouped.MATCHES_COUNTED(edge.one, edge.other)


def _goes_by_latest(query: Query, graph: JoinGraph, measures: tuple[tuple[Fold, ColumnRef], ...]) -> bool:
    """Whether [RANGE d] is all that ties the streams beside keys that they share, and sums are exact."""
    sources = query.all_sources
    if len(sources) < 2 or not query.is_inner or [*_pair_predicates(query)] or residuals(query):
        return False
    if not any(isinstance(s.window, RangeWindow) for s in sources) or any(s.event_time is None for s in sources):
        return False
    if any(isinstance(s.window, RowsWindow) for s in sources):
        return False
    kinds = [query.type_of(ref) for fold, ref in measures if fold is Fold.SUM]
    is_exact = all(kind is None or kind.kind not in (Kind.FLOAT, Kind.DOUBLE) for kind in kinds)
    is_summed = all(fold in (Fold.COUNT, Fold.SUM) for fold, _ in measures)
    return (
        is_exact
        and is_summed
        and all({ref.alias for ref in axis.columns} == set(graph.aliases) for axis in graph.key_classes)
    )


def _named(tied: set[tuple[str, ...]]) -> list[str]:
    return sorted({alias for pair in tied for alias in pair})


def _pair_predicates(query: Query) -> Iterator[Predicate]:
    for predicate in query.predicates:
        is_equality = isinstance(predicate, Comparison) and predicate.op is Op.EQ
        if len(aliases_of(predicate)) == 2 and not is_equality:
            yield predicate


def _range_pairs(query: Query) -> set[tuple[str, ...]]:
    """[RANGE d] compares the event times of every two streams that have one."""
    if not any(isinstance(s.window, RangeWindow) for s in query.all_sources):
        return set()
    windowed = {s.alias for s in query.all_sources if isinstance(s.window, RangeWindow)}
    timed = [s.alias for s in query.all_sources if s.event_time is not None]
    return {(a, b) for i, a in enumerate(timed) for b in timed[i + 1 :] if {a, b} & windowed}


def _shared(graph: JoinGraph, one: str, other: str) -> int:
    return sum(1 for axis in graph.key_classes if {one, other} <= {ref.alias for ref in axis.columns})
