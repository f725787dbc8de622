"""How many values can a column take in tuples that matter?

A tuple whose value lies outside every result is dropped as it arrives. So the domain of a column, where some
streams stand together, is what its type, the CHECKs and the WHERE of its stream and the conditions that hold there
leave over; columns of one equality class share the intersection of their domains, since any other value never finds
a match.

Preconditions: the conditions given hold in every result that a tuple of the stream stands in (`Query.holding`), so
the ON of an outer join never narrows its preserved side. NULL counts as one more value unless a condition that is
certain to hold rejects it, the column stands in a PRIMARY KEY or in ARRIVES BY, or `IS NOT NULL` says so; any other
CHECK lets NULL pass.

What is left is a set of places (places.py), which here are steps. Finite are small types (values.py) by themselves;
whole numbers, dates and decimals between two constants; any type by `=` or IN. Reasoning is on whole steps, so
`a > 10 AND a < 11` leaves nothing. Not decided: opaque conditions, ranges of dense types (TIMESTAMP, FLOAT, DOUBLE,
STRING), ranges that follow only from comparisons with other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from penstock.analysis.facts.places import ANYWHERE, Places
from penstock.analysis.facts.values import (
    FAR,
    Interval,
    are_told_apart,
    has_steps,
    is_small,
    meeting,
    step_of,
    steps_of,
)
from penstock.analysis.reasons import Because, Reason, Told
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Equalities, NoneOf, NullTest, OneOf, Op, Predicate, rejects_null, written
from penstock.model.query import Holding, Query
from penstock.model.schemes import Check
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.records import record


@record
class Domain:
    """The values that a column may take; steps are whole numbers, days, or units of a decimal's last digit."""

    values: Places = ANYWHERE
    """Steps: all of them for types that have none, of which constants may be listed."""
    nullable: bool = True
    zeros: int = 1
    """How many values equal zero: two for FLOAT and DOUBLE, where 0.0 = -0.0."""
    because: tuple[Told, ...] = ()
    """What made it finite: conditions and declarations as the user wrote them, or the type."""

    @property
    def low(self) -> int | None:
        """The least step; None if there is no limit."""
        return None if self.values.range.low == -FAR else self.values.range.low

    @property
    def high(self) -> int | None:
        """The greatest step; None if there is no limit."""
        return None if self.values.range.high == FAR else self.values.range.high

    @property
    def members(self) -> frozenset[object] | None:
        """A finite set: of steps, or of constants where the type has none."""
        return self.values.left

    @property
    def size(self) -> int | None:
        """How many values, NULL included; None if there is no limit."""
        count = self.values.size
        if count is None:
            return None
        zeros = self.zeros - 1 if self.values.left and 0 in self.values.left else 0
        return count + zeros + self.nullable

    @property
    def listed(self) -> tuple[Told, ...]:
        """What made it finite, each once, and that it may be NULL."""
        return (*dict.fromkeys(self.because), *((Because.MAY_BE_NULL(),) if self.nullable else ()))

    @property
    def is_empty(self) -> bool:
        """Whether no tuple can be: no value, and no NULL either."""
        return self.size == 0


def domain_of(query: Query, holding: Holding, equalities: Equalities, ref: ColumnRef) -> Domain:
    """The domain of a column in the tuples that matter, where these conditions hold."""
    members = equalities.class_of(ref)
    domain: Domain | None = None
    kind = query.type_of(ref)
    for member in members:
        stream = query.by_alias[member.alias].stream
        own = declared_domain(stream, member.column)
        for predicate in _about(member, holding.predicates):
            own = _narrowed(own, predicate, query.type_of(member), reason=written(predicate), keeps_null=False)
        domain = own if domain is None else _intersection(domain, own, kind)
    assert domain is not None
    return replace(domain, nullable=False) if len(members) > 1 else domain


def declared_domain(stream: Stream, column: str) -> Domain:
    """What the type, the WHERE and the CHECKs of a stream say of a column, whatever the query."""
    kind = stream.type_of(column)
    zeros = 2 if kind is not None and kind.kind in (Kind.FLOAT, Kind.DOUBLE) else 1
    domain = Domain(nullable=_may_be_null(stream, column), zeros=zeros)
    if kind is not None and is_small(kind):
        domain = _clipped(domain, steps_of(kind), Because.IS_OF_TYPE(column, stream.name, kind))
    own = ColumnRef("", column)
    for predicate in _about(own, stream.where):
        domain = _narrowed(domain, predicate, kind, reason=f"{written(predicate)} in {stream.name}", keeps_null=False)
    for scheme in stream.schemes:
        if isinstance(scheme, Check):
            for predicate in _about(own, scheme.condition):
                domain = _narrowed(domain, predicate, kind, reason=scheme.as_written(stream.name), keeps_null=True)
    return domain


