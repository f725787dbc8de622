"""A constraint denied is the rows that would break it: one state for each way to break it, none if there is no way."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.goals import LEFT, RIGHT, broken, deny
from tests.analysis.implication.scripts import Two


@pytest.mark.parametrize(
    ("text", "ways", "rows"),
    [
        ("PRIMARY KEY (a) ON r", 1, 2),
        ("STREAM KEY (a) SPANS s ON r", 1, 2),
        ("FOREIGN KEY (a) REFERENCES s (a) ON r", 1, 1),
        ("COOCCURS (a) AND s (a) WINDOW [0, 5] ON r", 2, 2),
        ("COOCCURS (a) AND s (a) WINDOW [0, *] ON r", 1, 2),
        ("COOCCURS (a) AND s (a) ON r", 0, 2),
    ],
)
def test_each_way_to_break_a_rule(text: str, ways: int, rows: int) -> None:
    two = Two()
    rule = two.rule(text)
    states = deny(rule, two.shapes, two.required)
    assert len(states) == ways
    for state in states:
        assert len(state.facts) == rows
        assert broken(rule, state)


def test_the_rows_that_break_a_window_lie_outside_it() -> None:
    two = Two()
    rule = two.rule("COOCCURS (a) AND s (a) WINDOW [0, 5] ON r")
    before, after = deny(rule, two.shapes, two.required)
    assert before.times.inside(LEFT, RIGHT, rule.then) is False  # type: ignore[union-attr]
    assert after.times.inside(LEFT, RIGHT, rule.then) is False  # type: ignore[union-attr]


def test_a_key_is_broken_as_long_as_its_rows_are_two() -> None:
    two = Two()
    rule = two.rule("PRIMARY KEY (a) ON r")
    (state,) = deny(rule, two.shapes, two.required)
    assert state.agree(rule.premise, LEFT, RIGHT)
    state.merge(LEFT, RIGHT)
    assert not broken(rule, state)


def test_a_stream_key_is_broken_until_all_columns_agree() -> None:
    two = Two()
    rule = two.rule("STREAM KEY (a) SPANS s ON r")
    (state,) = deny(rule, two.shapes, two.required)
    assert broken(rule, state)
    state.join(state.term(LEFT, 1), state.term(RIGHT, 1))
    assert not broken(rule, state)
