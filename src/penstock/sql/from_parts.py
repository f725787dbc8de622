"""What FROM is made of while it is bound: where a part stands in it, what is known of one, and the sources of a query.

A source has an alias in the model that is its own in the whole query; what a user names may be another: of a query that
is inlined, or of one inside EXISTS whose alias stands outside too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.model.clauses import Source, Union
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree
from penstock.model.stream import Stream
from penstock.records import record
from penstock.sql.from_grammar import UNNAMED
from penstock.sql.scope import NamedColumns, Scope, Visible
from penstock.sql.source import SourceText
from penstock.sql.tree import FromElements, FromItem, FromJoin, FromPart, FromQuery, Stretch, WrittenJoin


class AskedOfJoins(Exception):
    """What WHERE asks of a table is about the answer of the joins, so these must be a block (`late_tables`)."""


@record
class Position:
    """Where in FROM something stands."""

    lifts: bool = True
    """Whether a condition on it may be moved to the WHERE above."""
    may_be_absent: bool = False
    """Whether an outer join may leave it out of a row."""
    is_alone: bool = False
    """Whether FROM holds nothing else."""
    is_one: bool = False
    """Whether it is to be one source: what a SEMI or an ANTI JOIN looks into."""

    def sides(self, kind: WrittenJoin) -> tuple[Position, Position]:
        """The positions of the two sides of a join that stands here."""
        kept = replace(self, is_alone=False, is_one=False)
        absent = Position(lifts=False, may_be_absent=True)
        match kind:
            case WrittenJoin.INNER:
                return kept, kept
            case WrittenJoin.LEFT:
                return kept, absent
            case WrittenJoin.RIGHT:
                return absent, kept
            case WrittenJoin.FULL:
                return absent, absent
            case WrittenJoin.SEMI | WrittenJoin.ANTI:
                return kept, Position(lifts=False, is_one=True)


@record
class Part:
    """A part of FROM, bound: its joins, what can be named of it, and what is to be tested above the joins."""

    tree: FromTree
    tables: Mapping[str, NamedColumns]
    merged: tuple[Visible, ...] = ()
    where: tuple[Predicate, ...] = ()
    existences: tuple[Existence, ...] = ()
    made: tuple[Visible, ...] = ()
    """Times that were made columns since the query has windows of them, by their texts (`made_times`)."""

    def scope(self, source: SourceText, **more: object) -> Scope:
        """What can be named of it."""
        return Scope(source, self.tables, merged=self.merged, made=self.made, **more)  # type: ignore[arg-type]


@dataclass
class Sources:
    """The sources of the query that is being bound, by their aliases in the model, and where they stand."""

    by_alias: dict[str, Source] = field(default_factory=dict)
    places: dict[str, Stretch] = field(default_factory=dict)
    places_of_conditions: dict[str, Stretch] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    """Folded aliases that the query itself uses, which nothing else may take."""

    def add(self, stream: Stream, at: Stretch, wanted: str, inside: str | None, **more: object) -> str:
        """Add a source under an alias of its own: the one wanted, unless it is inside of something and taken."""
        alias, number = wanted, 1
        taken = self._taken(inside is not None)
        while fold(alias) in taken:
            number += 1
            alias = f"{inside}_{wanted}" if inside and number == 2 else f"{wanted}_{number}"
        self.by_alias[alias] = appending(Source(stream, alias, **more))  # type: ignore[arg-type]
        self.places[alias] = at
        return alias

    def free_alias(self, wanted: str) -> str:
        """An alias that nothing in the query has, and nothing else will."""
        alias, number = wanted, 1
        while fold(alias) in self._taken(True):
            number += 1
            alias = f"{wanted}_{number}"
        self.reserved.add(fold(alias))
        return alias

    def _taken(self, is_inside: bool) -> set[str]:
        return {fold(known) for known in self.by_alias} | (self.reserved if is_inside else set())


def appending(source: Source) -> Source:
    """A source whose blocks only append: groups that promises close are given once."""
    match source.below:
        case Query() as query:
            return replace(source, below=replace(query, appends=True))
        case Union(members=members):
            return replace(source, below=replace(source.below, members=tuple(map(appending, members))))
        case _:
            return source


def items_of(part: FromPart) -> list[FromItem | FromQuery]:
    """The streams and queries of FROM, from left to right."""
    match part:
        case FromJoin(left=left, right=right):
            return [*items_of(left), *items_of(right)]
        case FromElements(rows=rows):
            return items_of(rows)
        case _:
            return [part]


def alias_of(item: FromItem | FromQuery) -> str:
    """What it goes by."""
    if item.alias is not None:
        return item.alias.text
    return item.stream.text if isinstance(item, FromItem) else UNNAMED
