"""What a chase knows: terms joined, rows merged, times limited; a copy is its own."""

from __future__ import annotations

from penstock.analysis.implication.chase_state import ChaseState, Times
from penstock.analysis.implication.rules import Premise, Reach
from tests.analysis.implication.scripts import Two


def state() -> ChaseState:
    return ChaseState(Two().shapes, ((False, False), (True, True)))


def test_terms_are_joined_once_and_values_spread() -> None:
    one = state()
    x, y = one.add(0), one.add(0)
    assert one.join(one.term(x, 0), one.term(y, 0))
    assert not one.join(one.term(y, 0), one.term(x, 0))
    assert one.have_value(x, 0)
    assert not one.have_value(y, 0)
    assert one.is_value(y, 0)


def test_null_agrees_with_nothing() -> None:
    one = state()
    x, y = one.add(0), one.add(0)
    one.join(one.term(x, 0), one.term(y, 0))
    same = Premise(0, 0, ((0, 0),), Reach())
    assert not one.agree(same, x, y)
    assert one.same(x, y, ((0, 0),))
    one.have_value(x, 0)
    assert one.agree(same, x, y)


def test_a_column_that_has_always_a_value_has_one_from_the_start() -> None:
    one = state()
    assert one.is_value(one.add(1), 0)
    assert not one.is_value(one.add(0), 0)


def test_rows_that_are_one_have_one_time_and_one_set_of_values() -> None:
    one = state()
    x, y = one.add(0), one.add(0)
    assert one.merge(x, y)
    assert one.alive == [x]
    assert one.terms(x) == one.terms(y)
    apart = state()
    x, y = apart.add(0), apart.add(0)
    assert apart.times.put_in(x, y, Reach(1, None))
    assert not apart.merge(x, y)


def test_a_copy_is_changed_alone() -> None:
    one = state()
    x, y = one.add(0), one.add(0)
    twin = one.copy()
    twin.merge(x, y)
    twin.have_value(x, 1)
    assert one.alive == [x, y]
    assert not one.is_value(x, 1)


def test_the_rows_that_a_row_answers() -> None:
    one = state()
    x = one.add(0)
    y = one.add(1, parent=x)
    z = one.add(0, parent=y)
    assert one.ancestors(z) == [y, x]
    assert one.name(z) == "r#2"


def test_windows_are_certain_impossible_or_open() -> None:
    times = Times()
    assert times.put_in(0, 1, Reach(2, 4))
    assert times.inside(0, 1, Reach(0, 5)) is True
    assert times.inside(0, 1, Reach(5, None)) is False
    assert times.inside(0, 1, Reach(3, 4)) is None
    assert times.put_in(1, 2, Reach(1, 1))
    assert times.inside(0, 2, Reach(3, 5)) is True
    assert not times.put_in(0, 2, Reach(6, None))


def test_on_whole_numbers_nothing_lies_between_two_neighbours() -> None:
    whole, dense = Times(), Times()
    for times, step in ((whole, 1), (dense, 0)):
        assert times.put_after(0, 1, Reach(None, 3), step)
    assert whole.inside(0, 1, Reach(4, None)) is True
    assert dense.inside(0, 1, Reach(4, None)) is None
