"""A query: its sources, how they are joined, what it keeps of them, and what it gives.

The FROM clause is a tree of joins, because outer joins do not commute. `Query.holding` answers the one question that
the analyses ask of that tree: if tuples of these streams stand together in a result, which predicates hold there?
For inner joins it is always all of them; the ON of an outer join holds only where its optional side is matched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from penstock.model.closure import Equalities
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.names import fold
from penstock.model.predicates import (
    ColumnRef,
    Comparison,
    Difference,
    Expression,
    Predicate,
    aliases_of,
    rejects_null,
)
from penstock.model.problem import Problem, Subject, require
from penstock.model.spans import Span
from penstock.model.stream import Stream, span_problem
from penstock.model.types import DataType


@dataclass(frozen=True)
class RowsWindow:
    """`[ROWS n]`: the last n that arrived on the stream."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("a window of 0 rows holds nothing")

    def __str__(self) -> str:
        return f"[ROWS {self.count}]"


@dataclass(frozen=True)
class RangeWindow:
    """`[RANGE d]`: event times within d of the latest in the combination."""

    span: Span

    def __post_init__(self) -> None:
        if self.span.ticks <= 0:
            raise ValueError("a window of no length holds nothing")

    def __str__(self) -> str:
        return f"[RANGE {self.span}]"


@dataclass(frozen=True)
class Source:
    """A stream in a query, under its alias."""

    stream: Stream
    alias: str
    window: RowsWindow | RangeWindow | None = None

    @property
    def event_time(self) -> ColumnRef | None:
        """The column that is its clock."""
        return ColumnRef(self.alias, self.stream.event_time) if self.stream.event_time is not None else None


