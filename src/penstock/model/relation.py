"""Relations: what a SELECT is made of, as a closed sum type, and the block that it is.

A relation is a source, or rows made of other relations: joined, filtered, kept where a partner exists or none does,
projected, grouped, made distinct. What may stand in what is in the types: joins hold sources and joins, conditions and
EXISTS stand above them, what is given stands on top. Sources are named by their aliases; the query has the table of
them, in the order of FROM, which re-ordered joins must not change (ties of arrival go by it).

A **block** is a maximal region of joins with what is made of its rows: the unit that is analysed, planned and run.
`block_of` takes one apart, and `Block.relation` puts it together again. What a block gives is a stream, so that a query
may become a tree of blocks: by one more kind of leaf in `FromTree`, whose rows another relation gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cached_property

from penstock.model.clauses import Aggregate, Formula, Output, Scalar, Source, Top, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Predicate
from penstock.records import record


class JoinKind(StrEnum):
    """How two parts of FROM are joined; a comma is INNER without a condition."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@record
class Leaf:
    """A source of the query, by its alias."""

    alias: str


@record
class Join:
    """Two parts of FROM joined."""

    kind: JoinKind
    left: FromTree
    right: FromTree
    on: tuple[Predicate, ...] = ()

    @cached_property
    def joins(self) -> tuple[Join, ...]:
        """The joins in it, inner ones first, itself last."""
        found, waiting = list[Join](), [self]
        while waiting:
            join = waiting.pop()
            found.append(join)
            waiting += [side for side in (join.left, join.right) if isinstance(side, Join)]
        return tuple(reversed(found))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The aliases in it, from left to right."""
        self._know_below("leaves")
        return leaves(self.left) + leaves(self.right)

    @cached_property
    def certain(self) -> frozenset[str]:
        """The aliases that have a tuple in every row of it."""
        self._know_below("certain")
        left = certain(self.left) if self.kind in (JoinKind.INNER, JoinKind.LEFT) else frozenset[str]()
        right = certain(self.right) if self.kind in (JoinKind.INNER, JoinKind.RIGHT) else frozenset[str]()
        return left | right

    def _know_below(self, name: str) -> None:
        """Have what is cached of each join in it known, inner ones first: hundreds of joins are no deep recursion."""
        for join in self.joins[:-1]:
            getattr(join, name)


FromTree = Leaf | Join
"""A region of joins."""


@record
class Filter:
    """The rows of which a condition is true."""

    rows: Rows
    condition: tuple[Predicate, ...]


@record
class SemiJoin:
    """The rows that have a partner, or, negated, those that have none: EXISTS and NOT EXISTS."""

    rows: Rows
    partner: Leaf
    on: tuple[Predicate, ...]
    negated: bool


Rows = Leaf | Join | Filter | SemiJoin
"""What stands below SELECT: FROM, and what is kept of it."""


@record
class Project:
    """A value or several of each row."""

    rows: Rows
    outputs: tuple[Output, ...]


@record
class Group:
    """A row for each group of rows that agree on the keys, or one row where there are no keys."""

    rows: Rows
    keys: tuple[Scalar, ...]
    outputs: tuple[Output, ...]
    """Columns of a group: keys, what follows from them, and aggregates."""
    shown: tuple[str | Formula, ...] = ()
    """Where not the outputs are given: the columns of the answer, outputs by their names."""
    having: Formula | None = None
    """The condition of the groups that are given."""
    top: Top | None = None
    """Where each group gives its first rows, and not one of its own."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Where there are groups by several sets of the keys, each with the others NULL: the numbers of their keys."""


@record
class Distinct:
    """Each row once."""

    rows: Project | Group


Relation = Rows | Project | Group | Distinct


def leaves(tree: FromTree) -> tuple[str, ...]:
    """The aliases of a part of FROM, from left to right."""
    return (tree.alias,) if isinstance(tree, Leaf) else tree.leaves


def certain(tree: FromTree) -> frozenset[str]:
    """The aliases that have a tuple in every row of a part of FROM."""
    return frozenset({tree.alias}) if isinstance(tree, Leaf) else tree.certain


def joins(tree: FromTree) -> tuple[Join, ...]:
    """The joins of a part of FROM, inner ones first."""
    return () if isinstance(tree, Leaf) else tree.joins


@record
class Existence:
    """`[NOT] EXISTS (SELECT … FROM source WHERE condition)`, of a block taken apart."""

    source: Source
    negated: bool
    condition: tuple[Predicate, ...] = ()


@record
class Block:
    """A block taken apart: what stands in FROM, what is kept of it, and what is made of that."""

    tree: FromTree
    outputs: tuple[Output, ...]
    where: tuple[Predicate, ...] = ()
    existences: tuple[Existence, ...] = ()
    distinct: bool = False
    group_by: tuple[Scalar, ...] = ()
    shown: tuple[str | Formula, ...] = ()
    having: Formula | None = None
    top: Top | None = None
    sets: tuple[tuple[int, ...], ...] = ()

    @property
    def is_grouped(self) -> bool:
        """Whether it aggregates."""
        aggregates = any(isinstance(output.value, Aggregate) for output in self.outputs)
        return aggregates or bool(self.group_by) or self.having is not None

    @property
    def columns(self) -> Iterator[ColumnRef]:
        """All that it names of its sources, where their own filters do not."""
        conditions = (*(join.on for join in joins(self.tree)), self.where, *(e.condition for e in self.existences))
        for condition in conditions:
            yield from (ref for predicate in condition for ref in predicate.columns)
        for value in (*(output.value for output in self.outputs), *self.group_by):
            yield from columns_of(value)
        for formula in (*self.shown, self.having):
            if isinstance(formula, Formula):
                yield from (ref for value in formula.values for ref in columns_of(value))
                yield from formula.columns
        for ordering in self.top.ordering if self.top is not None else ():
            yield from columns_of(ordering.value)

    @property
    def relation(self) -> Project | Group | Distinct:
        """The block put together; conditions and EXISTS commute, so conditions stand below."""
        rows: Rows = Filter(self.tree, self.where) if self.where else self.tree
        for existence in self.existences:
            rows = SemiJoin(rows, Leaf(existence.source.alias), existence.condition, existence.negated)
        head: Project | Group = Project(rows, self.outputs)
        if self.is_grouped:
            head = Group(rows, self.group_by, self.outputs, self.shown, self.having, self.top, self.sets)
        return Distinct(head) if self.distinct else head


def block_of(relation: Project | Group | Distinct, sources: Mapping[str, Source]) -> Block:
    """The block that a relation over these sources is."""
    head = relation.rows if isinstance(relation, Distinct) else relation
    where: tuple[Predicate, ...] = ()
    existences: tuple[Existence, ...] = ()
    rows = head.rows
    while not isinstance(rows, Leaf | Join):
        if isinstance(rows, Filter):
            where = (*rows.condition, *where)
        else:
            existences = (Existence(sources[rows.partner.alias], rows.negated, rows.on), *existences)
        rows = rows.rows
    block = Block(rows, head.outputs, where, existences, isinstance(relation, Distinct))
    if isinstance(head, Group):
        shown, having = head.shown, head.having
        return replace(block, group_by=head.keys, shown=shown, having=having, top=head.top, sets=head.sets)
    return block
