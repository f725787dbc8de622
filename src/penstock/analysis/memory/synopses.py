"""Which synopsis stands for a stream that MEMORY admits (sections 7.1, 7.2, 8.2).

The bucket columns of a stream are those that results show and those compared with other streams; each keeps apart what
lies between the least and the greatest constant of its line, as far as P lets it reach. In an endless stretch a
comparison is either settled for all rows (the other column cannot lie there), or active. A bag admits none that is
active. DISTINCT admits them as long as C3 holds, and then all that are active in one bucket ask for the same end:
the other streams' columns are all below all of the stream's own (or above), so the row whose least one is greatest
matches whatever any row of the bucket matches.

min and max of an endless column are such an extreme too: where nothing is active they are kept as an aggregate of the
bucket, as sums and counts always are; else they choose the row in the buckets where nothing is active.

Preconditions: no violation and no doubt bars the stream (failed_conditions.py, aggregates.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.facts.values import FAR, Interval, value_at
from penstock.analysis.memory.aggregates import counts_duplicates, is_holistic
from penstock.analysis.memory.failed_conditions import SourceComparison, active, stretches
from penstock.analysis.memory.lines import Line
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.analysis.synopsis_form import BucketColumn, Extreme, SynopsisForm, ValueLimits
from penstock.model.clauses import Aggregate, columns_of
from penstock.model.expressions import ColumnRef, Value
from penstock.model.predicates import Comparison, Op
from penstock.model.types import DataType


def is_bag(reading: MemoryReading, order: Order) -> bool:
    """Whether it matters how often a result is found."""
    query = reading.query
    if query.is_grouped:
        return any(counts_duplicates(aggregate, reading, order) for aggregate in reading.aggregates)
    return not query.distinct


def synopsis_of(reading: MemoryReading, order: Order, edges: tuple[SourceComparison, ...], alias: str) -> SynopsisForm:
    """The synopsis of one source."""
    extremes = tuple(_extremes(reading, order, edges, alias))
    kept_apart = dict.fromkeys(_apart(reading, alias, bool(extremes)))
    # Columns that `=` makes one are one; rows where `<=` both ways should and does not must still be kept apart.
    equal = reading.query.equalities(frozenset(reading.query.by_alias))
    columns = {equal.class_of(ref)[0]: _bucket_column(reading, order, ref) for ref in reversed(kept_apart)}
    pushed = tuple(str(a) for a in reading.aggregates if _is_pushed(a, alias))
    return SynopsisForm(alias, tuple(reversed(columns.values())), is_bag(reading, order), extremes, pushed)


def _apart(reading: MemoryReading, alias: str, has_extremes: bool) -> Iterator[ColumnRef]:
    """The columns by which rows of a source must be kept apart."""
    query = reading.query
    shown = [*query.group_by, *(o.value for o in query.outputs if not isinstance(o.value, Aggregate))]
    for value in shown:
        yield from (ref for ref in columns_of(value) if ref.alias == alias)
    compared = [ref for comparison, _ in reading.joins for ref in comparison.columns]
    compared += [ref for difference, _ in reading.bands for ref in difference.columns]
    yield from (ref for ref in compared if ref.alias == alias)
    for aggregate in reading.aggregates:
        if not _is_pushed(aggregate, alias) or (has_extremes and aggregate.function in ("min", "max")):
            yield from (ref for ref in aggregate.columns if ref.alias == alias)


def _is_pushed(aggregate: Aggregate, alias: str) -> bool:
    return not is_holistic(aggregate) and {ref.alias for ref in aggregate.columns} == {alias}


def _bucket_column(reading: MemoryReading, order: Order, ref: ColumnRef) -> BucketColumn:
    values, endless = order.buckets(ref)
    null = ref not in reading.given
    line, reach = order.line(ref), order.reach(ref)
    kind = reading.kind(ref)
    assert kind is not None
    if not reach.size:
        return BucketColumn(ref.column, values + null, members=())
    limits, members = _reached(line, reach, kind), None
    reached = order.places(ref).within(reach).numbers
    if reached is not None:
        members = tuple(value_at(place, kind) if line.has_steps else line.points[place // 2] for place in reached)
    if not line.has_steps:
        inside = range(reach.low, reach.high + 1)
        points = tuple(line.points[place // 2] for place in inside if place % 2)
        return BucketColumn(ref.column, values + null, endless, points=points, limits=limits, members=members)
    middle = line.middle.within(reach)
    if not middle.size:
        return BucketColumn(ref.column, values + null, endless, limits=limits, members=members)
    low, high = value_at(middle.low, kind), value_at(middle.high, kind)
    return BucketColumn(ref.column, values + null, endless, low, high, limits=limits, members=members)


def _reached(line: Line, reach: Interval, kind: DataType) -> ValueLimits:
    """The least and the greatest value that a column takes in results."""
    if line.has_steps:
        first, last = line.endless[0], line.endless[-1]
        low = None if reach.low <= first.high else value_at(reach.low, kind)
        return ValueLimits(low, None if reach.high >= last.low else value_at(reach.high, kind))
    under, over = (reach.low - 1) // 2, reach.high // 2
    return ValueLimits(
        line.points[under] if reach.low else None,
        line.points[over] if over < len(line.points) else None,
        bool(reach.low % 2),
        bool(reach.high % 2),
    )


def _extremes(
    reading: MemoryReading, order: Order, edges: tuple[SourceComparison, ...], alias: str
) -> Iterator[Extreme]:
    strict = {_pair(c) for c, _ in reading.joins if c.op in (Op.LT, Op.GT)}
    found: dict[tuple[ColumnRef, bool, Interval], bool] = {}
    for above in (True, False):
        for edge in active(edges, order, alias, above):
            for stretch in stretches(order, edge):
                key = (edge.end(above), above, stretch)
                found[key] = found.get(key, False) or (edge.low, edge.high) in strict
    # Where no comparison is active, the row that stands for a bucket must still be the one that min or max asks for.
    for aggregate in reading.aggregates if found else ():
        if _is_pushed(aggregate, alias) and aggregate.function in ("min", "max"):
            for ref in aggregate.columns:
                for stretch in order.endless(ref):
                    found.setdefault((ref, aggregate.function == "max", stretch), False)
    for (ref, above, stretch), is_strict in found.items():
        kind = reading.kind(ref)
        assert kind is not None
        yield Extreme(ref.column, above, is_strict, *_limits(order.line(ref), stretch, kind))


def _pair(comparison: Comparison) -> tuple[ColumnRef, ColumnRef]:
    up = comparison.op in (Op.LT, Op.LE)
    return (comparison.left, comparison.right) if up else (comparison.right, comparison.left)


def _limits(line: Line, stretch: Interval, kind: DataType) -> tuple[Value | None, Value | None]:
    """The values between which a stretch lies."""
    if line.has_steps:
        low = None if stretch.low == -FAR else value_at(stretch.low - 1, kind)
        return low, None if stretch.high == FAR else value_at(stretch.high + 1, kind)
    number = stretch.low // 2
    return line.points[number - 1] if number else None, line.points[number] if number < len(line.points) else None
