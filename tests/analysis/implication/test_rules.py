"""Each declaration is the rule that its header states, or is none."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.rules import (
    Apart,
    OneRow,
    Partner,
    Premise,
    Reach,
    SameValues,
    ends_of,
    rule_of,
    shape_of,
)
from penstock.compile import parse
from tests.analysis.implication.scripts import Two

DAY = 86_400_000_000


def test_the_shapes_of_streams() -> None:
    assert [shape_of(s).step for s in parse("CREATE STREAM a (x DATE, EVENT TIME x);").streams] == [DAY]
    assert Two(clock="TIMESTAMP").shapes[0].step == 0
    assert Two().shapes[0].step == 1
    assert Two().shapes[0].columns == ("a", "b")
    assert Two().shapes[0].place("ts") is None


def test_a_primary_key_says_that_two_rows_are_one() -> None:
    rule = Two().rule("PRIMARY KEY (a, ts) ON r")
    assert isinstance(rule, OneRow)
    assert rule.premise == Premise(0, 0, ((0, 0),), Reach(0, 0))


def test_cooccurs_and_follows_say_how_far_apart_times_lie() -> None:
    cooccurs = Two().rule("COOCCURS (a) AND s (b) WINDOW [-1, *] ON r")
    assert isinstance(cooccurs, Apart)
    assert (cooccurs.premise.left, cooccurs.premise.right, cooccurs.premise.pairs) == (0, 1, ((0, 1),))
    assert cooccurs.then == Reach(-1, None)
    follows = Two().rule("FOLLOWS r (a) ON (a) WITHIN 5 ON s")
    assert isinstance(follows, Apart)
    assert follows.then == Reach(None, 5)


def test_a_foreign_key_is_full_if_it_leaves_no_column_open() -> None:
    some, whole = (
        Two().rule("FOREIGN KEY (a) REFERENCES s (a) ON r"),
        Two().rule("FOREIGN KEY (a, b) REFERENCES s (a, b) ON r"),
    )
    assert isinstance(some, Partner)
    assert isinstance(whole, Partner)
    assert (some.is_full, whole.is_full) == (False, True)


def test_a_stream_key_says_that_all_common_columns_agree() -> None:
    rule = Two().rule("STREAM KEY (a) SPANS s WINDOW [0, 9] ON r")
    assert isinstance(rule, SameValues)
    assert rule.values == ((0, 0), (1, 1))
    assert ends_of(rule) == (0, 9)


@pytest.mark.parametrize(
    "text",
    ["ORDERED BY ts ON r", "CLUSTERED BY a ON r", "FOLLOWS s (a) ON (a) WITHIN 3 ROWS ON r", "CHECK (a > 1) ON r"],
)
def test_what_speaks_of_arrival_or_constants_is_no_rule(text: str) -> None:
    two = Two()
    stream, scheme = two.scheme(text)
    assert rule_of(two.streams, two.shapes, two.streams.index(stream), scheme) is None


def test_a_calendar_knows_whole_days_alone() -> None:
    hours = Reach(3_600_000_000, 36 * 3_600_000_000)
    assert hours.on(DAY) == Reach(DAY, DAY)
    assert hours.on(0) == hours
    assert Reach(1, DAY - 1).on(DAY).is_empty


def test_windows_turned_round_and_cut_to_one_instant() -> None:
    assert Reach(-1, 5).reversed() == Reach(-5, 1)
    assert Reach(None, 5).reversed() == Reach(-5, None)
    assert Reach(-1, 5).at_once() == Reach(0, 0)
    assert Reach(2, 5).at_once().is_empty
    assert Reach().is_everything
