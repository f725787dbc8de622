"""Sets of places: narrowed in any order they hold what a plain set would."""

from __future__ import annotations

import random

import pytest

from penstock.analysis.facts.places import ANYWHERE, Places
from penstock.analysis.facts.values import Interval
from tests.measure import size

LOW, HIGH = -12, 12


@pytest.mark.measure
def test_narrowed_places_are_those_of_a_plain_set() -> None:
    rng = random.Random("places")
    for _ in range(size(500, 20_000)):
        places, plain = Places(Interval(LOW, HIGH)), set(range(LOW, HIGH + 1))
        for _ in range(rng.randint(0, 6)):
            some = [rng.randint(LOW - 3, HIGH + 3) for _ in range(rng.randint(0, 5))]
            limits = Interval(rng.randint(LOW - 3, 3), rng.randint(-3, HIGH + 3))
            match rng.randrange(4):
                case 0:
                    places, plain = places.within(limits), plain & set(range(limits.low, limits.high + 1))
                case 1:
                    some = some * 3 or [0]
                    places, plain = places.among(some), plain & set(some)
                case 2:
                    places, plain = places.without(some), plain - set(some)
                case _:
                    places = places.listed(rng.choice((3, 30)))
        assert places.size == len(plain)
        for start in range(LOW - 2, HIGH + 3):
            assert places.raised(start) == min((place for place in plain if place >= start), default=None)
            assert places.lowered(start) == max((place for place in plain if place <= start), default=None)
        assert places.numbers is None or places.numbers == sorted(plain)


def test_without_limits_there_are_no_end_of_places() -> None:
    assert ANYWHERE.size is None
    assert ANYWHERE.without([3]).size is None
    assert ANYWHERE.within(Interval(1, 3)).without([2]).size == 2
    assert ANYWHERE.within(Interval(1, 3)).without([3]).range == Interval(1, 2)


def test_names_that_are_no_numbers_lie_in_every_range() -> None:
    named = ANYWHERE.within(Interval(1, 3)).among(["a", "b"])
    assert named.left == frozenset[object]({"a", "b"})
    assert named.numbers == []
    assert named.without(["a"]).left == frozenset[object]({"b"})


def test_where_two_names_may_mean_one_value_the_shorter_list_is_the_limit() -> None:
    assert ANYWHERE.among(["a", "b"]).among_alike(frozenset({"c"})).left == frozenset[object]({"c"})
    assert ANYWHERE.among(["a"]).among_alike(frozenset({"b", "c"})).left == frozenset[object]({"a"})
