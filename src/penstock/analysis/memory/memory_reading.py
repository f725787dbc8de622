"""A query as MEMORY reads it: the conditions on its tuples, and what is outside the paper's language.

Conditions are those of FROM, WHERE and ON, the WHERE of each stream, and its CHECKs; columns are named by the aliases
of the query. A column is *given* if no tuple that matters lacks a value there: a condition rejects NULL, or the stream
may not lack it. A CHECK passes where it is unknown, so one that ties columns together binds only where all of them are
given.

What only Spark reads is a filter on one stream. It makes the stream a sub-stream of itself: constant memory that
suffices for all streams suffices for these, so `bounded` stands; but whether a growing input passes is not known, so
`unbounded` does not. `unread` says where that is so. Time differences between streams are read as conditions that no
constant settles: the columns must be bounded. Outer joins, EXISTS and columns whose equal values differ (collations,
CHAR(n)) are outside the language altogether: `outside`.

Preconditions: none. Windows, promises and hints are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.facts.truth import passes
from penstock.analysis.facts.values import are_equal_only_if_same, has_steps, step_of
from penstock.analysis.memory.lines import point_of
from penstock.analysis.memory.measured_columns import is_measured
from penstock.analysis.reasons import Reason
from penstock.model.clauses import Aggregate, Source, columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import (
    Bound,
    Comparison,
    Difference,
    NoneOf,
    NullTest,
    OneOf,
    Opaque,
    Predicate,
    Residual,
    aliases_of,
    rejects_null,
    renamed,
    written,
)
from penstock.model.query import Query
from penstock.model.schemes import Check
from penstock.model.types import DataType
from penstock.records import record


@record
class Condition:
    """One condition that tuples keep, and its text in the user's words."""

    predicate: Predicate
    text: str
    is_check: bool = False

    def passes(self, values: Mapping[ColumnRef, object]) -> bool:
        """Whether these values satisfy it; a column that is not there is NULL. A CHECK passes where it is unknown."""
        return passes(self.predicate, values, is_check=self.is_check)


@record
class MemoryReading:
    """A query as MEMORY reads it."""

    query: Query

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition, as found."""
        held = self.query.holding(frozenset(s.alias for s in self.query.all_sources)).predicates
        found = [Condition(p, written(p)) for p in held]
        for source in self.query.all_sources:
            found += _declared(source)
        return tuple(found)

    @cached_property
    def binding(self) -> tuple[Condition, ...]:
        """The conditions that hold of every tuple that matters: CHECKs over several columns where all are given."""
        return tuple(c for c in self.conditions if not c.is_check or len(c.predicate.columns) < 2 or self._all_given(c))

    def _all_given(self, condition: Condition) -> bool:
        return self.given.issuperset(condition.predicate.columns)

    @cached_property
    def given(self) -> frozenset[ColumnRef]:
        """The columns that no tuple that matters lacks."""
        found: set[ColumnRef] = set()
        for condition in self.conditions:
            if _needs_value(condition):
                found.update(condition.predicate.columns)
        for source in self.query.all_sources:
            stream = source.stream
            names = [stream.arrival.column] if stream.arrival is not None else []
            names += [name for key in stream.keys for name in key]
            found.update(ColumnRef(source.alias, name) for name in names)
        return frozenset(ref for ref in found if self.kind(ref) is not None)

    @cached_property
    def read(self) -> tuple[ColumnRef, ...]:
        """The columns that results are made of, in the order of the outputs."""
        values = [*self.query.group_by, *(output.value for output in self.query.outputs)]
        found = [ref for value in values for ref in columns_of(value)]
        return tuple(dict.fromkeys(found))

    def kind(self, ref: ColumnRef) -> DataType | None:
        """The type of a column; None if no row carries it."""
        return self.query.type_of(ref)

    def is_derived(self, ref: ColumnRef) -> bool:
        """Whether Spark works the column out from others."""
        column = self.query.by_alias[ref.alias].stream.column(ref.column)
        return column is not None and column.derived is not None

    @cached_property
    def joins(self) -> tuple[tuple[Comparison, str], ...]:
        """The comparisons between two sources, each with its text."""
        return tuple((p, c.text) for c in self.conditions for p in _between_sources(c) if isinstance(p, Comparison))

    @cached_property
    def bands(self) -> tuple[tuple[Difference, str], ...]:
        """The differences between two sources, each with its text."""
        return tuple((p, c.text) for c in self.conditions for p in _between_sources(c) if isinstance(p, Difference))

    @cached_property
    def outside(self) -> tuple[Reason, ...]:
        """Why nothing can be said of the query."""
        found = []
        if len(self.query.core) < len(self.query.all_sources):
            found.append(MemoryReason.INNER_ONLY())
        residual = (c for c in self.conditions if isinstance(c.predicate, Residual))
        found += [MemoryReason.NO_COMPARISON(c.text) for c in residual]
        for ref in dict.fromkeys(ref for c in self.conditions for ref in c.predicate.columns):
            kind = self.kind(ref)
            if kind is not None and kind.is_key and not are_equal_only_if_same(kind) and self._is_compared(ref):
                found.append(MemoryReason.MAY_BE_EQUAL(ref, kind))
        return tuple(found)

    def _is_compared(self, ref: ColumnRef) -> bool:
        unequal = Opaque | Residual | NoneOf | NullTest
        return any(ref in c.predicate.columns and not isinstance(c.predicate, unequal) for c in self.conditions)

    @cached_property
    def unread(self) -> tuple[Reason, ...]:
        """Why a growing input cannot be written down, whatever the query needs."""
        found = []
        for condition in self.conditions:
            if is_left_to_spark(self, condition.predicate):
                found.append(MemoryReason.READ_BY_SPARK(condition.text))
            else:
                derived = [str(ref) for ref in condition.predicate.columns if self.is_derived(ref)]
                found += [MemoryReason.DERIVED(name, condition.text) for name in derived]
        return tuple(dict.fromkeys(found))

    @cached_property
    def lacking(self) -> tuple[str, ...]:
        """Conditions that cannot all hold since one asks for NULL where another needs a value."""
        for condition in self.conditions:
            match condition.predicate:
                case NullTest(column=ref, is_null=True) if ref in self.given:
                    needs = [c.text for c in self.conditions if ref in c.predicate.columns and _needs_value(c)]
                    return (*needs[:1], condition.text)
        return ()

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates, each once."""
        return tuple(dict.fromkeys(o.value for o in self.query.outputs if isinstance(o.value, Aggregate)))


