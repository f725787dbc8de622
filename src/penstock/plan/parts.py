"""Small parts of a plan, inert data: what ties rows of different streams and in which order the purge rule looks at
them; how closely the k of constraints is watched; the punctuations that close what the second stage remembers.

c, p and W of the monitoring are those of KMON sections 4.3, 5.3 and 6.3. Which punctuations close items is found by
`second_stage_plan.py`.
"""

from __future__ import annotations

from penstock.model.core_terms import CoreTerm
from penstock.model.expressions import ColumnRef
from penstock.model.hints import Hints
from penstock.model.predicates import Op
from penstock.records import record


@record
class KeyAxis:
    """Columns that are equal in every result: one axis of the cells."""

    columns: tuple[ColumnRef, ...]

    def __str__(self) -> str:
        return " = ".join(str(ref) for ref in self.columns)

    def column(self, alias: str) -> str | None:
        """The column of that alias, if it has the axis; where it has several, the first."""
        return next((ref.column for ref in self.columns if ref.alias == alias), None)


@record
class PairPredicate:
    """A condition between two streams that is no equality: `left op right`, or `left - right op ticks`."""

    left: ColumnRef
    op: Op
    right: ColumnRef
    ticks: int | None
    text: str


@record
class ConditionPlan:
    """A condition on several streams, or on none, that the core evaluates on rows that have met."""

    text: str
    term: CoreTerm

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads, each once."""
        found, waiting = dict[ColumnRef, None](), [self.term]
        while waiting:
            term = waiting.pop()
            waiting += term.arguments
            found |= {} if term.column is None else {term.column: None}
        return tuple(sorted(found))

    @property
    def aliases(self) -> frozenset[str]:
        """The streams that it is about."""
        return frozenset(ref.alias for ref in self.columns)


@record
class PurgeEdge:
    """From a tuple to the stream looked at next."""

    parent: str
    child: str


@record
class PurgeTree:
    """The order in which the purge rule asks whether a tuple of `root` is useless: every other stream once."""

    root: str
    edges: tuple[PurgeEdge, ...]
    certain: bool
    """Whether every edge has a certain closer, so that every tuple of the root leaves in the end."""

    def children(self, alias: str) -> tuple[str, ...]:
        """The streams looked at from a tuple of that stream."""
        return tuple(edge.child for edge in self.edges if edge.parent == alias)


DEFAULT_FACTOR, DEFAULT_PROBABILITY, DEFAULT_WINDOW = 1.2, 0.01, 1000
"""c, p and W without MONITOR: what KMON used for CLUSTERED and ORDERED."""


@record
class MonitorPlan:
    """`MONITOR(c, p, W)`, or its defaults."""

    factor: float
    """c: a rise of k up to c times the k in force is surely seen."""
    probability: float
    """p: of the rows beyond that, this share is remembered to see larger rises."""
    window: int
    """W: a lower k is adopted once it held for so many arrivals."""
    declared: bool
    """Whether a declared k is monitored like a learned one: only where the query says MONITOR."""


def monitor_plan(hints: Hints) -> MonitorPlan:
    """The monitoring that a query asks for."""
    asked = hints.monitor
    if asked is None:
        return MonitorPlan(DEFAULT_FACTOR, DEFAULT_PROBABILITY, DEFAULT_WINDOW, False)
    return MonitorPlan(float(asked.factor), float(asked.probability), asked.window, True)


@record
class ItemCloser:
    """Punctuations of a stream, by the number of their promise, and the columns of the items that hold their values."""

    alias: str
    promise: int
    columns: tuple[str, ...]
    names: tuple[str, ...]
    """Of the groups' keys; for DISTINCT, of the columns that the core hands out."""
