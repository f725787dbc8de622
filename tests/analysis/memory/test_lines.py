"""Columns as places on one line: steps are told apart one by one, open stretches are endless."""

from __future__ import annotations

from penstock.analysis.facts.values import FAR, Interval
from penstock.analysis.memory.lines import Line, line_of, point_of, stretch_of
from penstock.model.expressions import Constant
from penstock.model.predicates import Op
from tests.analysis.build import data_type

BIGINT, TINYINT, STRING = data_type("BIGINT"), data_type("TINYINT"), data_type("STRING")
FIVE, NINE = Constant("5", 5), Constant("9", 9)


def test_without_a_constant_whole_numbers_are_one_endless_stretch() -> None:
    line = line_of([BIGINT], [])
    assert line.endless == (Interval(-FAR, FAR),)
    assert line.apart(Interval(-FAR, FAR)) == (0, 1)


def test_between_two_constants_numbers_are_told_apart() -> None:
    line = line_of([BIGINT], [(FIVE, BIGINT), (NINE, BIGINT)])
    assert line.middle == Interval(5, 9)
    assert line.endless == (Interval(-FAR, 4), Interval(10, FAR))
    assert line.apart(Interval(7, FAR)) == (3, 1)


def test_a_small_type_has_its_limits_as_points() -> None:
    line = line_of([TINYINT], [])
    assert line.middle == Interval(-128, 127)


def test_strings_have_points_and_the_stretches_between_them() -> None:
    line = line_of([STRING], [(Constant("'b'", "b"), STRING), (Constant("'a'", "a"), STRING)])
    assert line == Line(False, ("a", "b"))
    assert [line.place("a"), line.place("b")] == [1, 3]
    assert [stretch.low for stretch in line.endless] == [0, 2, 4]
    assert line.has_point("a")
    assert not line.has_point("c")


def test_the_places_that_a_comparison_leaves() -> None:
    line = line_of([BIGINT], [(FIVE, BIGINT)])
    assert stretch_of(line, BIGINT, Op.LT, FIVE) == Interval(-FAR, 4)
    assert stretch_of(line, BIGINT, Op.GE, FIVE) == Interval(5, FAR)
    words = line_of([STRING], [(Constant("'m'", "m"), STRING)])
    assert stretch_of(words, STRING, Op.EQ, Constant("'m'", "m")) == Interval(1, 1)


def test_a_constant_between_two_steps_is_no_point() -> None:
    assert point_of(Constant("2.5", 2), BIGINT) == 2
    assert point_of(Constant("'x'", "x"), BIGINT) is None


def test_what_comes_after_a_place() -> None:
    assert line_of([BIGINT], []).after(3) == 4
    words = Line(False, ("a",))
    assert (words.after(0), words.after(1)) == (0, 2)