def is_opaque(reading: MemoryReading, predicate: Predicate) -> bool:
    """Whether only Spark can say what a predicate means; a constant that is no value of the type is such a case."""
    match predicate:
        case Opaque() | Residual() | NullTest():
            return True
        case Bound(column=ref, constant=constant):
            constants = (constant,)
        case OneOf(column=ref, constants=constants) | NoneOf(column=ref, constants=constants):
            pass
        case _:
            return False
    kind = reading.kind(ref)
    if kind is None or not kind.is_key:
        return True
    if has_steps(kind):
        return any(step_of(constant, kind) is None for constant in constants)
    return any(point_of(constant, kind) is None for constant in constants)


def is_left_to_spark(reading: MemoryReading, predicate: Predicate) -> bool:
    """Whether nobody but Spark knows which rows pass."""
    is_given = isinstance(predicate, NullTest) and not predicate.is_null
    if is_given or is_measured(predicate, reading.kind):
        return False
    return is_opaque(reading, predicate)


def _needs_value(condition: Condition) -> bool:
    """Whether a tuple that lacks a value does not pass; a CHECK passes where it is unknown."""
    predicate = condition.predicate
    return rejects_null(predicate) and (isinstance(predicate, NullTest) or not condition.is_check)


def _declared(source: Source) -> Iterator[Condition]:
    stream = source.stream
    for predicate in stream.where:
        yield Condition(_named(predicate, source), f"{written(predicate)} in {stream.name}")
    for scheme in stream.schemes:
        if isinstance(scheme, Check):
            for predicate in scheme.condition:
                yield Condition(_named(predicate, source), scheme.as_written(stream.name), is_check=True)


def _named(predicate: Predicate, source: Source) -> Predicate:
    """A condition of a declaration, about one source of the query."""
    return renamed(predicate, lambda ref: ColumnRef(source.alias, ref.column))


def _between_sources(condition: Condition) -> Iterator[Comparison | Difference]:
    predicate = condition.predicate
    if isinstance(predicate, Comparison | Difference) and len(aliases_of(predicate)) > 1:
        yield predicate
