"""FLOAT and DOUBLE columns against constants: what passes, and conditions that no number meets."""

from __future__ import annotations

from penstock.analysis.facts.values import Interval
from penstock.analysis.memory.measured_columns import is_measured, named_numbers, unmet, whole_numbers
from tests.analysis.build import data_type, one_of, where

DOUBLE = data_type("DOUBLE")


def test_only_comparisons_of_floats_with_numbers_are_measured() -> None:
    assert is_measured(where("s.d < 5"), lambda _: DOUBLE)
    assert not is_measured(where("s.d < 5"), lambda _: data_type("INT"))
    assert not is_measured(where("s.d = r.d"), lambda _: DOUBLE)
    assert not is_measured(where("s.d < 5"), lambda _: None)


def test_the_whole_numbers_that_pass() -> None:
    assert whole_numbers([where("s.d > 2"), where("s.d <= 5")]) == Interval(3, 5)
    assert whole_numbers([where("s.d > 5"), where("s.d < 6")]).size == 0


def test_the_only_numbers_that_pass() -> None:
    assert named_numbers(one_of("s.d", 1, 2)) == [1.0, 2.0]
    assert named_numbers(where("s.d = 3")) == [3.0]
    assert named_numbers(where("s.d < 3")) == []


def test_what_no_number_meets_is_named_without_the_rest() -> None:
    conditions = [(where("s.d > 5"), "s.d > 5"), (where("s.d < 4"), "s.d < 4"), (where("s.d < 9"), "s.d < 9")]
    assert unmet(conditions, {}) == ("s.d > 5", "s.d < 4")
    assert unmet(conditions[:1], {}) == ()
    assert unmet([(where("s.d > 5"), "x"), (where("s.d < 6"), "y")], {}) == (), "5.5 does"


def test_columns_that_are_equal_are_met_together() -> None:
    apart = [(where("s.d > 5"), "x"), (where("r.d < 4"), "y")]
    assert unmet(apart, {}) == ()
    equal = {p.columns[0]: "one" for p, _ in apart}
    assert unmet(apart, equal) == ("x", "y")
