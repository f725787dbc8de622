"""How the second stage tells results apart: DISTINCT is GROUP BY all that it shows, without measures.

A group of DISTINCT is given once, when it begins, and remembered only so that it is not given again. Where SELECT has
expressions, Spark has evaluated them before the second stage, and the groups are those of SELECT; otherwise they are
of the columns that the cells hand out. A column that is the event time of its stream closes the groups that the
frontier of that stream has passed.
"""

from __future__ import annotations

from penstock.model.expressions import ColumnRef
from penstock.plan.aggregate import AggregatePlan, GroupKey
from penstock.plan.plan import Plan
from penstock.plan.plan_reasons import HowGrouped


def grouping(plan: Plan) -> AggregatePlan:
    """The groups of a query with a second stage."""
    if plan.aggregate is not None:
        return plan.aggregate
    columns = {name: given for given, name in names_of_outputs(plan).items()}
    names = [c.name for c in plan.selected] if plan.distinct_over_expressions else list(columns)
    clocks = {
        o.name: ColumnRef(o.alias, o.column) for o in plan.outputs if plan.by_alias[o.alias].event_time == o.column
    }
    keys = tuple(
        GroupKey(name, name, None, None, (clocks[given],) if (given := columns.get(name)) in clocks else ())
        for name in names
    )
    return AggregatePlan(keys, (), (), (), emits_once=False, tree=None, by_latest=False, how=HowGrouped.EACH_ONCE())


def names_of_outputs(plan: Plan) -> dict[str, str]:
    """What the columns that the cells hand out are called in the second stage, as far as it has them as they are."""
    if plan.aggregate is None and plan.distinct_over_expressions:
        return {c.output: c.name for c in plan.selected if c.output is not None}
    return {o.name: o.name for o in plan.outputs}
