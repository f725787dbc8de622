"""Bounds of time that conditions imply: `to_date(a.ts) = to_date(b.ts)` says that the two lie about a day apart.

A condition over the times of two streams that is no difference of columns may still say how far they lie apart. Known
are equalities of two times cut to the same unit (date_trunc, to_date, trunc, CAST AS DATE) or of the windows that they
are in, comparisons of a cut time with another time, of any two times that are cut and moved (`near_times`) and of
their difference with a length, and comparisons of a number with timestampdiff, datediff, or a difference of
unix_timestamp and its kin. Each gives one or two differences, which hold wherever the condition does; they may be
looser than it, so it stays beside them and is tested as any other.

A count by timestampdiff of two TIMESTAMPs, or by datediff of two DATEs, is a difference itself (`exact_differences`);
the size of a difference (`abs(a.ts - b.ts)`) is two. Where the core decides which rows match, they stand in its place.

Preconditions: both columns are of one type that is a time. A TIMESTAMP is cut, and counted in days or hours, by the
clock on the wall of the session, which may jump: so a day is added, and no zone has jumped by more. That holds for a
cut time too: where the clock leaves its unit's beginning out, it is cut to a later time, less than the jump later. The
same where a function of a TIMESTAMP is given a TIMESTAMP_NTZ, since the hours that the clock leaves out are moved then,
or counts the seconds of a DATE. Whole days of a DATE, and the seconds of a TIMESTAMP, need none. Not decided: units
longer than a week of timestampdiff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.model.expressions import Call, Cast, ColumnRef, Literal, Term
from penstock.model.near_times import CUTS, DAY, LENGTHS, NearTime, near_time
from penstock.model.predicates import Difference, Op, Predicate, Residual
from penstock.model.spans import LONGEST_WRITTEN, Span, Unit, span_of_ticks
from penstock.model.term_types import ColumnTypes
from penstock.model.types import DataType, Kind
from penstock.model.window_columns import window_of
from penstock.records import record

_COUNTS = {
    "unix_timestamp": Unit.SECOND.value,
    "to_unix_timestamp": Unit.SECOND.value,
    "unix_seconds": Unit.SECOND.value,
    "unix_millis": Unit.MILLISECOND.value,
    "unix_micros": 1,
}
"""Functions that count whole units since 1970."""
_OPS = {op.value: op for op in Op}


@record
class _Counted:
    """Whole units from one time to a later one, cut off or rounded down at either end."""

    later: ColumnRef
    earlier: ColumnRef
    unit: int
    by_wall_clock: bool
    of_days: bool = False
    """Whether it is the difference of two days, which may be those of times."""


def implied_bounds(residual: Residual, column_type: ColumnTypes) -> tuple[Predicate, ...]:
    """The differences of times that hold wherever a condition does."""
    text = residual.text or str(residual)
    match residual.expression.term:
        case Call(function="=", arguments=(left, right)) if found_in := _in_window(left, right, text, column_type):
            return found_in
        case Call(function=function, arguments=(left, right)) if function in _OPS:
            found = _of_comparison(_OPS[function], left, right, column_type)
        case Call(function="between", arguments=(own, low, high)):
            found = [*_of_comparison(Op.GE, own, low, column_type), *_of_comparison(Op.LE, own, high, column_type)]
        case Call(function="in", arguments=(own, *others)) if numbers := _whole_numbers(others):
            low, high = Literal(min(numbers)), Literal(max(numbers))
            found = [*_of_comparison(Op.GE, own, low, column_type), *_of_comparison(Op.LE, own, high, column_type)]
        case _:
            return ()
    return tuple(
        Difference(limit.one, limit.other, limit.op, span_of_ticks(limit.ticks, True), text)
        for limit in found
        if abs(limit.ticks) <= LONGEST_WRITTEN
    )


def exact_differences(term: Term, text: str, column_type: ColumnTypes) -> tuple[Difference, ...]:
    """The differences of times that a condition is, no more and no less; none where it is something else.

    `timestampdiff` counts whole units by the clock on the wall, as the difference of two TIMESTAMPs is one by it, and
    cuts off towards zero: so it is at least n, for n above zero, where the difference is, and for others where the
    difference is above n - 1 units.
    """
    match term:
        case Call(function=function, arguments=(left, right)) if function in _OPS:
            asked = [(_OPS[function], left, right)]
        case Call(function="between", arguments=(own, low, high)):
            asked = [(Op.GE, own, low), (Op.LE, own, high)]
        case Call(function="in", arguments=(own, *others)) if _are_in_a_row(numbers := _whole_numbers(others)):
            asked = [(Op.GE, own, Literal(min(numbers))), (Op.LE, own, Literal(max(numbers)))]
        case _:
            return ()
    found: list[Difference] = []
    for op, left, right in asked:
        one = _exact(op, left, right, text, column_type)
        if not one:
            return ()
        found += one
    return tuple(dict.fromkeys(found)) if all(abs(one.span.ticks) <= LONGEST_WRITTEN for one in found) else ()


def _exact(op: Op, left: Term, right: Term, text: str, column_type: ColumnTypes) -> list[Difference]:
    if isinstance(left, Literal):
        op, left, right = op.mirrored, right, left
    match left, right:
        case (
            Call("abs", (Call("-", (ColumnRef() as later, ColumnRef() as earlier)),)),
            Literal(value=Span(unit=Unit()) as span),
        ) if op in (Op.LT, Op.LE) and span.ticks >= 0:
            return _sizes(later, earlier, (op, span), text, column_type)
    if not isinstance(right, Literal) or type(right.value) is not int:
        return []
    number, is_size = right.value, isinstance(left, Call) and left.function == "abs" and len(left.arguments) == 1
    counted = _counted(left.arguments[0] if is_size and isinstance(left, Call) else left)
    if counted is None or not (isinstance(left, Call) and _is_exact(counted, column_type)):
        return []
    if is_size and (op not in (Op.LT, Op.LE) or number < 0):
        return []
    wanted = [(op, number)] if op is not Op.EQ else [(Op.GE, number), (Op.LE, number)]
    wanted += [(op.mirrored, -number)] if is_size else []
    return [_count_difference(counted, *one, text) for one in wanted]


def _sizes(
    later: ColumnRef, earlier: ColumnRef, within: tuple[Op, Span], text: str, column_type: ColumnTypes
) -> list[Difference]:
    """A difference of two TIMESTAMPs, whichever is the later one."""
    kinds = column_type(later), column_type(earlier)
    if later.alias == earlier.alias or kinds[0] != kinds[1] or kinds[0] != DataType.of(Kind.TIMESTAMP):
        return []
    op, span = within
    both = (op, span), (op.mirrored, Span(-span.amount, span.unit))
    return [Difference(later, earlier, one, length, text, is_by_calendar=True) for one, length in both]


def _is_exact(counted: _Counted, column_type: ColumnTypes) -> bool:
    """Whether the count is of two TIMESTAMPs, or of the days of two DATEs."""
    kinds = column_type(counted.later), column_type(counted.earlier)
    if counted.later.alias == counted.earlier.alias or kinds[0] is None or kinds[0] != kinds[1]:
        return False
    return kinds[0].kind is (Kind.DATE if counted.of_days else Kind.TIMESTAMP) and counted.by_wall_clock


def _count_difference(counted: _Counted, op: Op, number: int, text: str) -> Difference:
    """`count op n` as a difference; a whole number is above n - 1 where it is n at least."""
    if op in (Op.LT, Op.GT):
        op, number = (Op.LE, number - 1) if op is Op.LT else (Op.GE, number + 1)
    if counted.of_days:
        of_days = span_of_ticks(number * counted.unit, True)
        return Difference(counted.later, counted.earlier, op, of_days, text)
    if op is Op.GE:
        op, units = (Op.GE, number) if number > 0 else (Op.GT, number - 1)
    else:
        op, units = (Op.LE, number) if number < 0 else (Op.LT, number + 1)
    span = span_of_ticks(units * counted.unit, True)
    return Difference(counted.later, counted.earlier, op, span, text, is_by_calendar=True)


@record
class _Limit:
    """One column lies less than so many microseconds above another, or at most so many."""

    one: ColumnRef
    other: ColumnRef
    ticks: int
    op: Op = Op.LT


def _of_comparison(op: Op, left: Term, right: Term, column_type: ColumnTypes) -> list[_Limit]:
    if op is Op.EQ and (both := _same_window(left, right)) is not None:
        one, other, length = both
        return [_Limit(one, other, length), _Limit(other, one, length)] if one.alias != other.alias else []
    if op is Op.EQ and (cut := _same_cut(left, right)) is not None:
        one, other, length = cut
        jump = _jump(one, other, column_type, free=Kind.DATE)
        return [] if jump is None else [_Limit(one, other, length + jump), _Limit(other, one, length + jump)]
    for own, time, seen in ((left, right, op), (right, left, op.mirrored)):
        if isinstance(time, ColumnRef) and (whole := _cut(own)) is not None:
            return list(_of_cut(*whole, seen, time, column_type))
    for own, number, seen in ((left, right, op), (right, left, op.mirrored)):
        if not isinstance(number, Literal) or type(number.value) is not int:
            continue
        if (counted := _counted(own)) is not None:
            return list(_of_count(counted, seen, number.value, column_type))
        inside = _counted(own.arguments[0]) if isinstance(own, Call) and own.function == "abs" else None
        if inside is not None and seen in (Op.LT, Op.LE):
            below = _of_count(inside, seen, number.value, column_type)
            return [*below, *_of_count(inside, seen.mirrored, -number.value, column_type)]
    return list(_of_near_times(op, left, right, column_type))


def _of_near_times(op: Op, left: Term, right: Term, column_type: ColumnTypes) -> Iterator[_Limit]:
    """What two times, or the difference of two and a length, say of the columns that they are worked out of."""
    for own, length, seen in ((left, right, op), (right, left, op.mirrored)):
        if isinstance(length, Literal) and isinstance(length.value, Span) and length.value.unit is not None:
            match own:
                case Call(function="-", arguments=(later, earlier)):
                    yield from _apart(seen, later, earlier, length.value.ticks, column_type)
                case Call("abs", (Call("-", (later, earlier)),)) if seen in (Op.LT, Op.LE):
                    yield from _apart(seen, later, earlier, length.value.ticks, column_type)
                    yield from _apart(seen.mirrored, later, earlier, -length.value.ticks, column_type)
            return
    yield from _above(op, near_time(left, column_type), near_time(right, column_type), column_type)


def _apart(op: Op, later: Term, earlier: Term, ticks: int, column_type: ColumnTypes) -> Iterator[_Limit]:
    """Two times that lie so far apart by the clock on the wall."""
    one, other = near_time(later, column_type), near_time(earlier, column_type)
    if one is not None and other is not None:
        jump = _jump(one.column, other.column, column_type, free=Kind.DATE)
        yield from () if jump is None else _above(op, one, other.moved(ticks - jump, ticks + jump), column_type)


def _above(op: Op, one: NearTime | None, other: NearTime | None, column_type: ColumnTypes) -> Iterator[_Limit]:
    """`one op other` as limits of their columns."""
    if one is None or other is None or _jump(one.column, other.column, column_type, free=Kind.DATE) is None:
        return
    if op in (Op.EQ, Op.LE, Op.LT):
        yield _Limit(one.column, other.column, other.high - one.low, Op.LE)
    if op in (Op.EQ, Op.GE, Op.GT):
        yield _Limit(other.column, one.column, one.high - other.low, Op.LE)


def _are_in_a_row(numbers: list[int]) -> bool:
    """Whether whole numbers leave none out between them."""
    return bool(numbers) and len(set(numbers)) == max(numbers) - min(numbers) + 1


def _whole_numbers(terms: Iterable[Term]) -> list[int]:
    """The values of some literals; none if one is no whole number."""
    found = [term.value if isinstance(term, Literal) else None for term in terms]
    numbers = [value for value in found if type(value) is int]
    return numbers if len(numbers) == len(found) else []


def _of_cut(ref: ColumnRef, length: int, op: Op, time: ColumnRef, column_type: ColumnTypes) -> Iterator[_Limit]:
    """`cut <= time` leaves less than a unit up to the whole time, `cut >= time` nothing but a jump down to it.

    An equality is a key as well, by which a time that passes the cut one closes it, tighter than by a jump.
    """
    jump = _jump(ref, time, column_type, free=Kind.DATE)
    if jump is None:
        return
    if op in (Op.EQ, Op.LE, Op.LT):
        yield _Limit(ref, time, length + jump)
    if op in (Op.GE, Op.GT):
        yield _Limit(time, ref, DAY)


def _of_count(counted: _Counted, op: Op, number: int, column_type: ColumnTypes) -> Iterator[_Limit]:
    """`count <= n` leaves less than n + 1 units, `count >= n` more than n - 1 of them."""
    free = Kind.DATE if counted.by_wall_clock else Kind.TIMESTAMP
    jump = _jump(counted.later, counted.earlier, column_type, free=free)
    if jump is None:
        return
    if op in (Op.EQ, Op.LE, Op.LT):
        yield _Limit(counted.later, counted.earlier, (number + (op is not Op.LT)) * counted.unit + jump)
    if op in (Op.EQ, Op.GE, Op.GT):
        yield _Limit(counted.earlier, counted.later, -(number - (op is not Op.GT)) * counted.unit + jump)


def _jump(one: ColumnRef, other: ColumnRef, column_type: ColumnTypes, *, free: Kind) -> int | None:
    """How far the clock on the wall may jump between two times of one type, `free` of it; None if they are none."""
    kinds = column_type(one), column_type(other)
    if one.alias == other.alias or kinds[0] is None or kinds[0] != kinds[1] or not kinds[0].is_instant:
        return None
    return 0 if kinds[0].kind is free else DAY


def _same_cut(left: Term, right: Term) -> tuple[ColumnRef, ColumnRef, int] | None:
    one, other = _cut(left), _cut(right)
    if one is None or other is None or one[1] != other[1]:
        return None
    return one[0], other[0], one[1]


def _in_window(left: Term, right: Term, text: str, column_type: ColumnTypes) -> tuple[Difference, ...]:
    """A time lies at the start of its window or less than a length above it; at the end none does."""
    for own, time in ((left, right), (right, left)):
        window = window_of(own)
        if not isinstance(time, ColumnRef) or window is None or window.end is None:
            continue
        if _jump(window.column, time, column_type, free=Kind.TIMESTAMP) == 0:
            low = 0 if window.end == "start" else -window.step
            spans = span_of_ticks(low, True), span_of_ticks(low + window.step, True)
            ops = zip((Op.GE, Op.LT), spans, strict=True)
            return tuple(Difference(window.column, time, op, span, text) for op, span in ops)
    return ()


def _same_window(left: Term, right: Term) -> tuple[ColumnRef, ColumnRef, int] | None:
    """Two times that lie in one window, which no clock on a wall makes, and its length."""
    one, other = window_of(left), window_of(right)
    if one is None or other is None or replace(one, column=other.column) != other:
        return None
    return one.column, other.column, one.step


def _cut(term: Term) -> tuple[ColumnRef, int] | None:
    """A time cut to a unit, and its length."""
    match term:
        case Call(function="date_trunc", arguments=(ColumnRef() as ref, Literal(value=str() as unit))):
            length = CUTS.get(unit.upper())
            return None if length is None else (ref, length)
        case Call(function="trunc", arguments=(ColumnRef() as ref, Literal(value=str() as unit))):
            length = CUTS.get(unit.upper())
            return None if length is None else (ref, length)
        case Call(function="to_date", arguments=(ColumnRef() as ref,)):
            return ref, DAY
        case Cast(value=ColumnRef() as ref, to=DataType(kind=Kind.DATE)):
            return ref, DAY
        case _:
            return None


def _counted(term: Term) -> _Counted | None:
    match term:
        case Call("timestampdiff", (ColumnRef() as later, ColumnRef() as earlier, Literal(value=str() as unit))):
            length = LENGTHS.get(unit.upper().removesuffix("S"))
            return None if length is None else _Counted(later, earlier, length, by_wall_clock=True)
        case Call("datediff" | "date_diff", (first, second, Literal(value=str() as unit))):
            # As timestampdiff, which sqlglot reads as one of days.
            length, days = LENGTHS.get(unit.upper().removesuffix("S")), [_day_of(side) for side in (first, second)]
            if length is None or days[0] is None or days[1] is None or not all(map(_is_whole, (first, second))):
                return None
            return _Counted(days[0], days[1], length, by_wall_clock=True)
        case Call(function="datediff" | "date_diff", arguments=(first, second)):
            days = [_day_of(side) for side in (first, second)]
            if days[0] is None or days[1] is None:
                return None
            return _Counted(days[0], days[1], DAY, by_wall_clock=True, of_days=True)
        case Call(
            function="-",
            arguments=(
                Call(function=first, arguments=(ColumnRef() as later, *_)),
                Call(function=second, arguments=(ColumnRef() as earlier, *_)),
            ),
        ) if first == second and first in _COUNTS:
            return _Counted(later, earlier, _COUNTS[first], by_wall_clock=False)
        case Call("-", (Cast(value=ColumnRef() as later, to=one), Cast(value=ColumnRef() as earlier, to=two))):
            # Of a TIMESTAMP, as of nothing else that is a time, Spark makes its whole seconds.
            seconds = one == two == DataType.of(Kind.BIGINT)
            return _Counted(later, earlier, Unit.SECOND.value, by_wall_clock=False) if seconds else None
        case _:
            return None


def _is_whole(term: Term) -> bool:
    """Whether a time is given as it is, and not its day."""
    match term:
        case ColumnRef() | Call(function="ts_or_ds_to_date", arguments=(ColumnRef(),)):
            return True
        case _:
            return False


def _day_of(term: Term) -> ColumnRef | None:
    match term:
        case ColumnRef():
            return term
        case Call(function="ts_or_ds_to_date" | "to_date", arguments=(ColumnRef() as ref,)):
            return ref
        case Cast(value=ColumnRef() as ref, to=DataType(kind=Kind.DATE)):
            return ref
        case _:
            return None
