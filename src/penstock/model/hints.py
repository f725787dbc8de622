"""What a query allows or asks for in `/*+ … */`."""

from __future__ import annotations

from decimal import Decimal

from penstock.model.expressions import Expression
from penstock.records import record

EVICTION_POLICIES = ("gain", "prob", "life", "rand")
DEFAULT_POLICY = "gain"
"""What EVICT is where it is left out; see docs/budget.md for what it was measured against."""
BUDGET_UNITS = ("ROWS", "KB", "MB", "GB")


@record
class Budget:
    """`BUDGET(n ROWS | KB | MB | GB)`: a hard limit on the state of the query."""

    amount: int
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in BUDGET_UNITS:
            raise ValueError(f"a budget is counted in {', '.join(BUDGET_UNITS)}, not in {self.unit}")
        if self.amount < 1:
            raise ValueError("a budget must be at least 1")

    @property
    def rows(self) -> int | None:
        """The limit in rows, if that is how it is given."""
        return self.amount if self.unit == "ROWS" else None

    def __str__(self) -> str:
        return f"{self.amount} {self.unit}"


@record
class ErrorAllowance:
    """`ERROR(p PERCENT [WITH BOUNDS])`: an answer may be off by so much, if that removes the join."""

    percent: Decimal
    with_bounds: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.percent <= 100:
            raise ValueError("an error is between 0 and 100 percent")


@record
class Monitoring:
    """`MONITOR(c, p, W)`: how closely k-constraints are watched (KMON sections 4.3 to 6.3)."""

    factor: Decimal
    probability: Decimal
    window: int

    def __post_init__(self) -> None:
        if self.factor < 1:
            raise ValueError("c, the factor up to which an increase of k is surely seen, is at least 1")
        if not 0 < self.probability <= 1:
            raise ValueError("p, the probability of sampling, is above 0 and at most 1")
        if self.window < 1:
            raise ValueError("W, the arrivals after which a decrease of k is adopted, is at least 1")


@record
class Hints:
    """All hints of a query; each at most once."""

    budget: Budget | None = None
    evict: str | None = None
    value: Expression | None = None
    value_factors: tuple[Expression, ...] = ()
    """Where VALUE is a product, what it is a product of: an expression for each stream."""
    archive: str | None = None
    shed_input: bool = False
    error: ErrorAllowance | None = None
    monitor: Monitoring | None = None

    def __post_init__(self) -> None:
        if self.evict is not None and self.evict not in EVICTION_POLICIES:
            raise ValueError(f"unknown policy {self.evict}; these are: {', '.join(EVICTION_POLICIES)}")
        for name, given in (("EVICT", self.evict), ("VALUE", self.value), ("ARCHIVE", self.archive)):
            if given is not None and self.budget is None and not self.shed_input:
                raise ValueError(f"{name} says what to do over a budget, and there is none; add BUDGET(n ROWS)")


NO_HINTS = Hints()
