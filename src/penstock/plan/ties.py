"""What ties rows of different streams together, and in which order the purge rule looks at them: parts of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Op


@dataclass(frozen=True)
class KeyAxis:
    """Columns that are equal in every result: one axis of the cells."""

    columns: tuple[ColumnRef, ...]

    def __str__(self) -> str:
        return " = ".join(str(ref) for ref in self.columns)

    def column(self, alias: str) -> str | None:
        """The column of that alias, if it has the axis; where it has several, the first."""
        return next((ref.column for ref in self.columns if ref.alias == alias), None)


@dataclass(frozen=True)
class PairPredicate:
    """A condition between two streams that is no equality: `left op right`, or `left - right op ticks`."""

    left: ColumnRef
    op: Op
    right: ColumnRef
    ticks: int | None
    text: str


@dataclass(frozen=True)
class PurgeEdge:
    """From a tuple to the stream looked at next."""

    parent: str
    child: str


@dataclass(frozen=True)
class PurgeTree:
    """The order in which the purge rule asks whether a tuple of `root` is useless: every other stream once."""

    root: str
    edges: tuple[PurgeEdge, ...]
    certain: bool
    """Whether every edge has a certain closer, so that every tuple of the root leaves in the end."""

    def children(self, alias: str) -> tuple[str, ...]:
        """The streams looked at from a tuple of that stream."""
        return tuple(edge.child for edge in self.edges if edge.parent == alias)
