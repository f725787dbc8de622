"""What a BUDGET asks for (SHED): the limit, who is evicted first, what a result is worth. Inert data.

Obeyed by runtime/evict. A limit in rows bounds stored copies and promise rows; one in bytes bounds statistics too.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.hints import DEFAULT_POLICY, Budget
from penstock.model.query import Query, RowsWindow
from penstock.plan.arrival import counts_by_arrival

_BYTES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@dataclass(frozen=True)
class ValuePlan:
    """VALUE(expr): what a result is worth, an expression over the columns of one stream, for Spark to evaluate."""

    alias: str
    text: str
    """Columns are named with the alias."""


@dataclass(frozen=True)
class EvictPlan:
    """A budget for the state of the whole query, and how it is kept. One of rows and bytes is set."""

    rows: int | None
    bytes: int | None
    policy: str
    value: ValuePlan | None
    archive: str | None
    """Where evicted rows go, and what they would have met."""
    shed_input: bool
    """Whether rows may be dropped before the join when batches fall behind."""
    text: str

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


def evict_plan(query: Query) -> EvictPlan | None:
    """How the query's budget is kept; None where it has none."""
    hints = query.hints
    if hints.budget is None:
        return None
    value = hints.value
    aliases = sorted({ref.alias for ref in value.columns}) if value is not None else []
    return EvictPlan(
        hints.budget.rows,
        bytes_of(hints.budget),
        hints.evict or DEFAULT_POLICY,
        ValuePlan(aliases[0], value.text) if value is not None and aliases else None,
        hints.archive,
        hints.shed_input,
        f"at most {hints.budget}; over it, {_WHO[hints.evict or DEFAULT_POLICY]} are evicted first",
    )


def budget_obstacles(query: Query) -> list[str]:
    """What of a BUDGET the engine cannot hold."""
    found = []
    budget, value = query.hints.budget, query.hints.value
    if not query.is_inner:
        found.append("a BUDGET is held for inner joins only: without a row that was evicted, others would go unmatched")
    if query.distinct or query.is_grouped:
        found.append("a BUDGET is held for joins only: DISTINCT or GROUP BY would forget what it has seen")
    if budget is not None and budget.rows is None and counts_by_arrival(query):
        found.append("where rows wait for the slowest stream a BUDGET is held in ROWS only")
    if query.hints.archive is not None and any(isinstance(s.window, RowsWindow) for s in query.all_sources):
        found.append("an ARCHIVE cannot be joined later where a window counts rows")
    if value is not None and len({ref.alias for ref in value.columns}) != 1:
        found.append("VALUE is taken over the columns of one stream only")
    return found


_WHO = {
    "gain": "rows with the least results to come for the room that they take",
    "prob": "rows whose key is least frequent on the streams that they meet",
    "life": "rows whose key's frequency times their remaining life is least",
    "rand": "rows drawn at random",
}


def bytes_of(budget: Budget) -> int | None:
    """The limit in bytes, if that is how it is given."""
    return budget.amount * _BYTES[budget.unit] if budget.unit in _BYTES else None
