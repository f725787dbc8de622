"""What the conditions say of the order of columns: their closure, and whether they can hold (MEMORY, section 4).

Columns that the conditions make equal are one node; `x <= y AND y <= x` does that too. `below(x, y)` is `x <= y` in P+.
Each node has places (facts/places.py) on its line (lines.py): a stretch, or some of it.

Theorem. Conditions of the kinds `x <= y`, `x < y` and `x in D` hold of the least assignment that they allow, if of
any (`facts/differences.py`). So raising what is too low decides whether they can hold, and the same once more with
the line turned around gives the greatest place of each node.

Theorem. Columns can lie in given endless stretches all at once if each can alone, and none that must lie in an upper
stretch is below one that must lie in a lower one. On a line with steps there are two stretches: take the maximum of
the solutions for what is above a column that must lie high, and the minimum for the rest. On a dense line there may
be more, and the least assignment decides.

A column that no condition needs may be NULL where its CHECKs leave it no value.

Preconditions: the conditions are `Reading.binding`. Time differences are not looked at: leaving a condition out can
only make a column less bounded. Not decided: whether a dense stretch holds any value at all (no STRING lies between
'a' and 'a' followed by the least character); the witness finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.analysis.facts.differences import Demand, Differences, Limit, least
from penstock.analysis.facts.places import Places
from penstock.analysis.facts.values import FAR, Interval, steps_of
from penstock.analysis.memory.lines import Line, line_of, point_of, stretch_of
from penstock.analysis.memory.memory_reading import Condition, MemoryReading, is_opaque
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Equalities, NoneOf, OneOf, Op
from penstock.model.types import DataType

Pins = Iterable[tuple[ColumnRef, Interval]]
"""Columns, and where they are to lie."""


_LISTED = 2**10
"""Values of a range with gaps that are listed one by one, so that those in the gaps are dropped on every stream."""


@dataclass
class _Node:
    """Columns that are equal in every result."""

    columns: list[ColumnRef]
    line: Line
    places: Places
    """Those that types and constants leave it by itself."""
    is_null: bool = False
    """Whether it can be NULL and nothing else: its CHECKs leave it no value, and no condition needs one."""


class Order:
    """The order of the columns of a query."""

    def __init__(
        self, reading: MemoryReading, conditions: tuple[Condition, ...] | None = None, *, by_stream: bool = False
    ) -> None:
        self._reading = reading
        known = reading.binding if conditions is None else conditions
        self._predicates = [c.predicate for c in known if not is_opaque(reading, c.predicate)]
        comparisons = [predicate for predicate in self._predicates if isinstance(predicate, Comparison)]
        columns = [ref for predicate in self._predicates for ref in predicate.columns]
        columns += [ref for ref in (*reading.read, *sorted(reading.given)) if reading.kind(ref) is not None]
        self.columns = tuple(dict.fromkeys(columns))
        self._equal = Equalities.of(c for c in comparisons if c.op is Op.EQ)
        upwards = [_upwards(c) for c in comparisons if c.op is not Op.EQ]
        self._closed = Differences(
            Demand(self._head(x), self._head(y), Limit(0, strict), None) for x, y, strict in upwards
        )
        groups = self._groups()
        pairs = [(c.left, c.right) for c in comparisons]
        pairs += self._of_one_stream() if by_stream else []
        self._tied = Equalities.of(Comparison(left, Op.EQ, right) for left, right in pairs)
        lines = self._lines()
        self._nodes = [
            _Node(list(group), lines[group[0]], Places(self._limits(lines[group[0]], group))) for group in groups
        ]
        self._index = {ref: number for number, group in enumerate(groups) for ref in group}
        found = {(self._index[low], self._index[high], strict) for low, high, strict in upwards}
        self._edges = sorted((low, high, strict) for low, high, strict in found if low != high)
        self._narrow()
        self._lows = self._rise(())
        self._highs = self._sink()
        self._known: dict[frozenset[tuple[int, Interval]], bool] = {}
        self._together: dict[tuple[int, int], tuple[Interval, ...]] = {}

    @property
    def holds(self) -> bool:
        """Whether any tuples satisfy the conditions."""
        return self._lows is not None and self._highs is not None

    def line(self, ref: ColumnRef) -> Line:
        """The line of a column."""
        return self._nodes[self._index[ref]].line

    def first_on_line(self, ref: ColumnRef) -> ColumnRef:
        """One and the same column for all that comparisons tie together."""
        return self._tied.class_of(ref)[0]

    def equal_to(self, ref: ColumnRef) -> tuple[ColumnRef, ...]:
        """The columns that equal this one in every result, itself included."""
        return tuple(self._nodes[self._index[ref]].columns)

    def below(self, low: ColumnRef, high: ColumnRef) -> bool:
        """Whether `low <= high` follows."""
        return low == high or self._closed.upper(self._head(low), self._head(high)) is not None

    def strictly_below(self, low: ColumnRef, high: ColumnRef) -> bool:
        """Whether `low < high` follows from the comparisons."""
        limit = self._closed.upper(self._head(low), self._head(high))
        return limit is not None and limit.strict

    def implies(self, predicate: Bound | OneOf) -> bool:
        """Whether a comparison with constants follows."""
        ref = predicate.column
        line, kind, reach = self.line(ref), _kind(self._reading, ref), self.reach(ref)
        if isinstance(predicate, Bound):
            allowed = stretch_of(line, kind, predicate.op, predicate.constant)
            return allowed is not None and reach.within(allowed) == reach
        stretches = [stretch_of(line, kind, Op.EQ, constant) for constant in predicate.constants]
        members = {s.low for s in stretches if s is not None and s.size == 1}
        own = self.places(ref).members
        return own is not None and own <= members

    def places(self, ref: ColumnRef) -> Places:
        """What constants and types leave to a column by itself."""
        return self._nodes[self._index[ref]].places

    def reach(self, ref: ColumnRef) -> Interval:
        """The least and the greatest place of a column in any solution; nothing if it can only be NULL."""
        assert self._lows is not None
        assert self._highs is not None
        node = self._index[ref]
        if self._nodes[node].is_null:
            return Interval(0, -1)
        return Interval(self._lows[node], self._highs[node])

    def values(self, ref: ColumnRef) -> int | None:
        """How many values a column takes in results; None if there is no limit."""
        if self.endless(ref):
            return None
        node = self._nodes[self._index[ref]]
        reach = self.reach(ref)
        if node.places.members is not None:
            return node.places.within(reach).size
        return node.line.apart(reach)[0]

    def buckets(self, ref: ColumnRef) -> tuple[int, int]:
        """How many values of a column are told apart, and how many endless stretches it reaches."""
        counted = self.values(ref)
        return (counted, 0) if counted is not None else self.line(ref).apart(self.reach(ref))

    def endless(self, ref: ColumnRef) -> tuple[Interval, ...]:
        """The endless stretches that a column can lie in."""
        if self._is_listed(ref):
            return ()
        return tuple(stretch for stretch in self.line(ref).endless if self.admits([(ref, stretch)]))

    def both_endless(self, one: ColumnRef, other: ColumnRef) -> tuple[Interval, ...]:
        """The endless stretches that two columns of one line can lie in at once."""
        key = self._index[one], self._index[other]
        if key not in self._together:
            endless = () if self._is_listed(one) or self._is_listed(other) else self.line(one).endless
            self._together[key] = tuple(s for s in endless if self.admits([(one, s), (other, s)]))
        return self._together[key]

    def _is_listed(self, ref: ColumnRef) -> bool:
        """Whether a column of a dense type takes but listed values, each of them a point and so in no open stretch."""
        node = self._nodes[self._index[ref]]
        return node.places.members is not None and not node.line.has_steps

    def admits(self, pins: Pins) -> bool:
        """Whether some tuples satisfy the conditions and have these columns in these stretches."""
        asked = list(pins)
        if not all(self.line(ref).has_steps for ref, _ in asked):
            return self._passes([(self._index[ref], stretch) for ref, stretch in asked])
        if not all(self._reaches(self._index[ref], stretch) for ref, stretch in asked):
            return False
        return not any(
            upper.low > lower.high and self.below(above, under) for above, upper in asked for under, lower in asked
        )

    def _reaches(self, node: int, stretch: Interval) -> bool:
        """Whether some solution has a node in a stretch.

        It does iff its domain has a place there between its least and its greatest: the greatest solution reaches that
        far, so there is a least one of those that do, and nothing below the node raises it any further.
        """
        assert self._lows is not None
        assert self._highs is not None
        if self._nodes[node].is_null:
            return False
        place = self._nodes[node].places.raised(max(stretch.low, self._lows[node]))
        return place is not None and place <= min(stretch.high, self._highs[node])

    def _passes(self, asked: Sequence[tuple[int, Interval]]) -> bool:
        key = frozenset(asked)
        if key not in self._known:
            self._known[key] = self._rise(asked) is not None
        return self._known[key]

    def _rise(self, pins: Sequence[tuple[int, Interval]]) -> dict[int, int] | None:
        """The least assignment with these pins; None if there is none."""
        if self._closed.conflict:
            return None
        starts = {number: -FAR for number, node in enumerate(self._nodes) if not node.is_null}
        tops: dict[int, int] = {}
        for number, stretch in pins:
            starts[number] = max(starts.get(number, -FAR), stretch.low)
            tops[number] = min(tops.get(number, FAR), stretch.high)

        def raised(number: int, place: int) -> int | None:
            found = self._nodes[number].places.raised(place)
            return None if found is None or found > tops.get(number, FAR) else found

        return least(starts, self._rises(starts, downwards=False), raised)

    def _sink(self) -> dict[int, int] | None:
        """The greatest assignment: the least of the line turned around."""
        if self._lows is None:
            return None
        starts = dict.fromkeys(self._lows, -FAR)

        def raised(number: int, place: int) -> int | None:
            found = self._nodes[number].places.lowered(-place)
            return None if found is None else -found

        found = least(starts, self._rises(starts, downwards=True), raised)
        return None if found is None else {number: -place for number, place in found.items()}

    def _rises(self, among: Mapping[int, int], *, downwards: bool) -> Iterator[tuple[int, int, Callable[[int], int]]]:
        """For each comparison, how high the upper node must lie above the lower; downwards, the other way round."""
        for low, high, strict in self._edges:
            if low in among and high in among:
                rise = self._nodes[high].line.after if strict else int
                yield (high, low, rise) if downwards else (low, high, rise)

    def _head(self, ref: ColumnRef) -> ColumnRef:
        """One and the same column for all that `=` ties together."""
        return self._equal.class_of(ref)[0]

    def _groups(self) -> list[tuple[ColumnRef, ...]]:
        """The classes of columns that must be equal, by `=` or by `<=` both ways."""
        groups: dict[ColumnRef, list[ColumnRef]] = {}
        for ref in self.columns:
            head = self._head(ref)
            if head not in groups:
                twins = self._closed.equal_to(head)
                head = next((known for known in twins if known in groups), head)
            groups.setdefault(head, []).append(ref)
        return [tuple(group) for group in groups.values()]

    def _of_one_stream(self) -> list[tuple[ColumnRef, ColumnRef]]:
        """A column of a stream under one name, and under the first: what a constant says of one, rows of both meet."""
        first: dict[tuple[str, str], ColumnRef] = {}
        streams = {source.alias: source.stream.name for source in self._reading.query.all_sources}
        return [(ref, first.setdefault((streams[ref.alias], ref.column), ref)) for ref in self.columns]

    def _lines(self) -> dict[ColumnRef, Line]:
        """The line of each column: one for all that comparisons tie together."""
        reading = self._reading
        constants: dict[ColumnRef, list[tuple[Constant, DataType]]] = {}
        for predicate in self._predicates:
            match predicate:
                case Bound(column=ref, constant=constant):
                    constants.setdefault(ref, []).append((constant, _kind(reading, ref)))
                case OneOf(column=ref, constants=several):
                    constants.setdefault(ref, []).extend((c, _kind(reading, ref)) for c in several)
                case _:
                    continue
        lines: dict[ColumnRef, Line] = {}
        for ref in self.columns:
            if ref not in lines:
                members = self._tied.class_of(ref)
                kinds = [_kind(reading, member) for member in members]
                line = line_of(kinds, [pair for member in members for pair in constants.get(member, ())])
                lines.update(dict.fromkeys(members, line))
        return lines

    def _limits(self, line: Line, group: Sequence[ColumnRef]) -> Interval:
        if not line.has_steps:
            return Interval(0, 2 * len(line.points))
        found = Interval(-FAR, FAR)
        for ref in group:
            found = found.within(steps_of(_kind(self._reading, ref)))
        return found

    def _narrow(self) -> None:
        """Narrow the places to the constants that columns are compared with."""
        for predicate in self._predicates:
            if not isinstance(predicate, Bound | OneOf | NoneOf):
                continue
            kind = _kind(self._reading, predicate.column)
            node = self._nodes[self._index[predicate.column]]
            match predicate:
                case Bound(op=op, constant=constant):
                    stretch = stretch_of(node.line, kind, op, constant)
                    assert stretch is not None
                    node.places = node.places.within(stretch)
                case OneOf(constants=constants):
                    stretches = [stretch_of(node.line, kind, Op.EQ, constant) for constant in constants]
                    node.places = node.places.among(s.low for s in stretches if s is not None and s.size == 1)
                case NoneOf(constants=constants):
                    node.places = node.places.without(_places(node.line, kind, constants))
        for node in self._nodes:
            if node.line.has_steps:
                node.places = node.places.listed(_LISTED)
            if node.places.raised(-FAR) is None and self._reading.given.isdisjoint(node.columns):
                node.is_null, node.places = True, node.places.among(())


def conflicting(reading: MemoryReading) -> tuple[Condition, ...]:
    """Of conditions that cannot all hold, some that cannot, none of which can be left out."""
    left = list(reading.binding)
    many = (len(left) + 1) // 2
    while True:
        first = 0
        while first < len(left):
            without = left[:first] + left[first + many :]
            if Order(reading, tuple(without)).holds:
                first += many
            else:
                left = without
        if many == 1:
            return tuple(left)
        many = (many + 1) // 2


def _places(line: Line, kind: DataType, constants: Iterable[Constant]) -> Iterator[int]:
    """The places of constants that have one of their own."""
    for constant in constants:
        point = point_of(constant, kind)
        if point is not None and (line.has_steps or line.has_point(point)):
            yield line.place(point)


def _kind(reading: MemoryReading, ref: ColumnRef) -> DataType:
    kind = reading.kind(ref)
    assert kind is not None, ref
    return kind


def _upwards(comparison: Comparison) -> tuple[ColumnRef, ColumnRef, bool]:
    """The comparison as `low <= high`, or `low < high` if strict."""
    strict = comparison.op in (Op.LT, Op.GT)
    if comparison.op in (Op.GT, Op.GE):
        return comparison.right, comparison.left, strict
    return comparison.left, comparison.right, strict