class JoinKind(StrEnum):
    """How two parts of FROM are joined; a comma is INNER without a condition."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True)
class Leaf:
    """One source of FROM."""

    alias: str


@dataclass(frozen=True)
class Join:
    """Two parts of FROM joined."""

    kind: JoinKind
    left: FromTree
    right: FromTree
    on: tuple[Predicate, ...] = ()


FromTree = Leaf | Join


def leaves(tree: FromTree) -> tuple[str, ...]:
    """The aliases of a part of FROM, from left to right."""
    return (tree.alias,) if isinstance(tree, Leaf) else leaves(tree.left) + leaves(tree.right)


def joins(tree: FromTree) -> Iterator[Join]:
    """The joins of a part of FROM, inner ones first."""
    if isinstance(tree, Join):
        yield from joins(tree.left)
        yield from joins(tree.right)
        yield tree


@dataclass(frozen=True)
class Existence:
    """`[NOT] EXISTS (SELECT … FROM source WHERE condition)`."""

    source: Source
    negated: bool
    condition: tuple[Predicate, ...] = ()


@dataclass(frozen=True)
class TimeWindow:
    """`window(ts, '5 minutes')`, or one end of it."""

    column: ColumnRef
    span: Span
    end: str | None = None
    """`start`, `end`, or None for the whole window."""

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        return (self.column,)

    def __str__(self) -> str:
        length = f"'{str(self.span).lower()}'" if self.span.unit is not None else str(self.span)
        text = f"window({self.column}, {length})"
        return f"{text}.{self.end}" if self.end else text


AGGREGATES = ("count", "sum", "min", "max", "avg", "median")


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a group; `argument` is None for count(*)."""

    function: str
    argument: ColumnRef | Expression | None = None
    distinct: bool = False

    def __post_init__(self) -> None:
        if self.function not in AGGREGATES:
            raise ValueError(f"{self.function} is no aggregate; these are: {', '.join(AGGREGATES)}")
        if self.argument is None and (self.function != "count" or self.distinct):
            raise ValueError(f"{self.function} needs an argument")
        if self.distinct and self.function != "count":
            raise ValueError(f"DISTINCT is for count, not for {self.function}")

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it reads."""
        match self.argument:
            case None:
                return ()
            case ColumnRef() as ref:
                return (ref,)
            case Expression() as expression:
                return expression.columns

    def __str__(self) -> str:
        inner = "*" if self.argument is None else str(self.argument)
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner})"


Scalar = ColumnRef | Expression | TimeWindow
"""A value of one combination of tuples."""


def columns_of(value: Scalar | Aggregate) -> tuple[ColumnRef, ...]:
    """The columns that a value reads."""
    return (value,) if isinstance(value, ColumnRef) else value.columns


@dataclass(frozen=True)
class Output:
    """One column of the answer."""

    name: str
    value: Scalar | Aggregate


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

    def __post_init__(self) -> None:
        require([*_source_problems(self), *_predicate_problems(self), *_output_problems(self)])

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
    def core(self) -> frozenset[str]:
        """The sources that have a tuple in every result."""
        return self.holding(frozenset()).present

    def holding(self, together: frozenset[str]) -> Holding:
        """What holds in every result (or row to be) in which tuples of these sources stand together."""
        cached: dict[frozenset[str], Holding] = self._held
        if together not in cached:
            cached[together] = self._hold(together)
        return cached[together]

    @cached_property
    def _held(self) -> dict[frozenset[str], Holding]:
        return {}

    def _hold(self, together: frozenset[str]) -> Holding:
        present = set(together) | certain(self.tree)
        # A condition of WHERE that rejects NULL makes the streams it names present in every result.
        for predicate in self.where:
            if rejects_null(predicate):
                present |= aliases_of(predicate)
        held: list[Predicate] = []
        while True:
            before = len(present)
            held = []
            for join in joins(self.tree):
                if _matched(join, present):
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
        return Equalities.of(self.holding(together).predicates)


def certain(tree: FromTree) -> set[str]:
    """The aliases that have a tuple in every row of a part of FROM."""
    if isinstance(tree, Leaf):
        return {tree.alias}
    left = certain(tree.left) if tree.kind in (JoinKind.INNER, JoinKind.LEFT) else set()
    right = certain(tree.right) if tree.kind in (JoinKind.INNER, JoinKind.RIGHT) else set()
    return left | right


def _matched(join: Join, present: set[str]) -> bool:
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


def _source_problems(query: Query) -> Iterator[Problem]:
    folded = [fold(s.alias) for s in query.all_sources]
    for source in query.all_sources:
        subject = Subject("source", source.alias)
        if folded.count(fold(source.alias)) > 1:
            yield Problem(subject, f"{source.alias} stands twice in the query", "give each its own alias: … AS a")
        if isinstance(source.window, RangeWindow):
            yield from _range_problems(source, source.window, subject)
    if sorted(leaves(query.tree)) != sorted(s.alias for s in query.sources):
        yield Problem(Subject("name", query.name), "the tree of FROM and its sources differ")
    if any(isinstance(s.window, RangeWindow) for s in query.all_sources):
        clocks = [(s, s.stream.clock) for s in query.all_sources if s.stream.clock is not None]
        for source, clock in clocks[1:]:
            first, first_clock = clocks[0]
            if not clock.compares_with(first_clock):
                yield Problem(
                    Subject("source", source.alias),
                    f"[RANGE] compares event times, but that of {source.alias} is {clock} "
                    f"and that of {first.alias} is {first_clock}",
                    "derive event times of one type",
                )


def _range_problems(source: Source, window: RangeWindow, subject: Subject) -> Iterator[Problem]:
    clock = source.stream.clock
    if clock is None:
        yield Problem(
            subject,
            f"[RANGE] needs an event time, and stream {source.stream.name} has none",
            f"declare EVENT TIME in {source.stream.name}, or use [ROWS n]",
        )
    elif (why := span_problem(window.span, clock)) is not None:
        yield Problem(subject, why, "write [RANGE 3 SECONDS] for a TIMESTAMP or a DATE, [RANGE 3] for an integer")


def predicate_problem(predicate: Predicate, sources: dict[str, Source]) -> Problem | None:
    """Why a predicate cannot stand in a query over these sources, if it cannot."""
    subject = Subject("predicate", str(predicate))
    types: list[DataType] = []
    for ref in predicate.columns:
        source = sources.get(ref.alias)
        column = source.stream.column(ref.column) if source else None
        if column is None:
            return Problem(subject, f"unknown column {ref}")
        if column.type is None:
            return Problem(subject, f"column {ref} is VIRTUAL: no row carries it, so a query cannot use it")
        types.append(column.type)
    match predicate:
        case Comparison():
            if not types[0].compares_with(types[1]):
                return Problem(
                    subject,
                    f"{predicate.left} is {types[0]}, but {predicate.right} is {types[1]}",
                    "the two must have the same type (integer types mix freely); derive a column: c BIGINT AS (…)",
                )
        case Difference():
            if not (types[0].is_clock and types[0].compares_with(types[1])):
                return Problem(
                    subject,
                    f"{predicate.minuend} is {types[0]}, {predicate.subtrahend} is {types[1]}: they have no difference",
                    "both must be TIMESTAMP, both DATE, or both integers",
                )
            if (why := span_problem(predicate.span, types[0])) is not None:
                return Problem(subject, why, "write INTERVAL 3 SECONDS for a TIMESTAMP or a DATE, 3 for integers")
        case _:
            if len(aliases_of(predicate)) > 1:
                return Problem(subject, "a condition on several streams must be a comparison of two columns")
    return None


def _predicate_problems(query: Query) -> Iterator[Problem]:
    for predicate in query.predicates:
        problem = predicate_problem(predicate, query.by_alias)
        if problem is not None:
            yield problem


def _output_problems(query: Query) -> Iterator[Problem]:
    seen: set[str] = set()
    if not query.outputs:
        yield Problem(Subject("name", query.name), "the query gives no column")
    for index, output in enumerate(query.outputs):
        subject = Subject("output", output.name, index)
        if fold(output.name) in seen:
            yield Problem(subject, f"two output columns are named {output.name}", f"rename one: … AS {output.name}_2")
        seen.add(fold(output.name))
        visible = {s.alias: s for s in query.sources}
        for ref in columns_of(output.value):
            source = visible.get(ref.alias)
            column = source.stream.column(ref.column) if source else None
            if column is None:
                yield Problem(subject, f"unknown column {ref}")
            elif column.is_virtual:
                yield Problem(subject, f"column {ref} is VIRTUAL: no row carries it, so a query cannot use it")
        if (
            query.is_grouped
            and not isinstance(output.value, Aggregate)
            and not _follows_from_groups(output.value, query)
        ):
            yield Problem(
                subject,
                f"{output.value} is neither grouped nor aggregated",
                "add it to GROUP BY, or put it into count, sum, min, max, avg or median",
            )
    if query.distinct and query.is_grouped:
        yield Problem(
            Subject("name", query.name),
            "SELECT DISTINCT with aggregates is not in the language",
            "each group gives one row already",
        )


def _follows_from_groups(value: Scalar, query: Query) -> bool:
    if isinstance(value, TimeWindow):
        return TimeWindow(value.column, value.span) in query.group_by
    return value in query.group_by or all(ref in query.group_by for ref in columns_of(value))
