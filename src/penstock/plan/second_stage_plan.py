"""What the second stage tells apart, and which punctuations let it forget.

**Groups.** How the second stage tells results apart: DISTINCT is GROUP BY all that it shows, without measures.

A group of DISTINCT is given once, when it begins, and remembered only so that it is not given again. Where SELECT has
expressions, Spark has evaluated them before the second stage, and the groups are those of SELECT; otherwise they are
of the columns that the cells hand out. A column that is the event time of its stream, or a cut of it (`date_trunc`),
closes the groups that the frontier of that stream has passed.

**Punctuated items.** Which punctuations close what DISTINCT or GROUP BY remembers (SAFETY, Example 1).

Theorem: if a stream stands in every result, all columns of one of its punctuations are in each item (a group, or a row
that DISTINCT gave), and the punctuation has come, then no result can bring that item again once no row of the stream
with these values is stored. So each cell says of every such punctuation whether it still stores one, and the second
stage forgets the item when none does (`runtime/promise/items.py`).

Preconditions: the punctuation has no LIFESPAN, after which its values may come again; no column is a FLOAT or DOUBLE,
where 0.0 = -0.0 are two items. Not decided: items that only an expression of the columns tells apart.
"""

from __future__ import annotations

from penstock.model.closed_groups import column_among
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.plan.aggregate import AggregatePlan, GroupKey
from penstock.plan.parts import ItemCloser
from penstock.plan.plan import OutputColumn, Plan, SourcePlan
from penstock.plan.plan_reasons import HowGrouped
from penstock.plan.promise_plans import PromiseKind, PromisePlan


def grouping(plan: Plan) -> AggregatePlan:
    """The groups of a query with a second stage."""
    if plan.aggregate is not None:
        return plan.aggregate
    columns = {name: given for given, name in names_of_outputs(plan).items()}
    names = [c.name for c in plan.selected] if plan.distinct_over_expressions else list(columns)
    clocks = {o.name: ColumnRef(o.alias, o.column) for o in plan.outputs if plan.is_clock(o.alias, o.column)}
    cuts = {c.name: c for c in plan.selected if c.cut is not None} if plan.distinct_over_expressions else {}
    keys = tuple(
        GroupKey(name, name, None, None, cuts[name].clocks, cuts[name].cut)
        if name in cuts
        else GroupKey(name, name, None, None, (clocks[given],) if (given := columns.get(name)) in clocks else ())
        for name in names
    )
    return AggregatePlan(keys, (), (), (), emits_once=False, tree=None, by_latest=False, how=HowGrouped.EACH_ONCE())


def names_of_outputs(plan: Plan) -> dict[str, str]:
    """What the columns that the cells hand out are called in the second stage, as far as it has them as they are."""
    if plan.aggregate is None and plan.distinct_over_expressions:
        return {c.output: c.name for c in plan.selected if c.output is not None}
    return {o.name: o.name for o in plan.outputs}


def item_closers(
    query: Query,
    promises: tuple[PromisePlan, ...],
    sources: tuple[SourcePlan, ...],
    outputs: tuple[OutputColumn, ...],
    aggregate: AggregatePlan | None,
) -> tuple[ItemCloser, ...]:
    """The punctuations that let the second stage forget, in the order of the promises."""
    held = _columns_of_items(query, outputs, aggregate)
    kept = {source.alias: set(source.kept) for source in sources}
    found = []
    for number, promise in enumerate(promises):
        if promise.kind is not PromiseKind.PUNCTUATED or promise.high is not None or promise.alias not in query.core:
            continue
        same = [column_among(query, ColumnRef(promise.alias, column), [*held]) for column in promise.columns]
        if promise.columns and None not in same and kept[promise.alias].issuperset(promise.columns):
            known = tuple(held[ref] for ref in same if ref is not None)
            found.append(ItemCloser(promise.alias, number, promise.columns, known))
    return tuple(found)


def _columns_of_items(
    query: Query, outputs: tuple[OutputColumn, ...], aggregate: AggregatePlan | None
) -> dict[ColumnRef, str]:
    """The columns of the streams that items hold as they are, and what they are called there."""
    if aggregate is not None:
        named = zip(query.group_by, aggregate.keys, strict=True)
        return {key: of.name for key, of in named if isinstance(key, ColumnRef) and key in query.sure_keys}
    if query.distinct:
        given = {o.value for o in query.outputs if isinstance(o.value, ColumnRef)}
        return {ref: o.name for o in outputs if (ref := ColumnRef(o.alias, o.column)) in given}
    return {}
