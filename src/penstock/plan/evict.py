"""What a BUDGET asks for (SHED): the limit, who is evicted first, what a result is worth. Inert data.

Obeyed by runtime/budget. A limit in rows bounds stored copies and promise rows; one in bytes bounds statistics too.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Reason
from penstock.model.clauses import RowsWindow
from penstock.model.expressions import Expression
from penstock.model.hints import DEFAULT_POLICY, Budget, Hints
from penstock.model.predicates import written
from penstock.model.query import Query
from penstock.model.relation import JoinKind, joins
from penstock.model.schemes import Follows
from penstock.model.spans import Auto
from penstock.plan.condition_moments import residuals
from penstock.plan.order_across_streams import counts_by_arrival
from penstock.plan.plan_reasons import Evicts, PlanObstacle
from penstock.records import record

BYTES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
BYTES_A_ROW = 64
"""What a stored row takes, about, where a budget in bytes must be thought of in rows."""


@record
class ValuePlan:
    """VALUE(expr), or a factor of it: an expression over the columns of one stream, for Spark to evaluate."""

    alias: str
    text: str
    """Columns are named with the alias."""


@record
class EvictPlan:
    """A budget for the state of the whole query, and how it is kept. One of rows and bytes is set."""

    rows: int | None
    bytes: int | None
    policy: str
    values: tuple[ValuePlan, ...]
    """What a result is worth: the product, a factor for each stream; empty where each is worth the same."""
    archive: str | None
    """Where evicted rows go, and what they would have met."""
    shed_input: bool
    """Whether rows may be dropped before the join when batches fall behind."""
    keeps: Reason
    """How much, and who goes first over it."""

    @property
    def unit(self) -> str:
        """What the limit counts."""
        return "ROWS" if self.rows is not None else "bytes"

    @property
    def limit(self) -> int:
        """The budget in its own unit."""
        limit = self.rows if self.rows is not None else self.bytes
        assert limit is not None
        return limit

    @property
    def about_rows(self) -> int:
        """The budget in rows, or about as many as its bytes hold."""
        return self.limit if self.rows is not None else self.limit // BYTES_A_ROW


def evict_plan(query: Query) -> EvictPlan | None:
    """How the query's budget is kept; None where it has none."""
    hints = query.hints
    if hints.budget is None:
        return None
    return EvictPlan(
        hints.budget.rows,
        bytes_of(hints.budget),
        hints.evict or DEFAULT_POLICY,
        tuple(ValuePlan(factor.columns[0].alias, factor.text) for factor in _factors(hints) if factor.columns),
        hints.archive,
        hints.shed_input,
        Evicts.OVER_BUDGET(hints.budget, _WHO[hints.evict or DEFAULT_POLICY]),
    )


def budget_obstacles(query: Query) -> list[Reason]:
    """What of a BUDGET the engine cannot hold."""
    found: list[Reason] = []
    budget, value = query.hints.budget, query.hints.value
    found += [PlanObstacle.CONDITION_UNDER_BUDGET(written(p)) for p in residuals(query)[:1]]
    if not query.is_inner:
        found += _outer_obstacles(query)
    if query.distinct or query.is_grouped:
        stage = "GROUP BY" if query.is_grouped else "DISTINCT"
        if query.hints.archive is not None:
            found.append(PlanObstacle.ARCHIVE_AFTER_STAGE(stage, stage))
    if budget is not None and budget.rows is None and counts_by_arrival(query):
        found.append(PlanObstacle.BYTES_BY_ARRIVAL())
    if query.hints.archive is not None and counts_by_arrival(query) and _counts_rows_in_windows(query):
        found.append(PlanObstacle.ARCHIVE_BY_ARRIVAL())
    if value is not None and any(len({ref.alias for ref in f.columns}) > 1 for f in _factors(query.hints)):
        found.append(PlanObstacle.VALUE_OF_SEVERAL(value))
    return found


def _outer_obstacles(query: Query) -> Iterator[Reason]:
    """What of a budget cannot be held yet under outer joins and EXISTS, and what to do instead."""
    if (named := _learned(query)) is not None and _gives_unmatched(query):
        yield (PlanObstacle.K_LEARNED_UNDER_BUDGET(named))
    if query.hints.archive is not None:
        yield (PlanObstacle.ARCHIVE_OF_OUTER())


def _learned(query: Query) -> str | None:
    """A FOLLOWS whose k is to be learned."""
    declared = ((scheme, source.stream.name) for source in query.all_sources for scheme in source.stream.schemes)
    return next((s.on(name) for s, name in declared if isinstance(s, Follows) and isinstance(s.within, Auto)), None)


def _gives_unmatched(query: Query) -> bool:
    outer = any(join.kind is not JoinKind.INNER for join in joins(query.tree))
    return outer or any(existence.negated for existence in query.existences)


def _counts_rows_in_windows(query: Query) -> bool:
    return any(isinstance(source.window, RowsWindow) for source in query.all_sources)


def _factors(hints: Hints) -> tuple[Expression, ...]:
    return hints.value_factors or (() if hints.value is None else (hints.value,))


_WHO = {
    "gain": Evicts.GAIN(),
    "prob": Evicts.PROB(),
    "life": Evicts.LIFE(),
    "rand": Evicts.RAND(),
}


def bytes_of(budget: Budget) -> int | None:
    """The limit in bytes, if that is how it is given."""
    return budget.amount * BYTES[budget.unit] if budget.unit in BYTES else None
