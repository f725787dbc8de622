"""What this version's engine cannot do yet of what `check` and `explain` understand; said before a query starts.

A query that cannot be run at all has `obstacles`. One that can, but whose stated bound rests on a move that the engine
does not make yet (merging rows, learning a k), has `unkept_bounds`: its answer is right and its state may grow.
"""

from __future__ import annotations

from penstock.model.predicates import ColumnRef
from penstock.model.query import Query, RowsWindow
from penstock.plan.plan import Plan, SourcePlan


def obstacles(query: Query) -> tuple[str, ...]:
    """Why the engine cannot run the query at all."""
    found = []
    if not query.is_inner:
        found.append("outer joins and EXISTS cannot be run yet")
    if query.is_grouped:
        found.append("GROUP BY and aggregates cannot be run yet")
    if query.hints.budget is not None:
        found.append("a BUDGET cannot be held yet")
    windows = [source.window for source in query.all_sources]
    ordered = all(source.stream.arrival is not None for source in query.all_sources)
    if ordered and len(windows) > 1 and any(isinstance(w, RowsWindow) for w in windows):
        found.append("[ROWS n] in the order of ARRIVES BY cannot be run yet: rows read ahead would have to wait")
    if query.distinct and not all(isinstance(o.value, ColumnRef) for o in query.outputs):
        found.append("DISTINCT over an expression cannot be run yet; derive a column in CREATE STREAM")
    return tuple(found)


def unkept_bounds(plan: Plan) -> tuple[str, ...]:
    """The streams whose bound `check` states and the engine does not keep yet."""
    return tuple(why for source in plan.sources if (why := _unkept(plan, source)) is not None)


def _unkept(plan: Plan, source: SourcePlan) -> str | None:
    if source.state.verdict != "bounded" or source.state.rows == 0:
        return None
    if source.window is not None and source.window.rows is not None:
        return None
    if any(tree.root == source.alias and tree.certain for tree in plan.purge_trees):
        return None
    return f"the bound of {source.alias} needs merging rows or learning a k (WITHIN AUTO), which cannot be done yet"
