"""A growing input for a query that violates C1, C2 or C3 (MEMORY, Examples 5.8, 5.9 and 5.12, made general).

There are N copies of a result to be, each with a tuple of every source that satisfies all conditions. Only the tuples
of one source arrive; any of them may still be asked for, by the rest of its own copy. The c-th copy has the columns of
the violation in the c-th of N windows of their endless stretch:

- an endless output, group or join column: c upwards, so each copy has its own value (5.8);
- a bag that compares x and y: both in window c, so the rest of copy c meets tuple c and none after it; the number of
  matches gives every set of tuples away (5.9);
- DISTINCT with two comparisons: in MinRef and MaxRef both upwards, in one of them twice one upwards and one downwards,
  so the rest of copy c meets tuple c and no other (5.12); an extreme that conflicts with a comparison likewise.

Everything else takes the least value that the conditions allow, time differences included (`facts/differences.py`).
What only a PRIMARY KEY, ARRIVES BY or an aggregate needs is counted up too. Each copy is then checked against every
condition as written, so a layout that fails is no witness.

Preconditions: no condition is unread, and no column of the violation is derived. Promises are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.facts.differences import least
from penstock.analysis.facts.values import FAR, Interval
from penstock.analysis.finding import Witness
from penstock.analysis.memory.failed_conditions import FailedCondition, Placement
from penstock.analysis.memory.measured_columns import is_measured, named_numbers, whole_numbers
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.analysis.memory.scale import has_scale, is_open, limits_on_scale, on_scale, origin, value_of
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, Difference, NoneOf, OneOf, Op
from penstock.model.spans import Unit
from penstock.model.types import DataType, Kind
from penstock.records import record

Row = tuple[str, tuple[tuple[str, object], ...]]
"""A stream's name, and the columns that are not NULL."""


@record
class MemoryWitness:
    """N results to be: the tuple that arrives of each, and the rest that asks for it."""

    violation: FailedCondition
    rows: tuple[Row, ...]
    probes: tuple[tuple[Row, ...], ...]

    @property
    def witness(self) -> Witness:
        """As `check` shows it."""
        return Witness(MemoryReason.MUST_BE_REMEMBERED(self.rows[0][0], self.violation.forced), self.rows)


def copies_of(reading: MemoryReading, order: Order, violation: FailedCondition, count: int) -> MemoryWitness | None:
    """The layout of a violation; None if there is none that passes every condition."""
    if any(reading.is_derived(ref) for ref, _ in violation.rungs):
        return None
    layout = _Layout(reading, order, violation, count)
    assignments = [layout.copy(number) for number in range(count)] if layout.is_possible else []
    found = [
        values for values in assignments if values is not None and all(c.passes(values) for c in reading.conditions)
    ]
    if len(found) < max(count, 1):
        return None
    query = reading.query
    own = query.by_alias[violation.grows]
    others = [source for source in query.all_sources if source is not own]
    rows = tuple((own.stream.name, _row(values, own)) for values in found)
    probes = tuple(tuple((s.stream.name, _row(values, s)) for s in others) for values in found)
    return MemoryWitness(violation, rows, probes)


def _row(values: Mapping[ColumnRef, object], source: Source) -> tuple[tuple[str, object], ...]:
    found = [(ref.column, value) for ref, value in values.items() if ref.alias == source.alias]
    declared = [column.name for column in source.stream.columns]
    return tuple(sorted(found, key=lambda pair: declared.index(pair[0])))


