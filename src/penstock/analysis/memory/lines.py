"""The values of columns that are compared with each other, as places on one line (MEMORY, sections 4, 7.1 and 9).

Columns that a comparison ties together share a line. Its points are the constants that any of them is compared with.
Places are whole numbers on every line:

- a type with steps (facts/values.py) has its steps as places. Endless are what lies below the least point and what
  lies above the greatest; between the two every value can be told apart in bounded memory;
- any other type is taken to be dense. Place 2i + 1 is the i-th point, and the even places are the open stretches
  between, each of them endless (section 9: an attribute is bounded iff finitely many values satisfy the predicates).

A small type (BOOLEAN, TINYINT, SMALLINT, short decimals) has its limits as points. INT, BIGINT, DATE
and longer decimals count as endless, unless a constant leaves at most FEW values up to a limit: then the limit is a
point too.

A line is no domain: it says where values lie, and which of them bounded memory cannot tell apart; what conditions leave
of it to a column is a set of its places (facts/places.py), kept by order.py.

Preconditions: `=` tells the values apart, so no collations and no CHAR(n).
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property

from penstock.analysis.facts.values import FAR, FEW, Interval, has_steps, is_small, meeting, step_of, steps_of
from penstock.model.expressions import Constant
from penstock.model.predicates import Op
from penstock.model.types import DataType, Kind
from penstock.records import record

Point = int | str | dt.datetime


@record
class Line:
    """One line: whether it has steps, and its points in their order."""

    has_steps: bool
    points: tuple[Point, ...]

    @property
    def endless(self) -> tuple[Interval, ...]:
        """The stretches that hold more values than bounded memory can tell apart, in their order."""
        if not self.has_steps:
            return tuple(Interval(place, place) for place in range(0, 2 * len(self.points) + 1, 2))
        middle = self.middle
        if not middle.size:
            return (Interval(-FAR, FAR),)
        return Interval(-FAR, middle.low - 1), Interval(middle.high + 1, FAR)

    @property
    def middle(self) -> Interval:
        """On a line with steps, from the least point to the greatest; empty if there is none."""
        steps = [point for point in self.points if isinstance(point, int)]
        return Interval(min(steps), max(steps)) if steps else Interval(0, -1)

    def place(self, point: Point) -> int:
        """The place of a point."""
        if isinstance(point, int):
            return point
        return 2 * bisect_left(self._keys, str_or_moment(point)) + 1

    def has_point(self, point: Point) -> bool:
        """Whether it is one of the points."""
        return point in self._points

    @cached_property
    def _keys(self) -> list[tuple[str, dt.datetime | int]]:
        return [str_or_moment(point) for point in self.points]

    @cached_property
    def _points(self) -> frozenset[Point]:
        return frozenset(self.points)

    def after(self, place: int) -> int:
        """The least place of a value that is greater than some value at this place."""
        return place + 1 if self.has_steps or place % 2 else place

    def apart(self, stretch: Interval) -> tuple[int, int]:
        """How many values of a stretch are told apart one by one, and how many endless stretches it touches."""
        if not self.has_steps:
            inside = range(stretch.low, stretch.high + 1)
            return sum(place % 2 for place in inside), sum(1 - place % 2 for place in inside)
        return self.middle.within(stretch).size, sum(end.within(stretch).size > 0 for end in self.endless)


def str_or_moment(point: Point) -> tuple[str, dt.datetime | int]:
    """A key that sorts the points of one line; on one line they are all of one type."""
    return (point, 0) if isinstance(point, str) else ("", point)


def line_of(kinds: Iterable[DataType], constants: Iterable[tuple[Constant, DataType]]) -> Line:
    """The line of columns of these types, compared with these constants."""
    types = list(kinds)
    if not has_steps(types[0]):
        found = {point for constant, kind in constants if (point := point_of(constant, kind)) is not None}
        return Line(False, tuple(sorted(found, key=str_or_moment)))
    steps = {step for constant, kind in constants for step in _steps_beside(constant, kind)}
    for kind in types:
        limits = steps_of(kind)
        if is_small(kind):
            steps |= {limits.low, limits.high}
    for kind in types:
        limits = steps_of(kind)
        steps |= {limits.low} if steps and 0 < min(steps) - limits.low <= FEW else set()
        steps |= {limits.high} if steps and 0 < limits.high - max(steps) <= FEW else set()
    return Line(True, tuple(sorted(steps)))


def point_of(constant: Constant, kind: DataType) -> Point | None:
    """A constant as a point of its line; None if it lies between two steps, or is no value of the type."""
    if has_steps(kind):
        step = step_of(constant, kind)
        return int(step) if step is not None and step.denominator == 1 else None
    is_text = kind.kind is Kind.STRING and isinstance(constant.value, str)
    is_moment = kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and isinstance(constant.value, dt.datetime)
    return constant.value if (is_text or is_moment) and isinstance(constant.value, str | dt.datetime) else None


def _steps_beside(constant: Constant, kind: DataType) -> Iterator[int]:
    step = step_of(constant, kind)
    if step is not None:
        yield from {math.floor(step), math.ceil(step)}


def stretch_of(line: Line, kind: DataType, op: Op, constant: Constant) -> Interval | None:
    """The places that satisfy `column op constant`; None if the constant has no place."""
    if line.has_steps:
        step = step_of(constant, kind)
        return None if step is None else meeting(op, step)
    point = point_of(constant, kind)
    return None if point is None else meeting(op, Fraction(line.place(point)))
