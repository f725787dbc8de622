"""A query: its sources, how they are joined, what it keeps of them, and what it gives.

The FROM clause is a tree of joins, because outer joins do not commute. `Query.holding` answers the one question that
the analyses ask of that tree: if tuples of these streams stand together in a result, which predicates hold there?
For inner joins it is always all of them; the ON of an outer join holds only where its optional side is matched.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from penstock.model.clauses import (
    AGGREGATES,
    Aggregate,
    Existence,
    Formula,
    FromTree,
    Join,
    JoinKind,
    Leaf,
    Output,
    RangeWindow,
    RowsWindow,
    Scalar,
    Source,
    TimeWindow,
    columns_of,
    joins,
    leaves,
)
from penstock.model.closure import Equalities
from penstock.model.expressions import ColumnRef
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.predicates import Predicate, aliases_of, rejects_null
from penstock.model.problem import require
from penstock.model.query_rules import predicate_problem, query_problems
from penstock.model.types import DataType

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Existence",
    "Formula",
    "FromTree",
    "Holding",
    "Join",
    "JoinKind",
    "Leaf",
    "Output",
    "Query",
    "RangeWindow",
    "RowsWindow",
    "Scalar",
    "Source",
    "TimeWindow",
    "certain",
    "columns_of",
    "joins",
    "leaves",
    "matched",
    "predicate_problem",
]


@dataclass(frozen=True)
class Holding:
    """What is certain where tuples of some streams stand together: who else is there, and which predicates hold."""

    present: frozenset[str]
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True)
class Query:
    """A continuous query."""

    name: str
    sink: str | None
    sources: tuple[Source, ...]
    tree: FromTree
    outputs: tuple[Output, ...]
    where: tuple[Predicate, ...] = ()
    existences: tuple[Existence, ...] = ()
    distinct: bool = False
    group_by: tuple[Scalar, ...] = ()
    hints: Hints = NO_HINTS
    shown: tuple[str | Formula, ...] = ()
    """Where expressions over aggregates are given: the columns of the answer, outputs by their names. Then the outputs
    are the columns of the groups, those of formulas included; else they are the answer.
    """

    def __post_init__(self) -> None:
        require(query_problems(self))

    @cached_property
    def all_sources(self) -> tuple[Source, ...]:
        """The sources of FROM in their order, then those of EXISTS and NOT EXISTS."""
        return self.sources + tuple(e.source for e in self.existences)

    @cached_property
    def by_alias(self) -> dict[str, Source]:
        """The sources by their alias."""
        return {source.alias: source for source in self.all_sources}

    def type_of(self, ref: ColumnRef) -> DataType | None:
        """The type of a column."""
        return self.by_alias[ref.alias].stream.type_of(ref.column)

    @cached_property
    def answer(self) -> tuple[Output | Formula, ...]:
        """The columns of the answer."""
        named = {output.name: output for output in self.outputs}
        return tuple(named[s] if isinstance(s, str) else s for s in self.shown) or self.outputs

    @property
    def is_grouped(self) -> bool:
        """Whether it aggregates."""
        return bool(self.group_by) or any(isinstance(o.value, Aggregate) for o in self.outputs)

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """All predicates, wherever they stand: those of FROM, of WHERE, of EXISTS."""
        found: list[Predicate] = [p for join in joins(self.tree) for p in join.on]
        found += self.where
        found += [p for existence in self.existences for p in existence.condition]
        return tuple(found)

    @cached_property
    def is_inner(self) -> bool:
        """Whether every source has a tuple in every result."""
        return not self.existences and all(j.kind is JoinKind.INNER for j in joins(self.tree))

    @cached_property
    def windowed(self) -> frozenset[str]:
        """The sources whose time is grouped by in windows: a row without it is in none, so it is in no group."""
        return frozenset(key.column.alias for key in self.group_by if isinstance(key, TimeWindow))

    @cached_property
    def core(self) -> frozenset[str]:
        """The sources that have a tuple in every result."""
        return self.holding(frozenset()).present

    def holding(self, together: frozenset[str]) -> Holding:
        """What holds in every result (or row to be) in which tuples of these sources stand together."""
        return self._holding(self._asked(together))[0]

    def _asked(self, together: frozenset[str]) -> frozenset[str]:
        """What must be told apart of it: where all joins are inner ones, all sources always stand together."""
        return frozenset() if self.is_inner else together

    def _holding(self, together: frozenset[str]) -> tuple[Holding, Equalities]:
        cached: dict[frozenset[str], tuple[Holding, Equalities]] = self._held
        if together not in cached:
            found = self._hold(together)
            cached[together] = found, Equalities.of(found.predicates)
        return cached[together]

    @cached_property
    def _held(self) -> dict[frozenset[str], tuple[Holding, Equalities]]:
        return {}

    def _hold(self, together: frozenset[str]) -> Holding:
        present = set(together) | certain(self.tree) | self.windowed
        # A condition of WHERE that rejects NULL makes the streams it names present in every result.
        for predicate in self.where:
            if rejects_null(predicate):
                present |= aliases_of(predicate)
        held: list[Predicate] = []
        while True:
            before = len(present)
            held = []
            for join in joins(self.tree):
                if matched(join, present):
                    held += join.on
                    for side in (join.left, join.right):
                        present |= certain(side)
                    for predicate in join.on:
                        if rejects_null(predicate):
                            present |= aliases_of(predicate)
            for existence in self.existences:
                if existence.source.alias in present:
                    held += existence.condition
                    for predicate in existence.condition:
                        if rejects_null(predicate):
                            present |= aliases_of(predicate)
            if len(present) == before:
                break
        held += self.where
        return Holding(frozenset(present), tuple(held))

    def equalities(self, together: frozenset[str]) -> Equalities:
        """The columns that are equal wherever these sources stand together."""
        return self._holding(self._asked(together))[1]


def certain(tree: FromTree) -> set[str]:
    """The aliases that have a tuple in every row of a part of FROM."""
    if isinstance(tree, Leaf):
        return {tree.alias}
    left = certain(tree.left) if tree.kind in (JoinKind.INNER, JoinKind.LEFT) else set()
    right = certain(tree.right) if tree.kind in (JoinKind.INNER, JoinKind.RIGHT) else set()
    return left | right


def matched(join: Join, present: AbstractSet[str]) -> bool:
    """Whether, with these present, the row is one where the two sides of the join matched."""
    left = not present.isdisjoint(leaves(join.left))
    right = not present.isdisjoint(leaves(join.right))
    match join.kind:
        case JoinKind.INNER:
            return left or right
        case JoinKind.LEFT:
            return right
        case JoinKind.RIGHT:
            return left
        case JoinKind.FULL:
            return left and right