class _Layout:
    """Where the columns of each copy stand, class of equal columns by class."""

    def __init__(self, reading: MemoryReading, order: Order, violation: FailedCondition, count: int) -> None:
        self._reading, self._order, self._count = reading, order, count
        pinned = {ref for ref, _ in violation.rungs}
        aggregated = {ref for a in reading.aggregates for ref in a.columns if isinstance(a.argument, ColumnRef)}
        carried = [ref for ref in order.columns if ref in reading.given or ref in pinned or ref in aggregated]
        self._columns = [ref for ref in carried if not reading.is_derived(ref)]
        self._heads = tuple(dict.fromkeys(self._head(ref) for ref in self._columns))
        self.is_possible = all(has_scale(self._kind(ref)) for ref in self._columns)
        self._gaps = tuple(self._found_gaps())
        self._rungs = {self._head(ref): rung for ref, rung in violation.rungs}
        conditioned = {self._head(ref) for c in reading.binding for ref in c.predicate.columns if ref in carried}
        for head in self._heads:
            if head not in self._rungs and head not in conditioned and order.endless(head):
                self._rungs[head] = Placement(order.endless(head)[-1])

    def _head(self, ref: ColumnRef) -> ColumnRef:
        return self._order.equal_to(ref)[0]

    def _kind(self, ref: ColumnRef) -> DataType:
        kind = self._reading.kind(ref)
        assert kind is not None
        return kind

    def _found_gaps(self) -> Iterator[tuple[ColumnRef, ColumnRef, int]]:
        """`high - low >= gap`, for each comparison and difference, on the scale of the columns."""
        for condition in self._reading.binding:
            match condition.predicate:
                case Comparison(left=left, op=op, right=right) if op is not Op.EQ:
                    low, high = (left, right) if op in (Op.LT, Op.LE) else (right, left)
                    yield self._head(low), self._head(high), int(op in (Op.LT, Op.GT))
                case Difference(minuend=left, subtrahend=right, op=op, span=span):
                    step = Unit.DAY.value if self._kind(left).kind is Kind.DATE else 1
                    if op in (Op.GE, Op.GT, Op.EQ):
                        yield self._head(right), self._head(left), -(-span.ticks // step) + (op is Op.GT)
                    if op in (Op.LE, Op.LT, Op.EQ):
                        yield self._head(left), self._head(right), (op is Op.LT) - span.ticks // step
                case _:
                    continue

    @cached_property
    def _widths(self) -> dict[ColumnRef, int]:
        """For each line, room in one window for all its columns, in any order, and for the differences between them."""
        widths: dict[ColumnRef, int] = {}
        for head in self._heads:
            line = self._order.first_on_line(head)
            is_moment = self._kind(head).kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
            # Seconds are easier to read than microseconds.
            room = 1 + len(self._shunned.get(head, ()))
            widths[line] = widths.get(line, Unit.SECOND.value if is_moment else 0) + room
        for low, _, gap in self._gaps:
            widths[self._order.first_on_line(low)] += 2 * abs(gap) if abs(gap) > 1 else 0
        return widths

    @cached_property
    def _ladders(self) -> dict[tuple[ColumnRef, Interval], tuple[int, int]] | None:
        """The first number and the width of the windows in each stretch of each line; None if there is no room."""
        spans: dict[tuple[ColumnRef, Interval], Interval] = {}
        for head, rung in self._rungs.items():
            if rung.still:
                continue
            key = self._order.first_on_line(head), rung.stretch
            span = spans.get(key, Interval(-FAR, FAR))
            for ref in self._order.equal_to(head):
                span = span.within(on_scale(self._order.line(ref), self._kind(ref), rung.stretch))
                span = span.within(self._measured(ref))
            spans[key] = span
        ladders: dict[tuple[ColumnRef, Interval], tuple[int, int]] = {}
        for (first, stretch), span in spans.items():
            kind = self._kind(first)
            rungs = self._count * (1 + any(rung.half is not None for rung in self._rungs.values()))
            width = min(self._widths[first], max(span.size // rungs, 1))
            open_low, open_high = is_open(self._order.line(first), kind, stretch)
            start = span.low
            if open_low:
                start = max(origin(kind), span.low) if open_high else span.high - rungs * width + 1
            start = min(start, span.high - rungs * width + 1)
            if start < span.low:
                return None
            ladders[first, stretch] = start, width
        return ladders

    def _window(self, head: ColumnRef, number: int) -> Interval | None:
        """The numbers where a class stands in one copy, if the violation says."""
        rung = self._rungs.get(head)
        if rung is None or self._ladders is None:
            return None
        if rung.still:
            return on_scale(self._order.line(head), self._kind(head), rung.stretch)
        start, width = self._ladders[self._order.first_on_line(head), rung.stretch]
        step = (self._count - 1 - number if rung.falling else number) + self._count * (rung.half or 0)
        return Interval(start + step * width, start + (step + 1) * width - 1)

    def copy(self, number: int) -> dict[ColumnRef, object] | None:
        """The values of one copy."""
        if self._ladders is None:
            return None
        windows = {head: window for head in self._heads if (window := self._window(head, number)) is not None}
        spans = {head: self._span(head, windows) for head in self._heads}
        gaps = ((low, high, gap.__add__) for low, high, gap in self._gaps)
        numbers = least({head: span.low for head, span in spans.items()}, gaps, self._raised)
        if numbers is None:
            return None
        if any(numbers[head] > span.high for head, span in spans.items()):
            return None
        return {
            ref: self._fixed[self._head(ref)]
            if self._head(ref) in self._fixed
            else value_of(self._order.line(ref), self._kind(ref), numbers[self._head(ref)])
            for ref in self._columns
        }

    def _span(self, head: ColumnRef, windows: Mapping[ColumnRef, Interval]) -> Interval:
        """From the least number that a class may take in a copy to the greatest."""
        span, is_limited, most = self._spans[head]
        if head in windows:
            return span.within(windows[head])
        if is_limited:
            return span
        # Nothing says where to start: just below the windows of the line, and below what the class must not pass.
        first = self._order.first_on_line(head)
        width = self._widths[first]
        beside = [window.low - width for other, window in windows.items() if self._order.first_on_line(other) == first]
        start = min(beside, default=origin(self._kind(head)))
        return Interval(max(span.low, min(start, most - width)), span.high)

    @cached_property
    def _spans(self) -> dict[ColumnRef, tuple[Interval, bool, int]]:
        """For each class: its numbers, whether a constant limits them from below, and the greatest in any result."""
        found = {}
        for head in self._heads:
            line = self._order.line(head)
            stretch = self._order.places(head).range
            span = limits = Interval(-FAR, FAR)
            for ref in self._order.equal_to(head):
                span = span.within(on_scale(line, self._kind(ref), stretch)).within(self._measured(ref))
                limits = limits.within(limits_on_scale(self._kind(ref)))
            most = min(on_scale(line, self._kind(head), self._order.reach(head)).high, span.high)
            found[head] = span, span.low > limits.low, most
        return found

    @cached_property
    def _shunned(self) -> dict[ColumnRef, frozenset[object]]:
        """The values that `<>` and NOT IN keep classes from."""
        found: dict[ColumnRef, frozenset[object]] = {}
        for condition in self._reading.binding:
            if isinstance(condition.predicate, NoneOf) and condition.predicate.column in self._order.columns:
                head = self._head(condition.predicate.column)
                values = frozenset(constant.value for constant in condition.predicate.constants)
                found[head] = found.get(head, frozenset()) | values
        return found

    @cached_property
    def _fixed(self) -> dict[ColumnRef, float]:
        """The values of FLOAT and DOUBLE columns that `=` or IN with constants names, where no copy needs its own."""
        found: dict[ColumnRef, float] = {}
        for condition in self._reading.binding:
            predicate = condition.predicate
            if not isinstance(predicate, Bound | OneOf) or not is_measured(predicate, self._reading.kind):
                continue
            if predicate.column not in self._order.columns:
                continue  # A CHECK of a column that the query does not read.
            head = self._head(predicate.column)
            about = [c for c in self._reading.binding if c.predicate.columns == predicate.columns]
            for value in named_numbers(predicate):
                if head not in self._rungs and all(c.passes({predicate.column: value}) for c in about):
                    found.setdefault(head, value)
        return found

    def _measured(self, ref: ColumnRef) -> Interval:
        """The whole numbers that the constants leave to a FLOAT or DOUBLE."""
        if self._kind(ref).kind not in (Kind.FLOAT, Kind.DOUBLE) or self._head(ref) in self._fixed:
            return Interval(-FAR, FAR)
        return whole_numbers(c.predicate for c in self._reading.binding if c.predicate.columns == (ref,))

    def _raised(self, head: ColumnRef, number: int) -> int | None:
        listed = self._order.places(head).numbers
        line, kind = self._order.line(head), self._kind(head)
        if listed is None:
            shunned, last = self._shunned.get(head, ()), limits_on_scale(kind).high
            while shunned and number <= last and value_of(line, kind, number) in shunned:
                number += 1
            return number if number <= last else None
        places = sorted(on_scale(line, kind, Interval(member, member)).low for member in listed)
        return next((place for place in places if place >= number), None)
