"""A query: its sources, how they are joined, what it keeps of them, and what it gives.

The FROM clause is a tree of joins, because outer joins do not commute. `Query.holding` answers the one question that
the analyses ask of that tree: if tuples of these streams stand together in a result, which predicates hold there?
For inner joins it is always all of them; the ON of an outer join holds only where its optional side is matched.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property

from penstock.model.clauses import Formula, Output, Scalar, Source, TimeWindow, Top
from penstock.model.expressions import ColumnRef
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.predicates import Equalities, Predicate, aliases_of, rejects_null
from penstock.model.problem import require
from penstock.model.query_rules import query_problems
from penstock.model.relation import (
    Block,
    Distinct,
    Existence,
    FromTree,
    Group,
    Join,
    JoinKind,
    Project,
    block_of,
    certain,
    joins,
    leaves,
)
from penstock.model.types import DataType
from penstock.records import record


@record
class Holding:
    """What is certain where tuples of some streams stand together: who else is there, and which predicates hold."""

    present: frozenset[str]
    predicates: tuple[Predicate, ...]


@record
class Query:
    """A continuous query: a relation over its sources, with a name, a sink, and hints."""

    name: str
    sink: str | None
    sources: tuple[Source, ...]
    """Those of FROM, in their order."""
    relation: Project | Group | Distinct
    partners: tuple[Source, ...] = ()
    """Those of EXISTS and NOT EXISTS."""
    hints: Hints = NO_HINTS
    appends: bool = False
    """Whether what it gives is only added to: it feeds a sink that only appends, or a block above."""

    def __post_init__(self) -> None:
        require(query_problems(self))

    @classmethod
    def select(
        cls, name: str, sources: tuple[Source, ...], block: Block, *, sink: str | None = None, hints: Hints = NO_HINTS
    ) -> Query:
        """The query that a block over these sources is."""
        partners = tuple(existence.source for existence in block.existences)
        return cls(name, sink, sources, block.relation, partners, hints)

    def with_block(self, block: Block, sources: tuple[Source, ...] | None = None) -> Query:
        """The query with another block, or over other sources."""
        query = Query.select(self.name, sources or self.sources, block, sink=self.sink, hints=self.hints)
        return replace(query, appends=True) if self.appends else query

    @cached_property
    def block(self) -> Block:
        """Its relation taken apart."""
        return block_of(self.relation, self.by_alias)

    @property
    def tree(self) -> FromTree:
        """The joins of FROM."""
        return self.block.tree

    @property
    def where(self) -> tuple[Predicate, ...]:
        """The conditions of WHERE."""
        return self.block.where

    @property
    def existences(self) -> tuple[Existence, ...]:
        """The EXISTS and NOT EXISTS of WHERE."""
        return self.block.existences

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The columns of the answer, or of the groups that it is made of."""
        return self.block.outputs

    @property
    def distinct(self) -> bool:
        """Whether each row is given once."""
        return self.block.distinct

    @property
    def group_by(self) -> tuple[Scalar, ...]:
        """The keys of the groups."""
        return self.block.group_by

    @property
    def grouping_sets(self) -> tuple[tuple[int, ...], ...]:
        """Where there are groups by several sets of the keys: the numbers of the keys of each; else none."""
        return self.block.sets

    @cached_property
    def sure_keys(self) -> tuple[Scalar, ...]:
        """The keys that every group has a value of: all, but where sets leave some out."""
        sets = self.grouping_sets
        return tuple(key for n, key in enumerate(self.group_by) if all(n in members for members in sets))

    @property
    def having(self) -> Formula | None:
        """The condition of the groups that are given."""
        return self.block.having

    @property
    def top(self) -> Top | None:
        """How many rows each group gives, if it gives its rows."""
        return self.block.top

    @cached_property
    def all_sources(self) -> tuple[Source, ...]:
        """The sources of FROM in their order, then those of EXISTS and NOT EXISTS."""
        return self.sources + self.partners

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
        return tuple(named[s] if isinstance(s, str) else s for s in self.block.shown) or self.outputs

    @property
    def is_grouped(self) -> bool:
        """Whether it aggregates."""
        return self.block.is_grouped

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """All predicates, wherever they stand: those of sources, of FROM, of WHERE, of EXISTS."""
        found: list[Predicate] = [p for source in self.all_sources for p in source.where]
        found += [p for join in joins(self.tree) for p in join.on]
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
        held += [p for source in self.all_sources if source.alias in present for p in source.where]
        held += self.where
        return Holding(frozenset(present), tuple(held))

    def equalities(self, together: frozenset[str]) -> Equalities:
        """The columns that are equal wherever these sources stand together."""
        return self._holding(self._asked(together))[1]


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