def _may_be_null(stream: Stream, column: str) -> bool:
    """Whether a row may lack a value here and break neither ARRIVES BY nor a PRIMARY KEY."""
    named = [stream.arrival.column] if stream.arrival is not None else []
    named += [name for key in stream.keys for name in key]
    return column not in named


def emptied(holding: Holding, equalities: Equalities, domain: Callable[[ColumnRef], Domain]) -> tuple[Reason, ...]:
    """Why no result can be, if the domain of a column that must have a value is empty; nothing otherwise."""
    constrained = [ref for refs in equalities.classes for ref in refs[:1]]
    constrained += [p.column for p in holding.predicates if isinstance(p, Bound | OneOf)]
    for ref in dict.fromkeys(constrained):
        left = domain(ref)
        if left.is_empty:
            return (Because.NO_VALUE_LEFT(equalities.class_of(ref), left.because),)
    return ()


def contradiction(stream: Stream, conditions: Iterable[Predicate]) -> tuple[Told, ...] | None:
    """The conditions on one column of a stream that no value meets, by their constants alone; None if none are seen."""
    conditions = tuple(conditions)
    for ref in dict.fromkeys(p.column for p in conditions if isinstance(p, Bound | OneOf)):
        kind = stream.type_of(ref.column)
        left = Domain(nullable=False)
        for predicate in _about(ref, conditions):
            left = _narrowed(left, predicate, kind, reason=written(predicate), keeps_null=False)
        if left.is_empty:
            return tuple(dict.fromkeys(left.because))
    return None


def _about(ref: ColumnRef, predicates: Iterable[Predicate]) -> Iterator[Predicate]:
    for predicate in predicates:
        for column in predicate.columns:
            if _same(column, ref):
                yield predicate
                break


def _narrowed(domain: Domain, predicate: Predicate, kind: DataType | None, *, reason: Told, keeps_null: bool) -> Domain:
    # CHECK passes where it is unknown; IS NOT NULL never is.
    if rejects_null(predicate) and (isinstance(predicate, NullTest) or not keeps_null):
        domain = replace(domain, nullable=False)
    match predicate:
        case NoneOf(constants=constants):
            return _without(domain, constants, kind, reason)
        case Bound(op=Op.EQ, constant=constant):
            return _within_set(domain, (constant,), kind, reason)
        case OneOf(constants=constants):
            return _within_set(domain, constants, kind, reason)
        case Bound(op=op, constant=constant):
            return _within_range(domain, op, constant, kind, reason)
        case _:
            return domain


def _same(left: ColumnRef, right: ColumnRef) -> bool:
    return left.alias == right.alias and left.column == right.column


def _within_range(domain: Domain, op: Op, constant: Constant, kind: DataType | None, reason: Told) -> Domain:
    at = step_of(constant, kind)
    if at is None:
        return domain
    return _clipped(domain, meeting(op, at), reason)


def _clipped(domain: Domain, steps: Interval, *reasons: Told) -> Domain:
    return replace(domain, values=domain.values.within(steps), because=(*domain.because, *reasons))


def _within_set(domain: Domain, constants: tuple[Constant, ...], kind: DataType | None, reason: Told) -> Domain:
    if kind is None or not are_told_apart(kind):
        return domain
    if has_steps(kind) and any(step_of(constant, kind) is None for constant in constants):
        return domain
    listed = _among(domain.values, frozenset(_named(constants, kind)), kind)
    return replace(domain, values=listed, because=(*domain.because, reason))


def _without(domain: Domain, constants: tuple[Constant, ...], kind: DataType | None, reason: Told) -> Domain:
    """Less some values; of a type without steps, only of those that are listed."""
    if kind is None or (domain.members is None and not has_steps(kind)):
        return domain
    left = domain.values.without(_named(constants, kind))
    return domain if left == domain.values else replace(domain, values=left, because=(*domain.because, reason))


def _named(constants: tuple[Constant, ...], kind: DataType) -> Iterator[object]:
    """The steps of constants that have one; the constants themselves where the type has no steps."""
    for constant in constants:
        step = step_of(constant, kind)
        if not has_steps(kind):
            yield constant.value
        elif step is not None and step.denominator == 1:
            yield int(step)


def _among(values: Places, members: frozenset[object], kind: DataType | None) -> Places:
    if kind is not None and (has_steps(kind) or (kind.kind is Kind.STRING and not kind.is_padded)):
        return values.among(members)
    # Constants of these types may be written in two ways and be equal.
    return values.among_alike(members)


def _intersection(left: Domain, right: Domain, kind: DataType | None) -> Domain:
    merged = _clipped(left, right.values.range, *right.because)
    values = merged.values if right.members is None else _among(merged.values, right.members, kind)
    values = values.without(right.values.gaps)
    return replace(merged, values=values, nullable=left.nullable and right.nullable)
