"""Values as whole numbers on a scale, so that a growing input can be laid out by arithmetic.

The scale of a type with steps are its steps; of a TIMESTAMP, microseconds; of FLOAT and DOUBLE, whole numbers; of
BINARY, the numbers from 0 on. A STRING has a block of the scale for each place of its line: at a point's block only the
point itself, in a stretch's block the point before it with a number of fixed width behind, which sorts after it.
Whether such a text lies before the next point is seen when the witness is checked.

Not decided: types without a scale (arrays, structs, TIME, VARCHAR(n) and the like); no input is written for these.
"""

from __future__ import annotations

import datetime as dt

from penstock.analysis.facts.values import FAR, Interval, has_steps, steps_of, value_at
from penstock.analysis.memory.lines import Line
from penstock.model.expressions import Value
from penstock.model.types import DataType, Kind

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST_DAY = (dt.datetime(2020, 1, 1) - _EPOCH) // _MICROSECOND
_BLOCK = 10**12
_DIGITS = 12
_MOMENTS = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_SCALED = (Kind.STRING, Kind.FLOAT, Kind.DOUBLE, Kind.BINARY, *_MOMENTS)
_EXACT = 2**24
"""Every whole number up to this is a FLOAT."""


def has_scale(kind: DataType) -> bool:
    """Whether values of a type can be laid out; a VARCHAR(n) may be too short for them."""
    return has_steps(kind) or (kind.kind in _SCALED and kind.length is None)


def limits_on_scale(kind: DataType) -> Interval:
    """The numbers that have a value."""
    if has_steps(kind):
        return steps_of(kind)
    if kind.kind in _MOMENTS:
        return Interval((dt.datetime.min - _EPOCH) // _MICROSECOND, (dt.datetime.max - _EPOCH) // _MICROSECOND)
    if kind.kind is Kind.STRING:
        return Interval(0, FAR)
    return Interval(-_EXACT if kind.kind is not Kind.BINARY else 0, _EXACT)


def origin(kind: DataType) -> int:
    """Where to start if nothing says where."""
    if kind.kind is Kind.DATE:
        return dt.date(2020, 1, 1).toordinal()
    return _FIRST_DAY if kind.kind in _MOMENTS else 1


def on_scale(line: Line, kind: DataType, places: Interval) -> Interval:
    """The numbers of the values at these places."""
    limits = limits_on_scale(kind)
    if line.has_steps:
        return places.within(limits)
    if kind.kind is Kind.STRING:
        low = places.low * _BLOCK + (places.low % 2 == 0)
        return Interval(low, places.high * _BLOCK + (0 if places.high % 2 else _BLOCK - 1)).within(limits)
    marks = [(point - _EPOCH) // _MICROSECOND for point in line.points if isinstance(point, dt.datetime)]
    low, high = limits.low, limits.high
    if places.low > 0:
        low = marks[(places.low - 1) // 2] + (places.low % 2 == 0)
    if places.high < 2 * len(marks):
        high = marks[places.high // 2] - (places.high % 2 == 0)
    return Interval(low, high).within(limits)


def is_open(line: Line, kind: DataType, stretch: Interval) -> tuple[bool, bool]:
    """Whether no point limits a stretch from below, and from above; a STRING's block always starts somewhere."""
    if line.has_steps:
        return stretch.low == -FAR, stretch.high == FAR
    return stretch.low == 0 and kind.kind is not Kind.STRING, stretch.high == 2 * len(line.points)


def value_of(line: Line, kind: DataType, number: int) -> Value | float | bytes:
    """The value at a number."""
    if has_steps(kind):
        return value_at(number, kind)
    if kind.kind in _MOMENTS:
        return _EPOCH + number * _MICROSECOND
    if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
        return float(number)
    if kind.kind is Kind.BINARY:
        return number.to_bytes(8, "big")
    block, rest = divmod(number, _BLOCK)
    point = line.points[(block - 1) // 2] if block else ""
    assert isinstance(point, str)
    return point if block % 2 else f"{point}{rest:0{_DIGITS}d}"
