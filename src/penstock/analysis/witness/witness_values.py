"""Values for rows that are to match, block after block: the arithmetic of a growing input.

Each class of equal columns is a node with a whole number; block n shifts it by n steps, and half a step in between is
for rows that are to match nothing. Nodes that the bands tie together take the least numbers that keep the differences
(`facts/differences.py`) and shift together, by more than they lie apart; nodes with a finite domain stand still; a
node with an upper limit alone goes down. Instants are microseconds after the first of 2024.

Preconditions: none; what cannot be laid out raises `Doubt`, which says why. Whether the values satisfy every condition
is seen afterwards, on the values themselves.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from penstock.analysis.facts.differences import least
from penstock.analysis.facts.domains import Domain
from penstock.analysis.facts.places import Places
from penstock.analysis.facts.together import Facts
from penstock.analysis.facts.values import has_steps, value_at
from penstock.analysis.memory.measured_columns import whole_numbers
from penstock.analysis.reasons import NoWitness, Told
from penstock.analysis.witness.declarations_hold import is_punctuation
from penstock.model.expressions import Call, ColumnRef
from penstock.model.functions import TIMES_OF_NUMBERS
from penstock.model.predicates import Bound, OneOf, Opaque
from penstock.model.schemes import Check, Punctuated
from penstock.model.spans import Unit
from penstock.model.stream import Column
from penstock.model.types import DataType, Kind
from penstock.records import record

_START = dt.datetime(2024, 1, 1)
_EPOCH_MICROSECONDS = (_START - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
_PLAIN = (Kind.STRING, Kind.BINARY, Kind.FLOAT, Kind.DOUBLE)


class CannotLayOut(Exception):
    """Why no input can be laid out."""

    def __init__(self, reason: Told) -> None:
        super().__init__(reason)
        self.reason = reason


@record
class _Place:
    """Where a node stands in block 0, and how far a block moves it."""

    base: int
    step: int


class Layout:
    """The nodes of a query and their numbers."""

    def __init__(self, facts: Facts) -> None:
        self.query = facts.query
        self.here = facts.of()
        self._nodes: dict[ColumnRef, ColumnRef] = {}
        self._rows: dict[tuple[str, int, bool], dict[str, object]] = {}
        self.kinds = dict(self._carried())
        self.absent = frozenset(self._absent())
        self.nodes = tuple(dict.fromkeys(self.node(ref) for ref in self.kinds if ref not in self.absent))

    def node(self, ref: ColumnRef) -> ColumnRef:
        """The one of its equals by which a column is known."""
        if ref not in self._nodes:
            self._nodes[ref] = self.here.equalities.class_of(ref)[0]
        return self._nodes[ref]

    def shifts(self, ref: ColumnRef) -> bool:
        """Whether a column has a new value in each block."""
        return ref in self.kinds and ref not in self.absent and self.node(ref) in self.places

    def value(self, ref: ColumnRef, block: int, half: bool = False) -> object:
        """The value of a column in a block."""
        node = self.node(ref)
        place = self.places.get(node)
        if place is None:
            return self.still[node]
        return _value(self.kinds[ref], place.base + block * place.step + (place.step // 2 if half else 0))

    def row(self, alias: str, block: int, half: bool = False) -> dict[str, object]:
        """The values of a row of a source, all of one block."""
        key = alias, block, half
        if key not in self._rows:
            self._rows[key] = {ref.column: self.value(ref, block, half) for ref in self.of(alias)}
        return dict(self._rows[key])

    def of(self, alias: str) -> tuple[ColumnRef, ...]:
        """The columns of a source that are given values."""
        return self._of.get(alias, ())

    @cached_property
    def _of(self) -> dict[str, tuple[ColumnRef, ...]]:
        found: dict[str, list[ColumnRef]] = {}
        for ref in self.kinds:
            if ref not in self.absent:
                found.setdefault(ref.alias, []).append(ref)
        return {alias: tuple(refs) for alias, refs in found.items()}

    def completed(self, alias: str, values: dict[str, object]) -> dict[str, object]:
        """A row with the columns that others are derived from, in the order of the declaration; without the derived."""
        stream = self.query.by_alias[alias].stream
        found = dict(values)
        for column in stream.carried:
            origin = _origin(column)
            moment = values.get(column.name)
            if origin is not None and isinstance(moment, dt.datetime):
                length, name = origin
                found[name] = ((moment - _START) // dt.timedelta(microseconds=1) + _EPOCH_MICROSECONDS) // length
                del found[column.name]
        return {c.name: found[c.name] for c in stream.carried if c.name in found}

    def arrival(self, alias: str, place: int) -> tuple[str, object] | None:
        """The value of ARRIVES BY in the row at that place, where the column says nothing else."""
        arrival = self.query.by_alias[alias].stream.arrival
        if arrival is None:
            return None
        ref = ColumnRef(alias, arrival.column)
        kind = self.kinds.get(ref)
        is_alone = self.here.equalities.class_of(ref) == (ref,) and not self.here.bands.touches(ref)
        if kind is None or not is_alone or not self.shifts(ref):
            return None
        return arrival.column, _value(kind, place * (Unit.SECOND.value if kind.is_instant else 1))

    def _carried(self) -> Iterator[tuple[ColumnRef, DataType]]:
        for source in self.query.all_sources:
            origins = {origin[1] for column in source.stream.carried if (origin := _origin(column)) is not None}
            for column in source.stream.carried:
                assert column.type is not None
                ref = ColumnRef(source.alias, column.name)
                if column.name in origins:
                    if self._is_used(ref):
                        raise CannotLayOut(NoWitness.ORIGIN_WITH_CONDITIONS(ref))
                elif column.derived is None or _origin(column) is not None:
                    yield ref, column.type
                elif self._is_used(ref):
                    raise CannotLayOut(NoWitness.DERIVED(ref))

    def _is_used(self, ref: ColumnRef) -> bool:
        """Whether anything is said of a column."""
        source = self.query.by_alias[ref.alias]
        named = [c for scheme in source.stream.schemes for c in scheme.own_columns]
        named += [source.stream.event_time or "", source.stream.arrival.column if source.stream.arrival else ""]
        conditions = [*self.query.predicates]
        return (
            ref.column in named
            or any(ref in predicate.columns for predicate in conditions)
            or any(ref.column == r.column for predicate in source.stream.where for r in predicate.columns)
        )

    def _absent(self) -> Iterator[ColumnRef]:
        """Columns that are left NULL: types without values to write, and what only a WHEN that Spark reads looks at."""
        for ref, kind in self.kinds.items():
            stream = self.query.by_alias[ref.alias].stream
            whens = [p for s in stream.schemes if isinstance(s, Punctuated) for p in s.when if isinstance(p, Opaque)]
            is_asked = any(ref.column == r.column for p in whens for r in p.columns)
            if is_asked and not self._is_used_but_by_when(ref):
                yield ref
            elif not (has_steps(kind) or kind.kind in _PLAIN or kind.is_instant):
                if self._is_used(ref):
                    raise CannotLayOut(NoWitness.NO_VALUES_WRITTEN(ref, kind))
                yield ref

    def _is_used_but_by_when(self, ref: ColumnRef) -> bool:
        source = self.query.by_alias[ref.alias]
        named = [c for s in source.stream.schemes if not isinstance(s, Punctuated) for c in s.own_columns]
        named += [c for s in source.stream.schemes if isinstance(s, Punctuated) for c in s.columns]
        conditions = [*self.query.predicates]
        return ref.column in named or any(ref in predicate.columns for predicate in conditions)

    @cached_property
    def still(self) -> dict[ColumnRef, object]:
        """The values of the nodes with a finite domain."""
        return {node: self._chosen(node) for node in self.nodes if self.here.domain(node).size is not None}

    @cached_property
    def places(self) -> dict[ColumnRef, _Place]:
        """The places of the nodes that shift; instants on a scale of their own."""
        nodes = [node for node in self.nodes if node not in self.still]
        found: dict[ColumnRef, _Place] = {}
        for instants in (False, True):
            found |= self._placed([node for node in nodes if self.kinds[node].is_instant is instants], instants)
        return found

    def _placed(self, nodes: list[ColumnRef], instants: bool) -> dict[ColumnRef, _Place]:
        """Groups of nodes side by side, all with one step that is wider than all of them.

        So values of different groups never meet, in whatever blocks: what is not tied is not equal by accident.
        """
        gaps = self._gaps(nodes)
        has_dates = any(self.kinds[node].kind is Kind.DATE for node in nodes)
        unit = (Unit.DAY if has_dates else Unit.SECOND).value if instants else 1
        base: dict[ColumnRef, int] = {}
        falling: dict[ColumnRef, int] = {}
        free = 0
        for group in _groups(nodes, gaps):
            if len(group) == 1 and (high := self._endless(group[0]).high) is not None:
                falling[group[0]] = high - len(falling)
                continue
            solved = self._solved(group, [gap for gap in gaps if gap[0] in group])
            lift = max(0, -(-(free - min(solved.values())) // unit) * unit)
            base |= {node: number + lift for node, number in solved.items()}
            free = max(base.values()) + unit
        widest = free - min([*base.values(), 0]) + max((abs(ticks) for *_, ticks in gaps), default=0) + len(falling)
        if instants:
            length = 2 * unit if has_dates else Unit.MINUTE.value
            step = -(-4 * widest // length) * length
        else:
            step = _power_of_ten(2 * widest if not gaps else 4 * widest)
        return {n: _Place(number, step) for n, number in base.items()} | {
            n: _Place(number, -step) for n, number in falling.items()
        }

    def _gaps(self, nodes: list[ColumnRef]) -> list[tuple[ColumnRef, ColumnRef, int]]:
        """`later - earlier <= ticks` between nodes that shift."""
        found = []
        for constraint in self.here.bands.constraints:
            later, earlier = self.node(constraint.later), self.node(constraint.earlier)
            if later != earlier and later in nodes and earlier in nodes:
                found.append((later, earlier, constraint.limit.ticks - constraint.limit.strict))
        return found

    def _solved(self, nodes: list[ColumnRef], gaps: list[tuple[ColumnRef, ColumnRef, int]]) -> dict[ColumnRef, int]:
        """Numbers for one group that keep its differences, none below its least value."""
        base = {}
        for node in nodes:
            domain = self._endless(node)
            if domain.high is not None:
                raise CannotLayOut(NoWitness.LARGEST_COMPARED(node))
            if gaps and self.kinds[node].kind in (Kind.STRING, Kind.BINARY):
                raise CannotLayOut(NoWitness.TYPE_COMPARED(node, self.kinds[node]))
            base[node] = domain.low or 0
        found = least(base, ((later, earlier, (-ticks).__add__) for later, earlier, ticks in gaps))
        if found is None:
            raise CannotLayOut(NoWitness.DIFFERENCES_UNMET())
        return found

    def _endless(self, node: ColumnRef) -> Domain:
        """The domain of a node that is not finite; only whole numbers may have a limit."""
        domain, kind = self.here.domain(node), self.kinds[node]
        if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
            return replace(domain, values=Places(whole_numbers(self._said(node))))
        if not kind.is_integer and self._is_limited(node):
            raise CannotLayOut(NoWitness.COMPARED_WITH_CONSTANT(node, kind))
        if kind.length is not None or kind.is_collated:
            raise CannotLayOut(NoWitness.FINITE_TYPE(node, kind))
        return domain

    def _is_limited(self, node: ColumnRef) -> bool:
        """Whether any of its columns is compared with a constant."""
        return any(True for _ in self._said(node))

    def _said(self, node: ColumnRef) -> Iterator[Bound | OneOf]:
        """What compares any of its columns with constants."""
        for member in self.here.equalities.class_of(node):
            stream = self.query.by_alias[member.alias].stream
            checks = (p for s in stream.schemes if isinstance(s, Check) for p in s.condition)
            for predicate in (*stream.where, *checks):
                if isinstance(predicate, Bound | OneOf) and predicate.column.column == member.column:
                    yield predicate
            yield from (p for p in self.query.predicates if isinstance(p, Bound | OneOf) and p.column == member)

    def _chosen(self, node: ColumnRef) -> object:
        kind, domain = self.kinds[node], self.here.domain(node)
        if domain.members is not None:
            known = sorted(domain.members, key=str)
            candidates = [value_at(m, kind) if has_steps(kind) and isinstance(m, int) else m for m in known]
        else:
            assert domain.low is not None
            assert domain.high is not None
            wanted = [min(n, domain.high) for n in (0, 1, domain.low, domain.high)]
            steps = dict.fromkeys(domain.values.raised(step) for step in wanted)
            candidates = [value_at(step, kind) for step in steps if step is not None]
        if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
            candidates = [float(value) for value in candidates if isinstance(value, int | Decimal)]
        for value in candidates:
            if not self._makes_punctuations(node, value):
                return value
        if not candidates:
            raise CannotLayOut(NoWitness.NO_VALUE(node))
        return candidates[0]

    def _makes_punctuations(self, node: ColumnRef, value: object) -> bool:
        """Whether a row with that value would be a punctuation, by this column alone."""
        for member in self.here.equalities.class_of(node):
            for scheme in self.query.by_alias[member.alias].stream.schemes:
                if isinstance(scheme, Punctuated) and is_punctuation(scheme, {member.column: value}) is True:
                    return True
        return False


def _groups(nodes: list[ColumnRef], gaps: list[tuple[ColumnRef, ColumnRef, int]]) -> list[list[ColumnRef]]:
    """The nodes that gaps tie together, group by group."""
    group = {node: [node] for node in nodes}
    for later, earlier, _ in gaps:
        if group[later] is not group[earlier]:
            group[later] += group[earlier]
            for node in group[earlier]:
                group[node] = group[later]
    found: list[list[ColumnRef]] = []
    for node in nodes:
        if not any(group[node] is known for known in found):
            found.append(group[node])
    return found


def _power_of_ten(least: int) -> int:
    """The least power of ten that is no smaller, from ten on."""
    power = 10
    while power < least:
        power *= 10
    return power


def _origin(column: Column) -> tuple[int, str] | None:
    """The length of one unit in microseconds, and the column that counts them, for a time derived from a number."""
    match column.derived.term if column.derived is not None else None:
        case Call(function=function, arguments=(ColumnRef(column=own), *_)) if function in TIMES_OF_NUMBERS:
            return TIMES_OF_NUMBERS[function], own
        case _:
            return None


def _value(kind: DataType, number: int) -> object:
    match kind.kind:
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return _START + dt.timedelta(microseconds=number)
        case Kind.DATE:
            return _START.date() + dt.timedelta(microseconds=number)
        case Kind.FLOAT | Kind.DOUBLE:
            return float(number)
        case Kind.DECIMAL:
            return Decimal(number)
        case Kind.STRING:
            return f"v{number}"
        case Kind.BINARY:
            # Steps are wider than the widest constant, which may have eight bytes itself.
            return number.to_bytes(max(8, number.bit_length() // 8 + 1), "big")
        case _:
            return number
