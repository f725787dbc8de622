"""The chase refutes every way to break a rule, or completes one to rows that keep the declarations; or it gives up."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.chase import Chase, CounterExample, GaveUp, Refuted, SearchLimits
from penstock.analysis.implication.models import keeps
from tests.analysis.implication.scripts import Two


def chase(goal: str, r: str = "", s: str = "", clock: str = "BIGINT") -> tuple[Chase, Two]:
    two = Two(r, s, clock)
    return Chase(two.shapes, tuple(two.declared()), two.rule(goal), two.required), two


@pytest.mark.parametrize(
    ("goal", "r", "s"),
    [
        ("PRIMARY KEY (a, b) ON r", "PRIMARY KEY (a)", ""),
        ("COOCCURS (a) AND r (a) WINDOW [0, 9] ON s", "COOCCURS (a) AND s (a) WINDOW [-9, 0]", ""),
        # A row's partner is its own by the key, so a window to the one is a window to the other.
        (
            "COOCCURS (a) AND r (a) WINDOW [-3, 3] ON r",
            "FOREIGN KEY (a) REFERENCES s (a) WINDOW [0, 3]",
            "PRIMARY KEY (a)",
        ),
    ],
)
def test_what_is_refuted_in_every_way_is_implied(goal: str, r: str, s: str) -> None:
    one, _ = chase(goal, r, s)
    outcome = one.run()
    assert isinstance(outcome, Refuted)
    assert outcome.steps


@pytest.mark.parametrize(
    ("goal", "r", "s"),
    [
        ("PRIMARY KEY (a) ON r", "PRIMARY KEY (a, b)", ""),
        ("FOREIGN KEY (a) REFERENCES s (a) ON r", "", "FOREIGN KEY (a) REFERENCES r (a)"),
        ("PRIMARY KEY (a) ON r", "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1, *]", ""),
    ],
)
def test_a_counter_model_keeps_every_rule_and_breaks_the_one(goal: str, r: str, s: str) -> None:
    one, two = chase(goal, r, s)
    outcome = one.run()
    assert isinstance(outcome, CounterExample)
    assert all(keeps(rule, outcome.rows) for rule in two.declared())
    assert not keeps(two.rule(goal), outcome.rows)


def test_rows_that_are_not_accepted_are_no_counter_model() -> None:
    one, _ = chase("PRIMARY KEY (a) ON r")
    one.accepts = lambda _: False
    assert not isinstance(one.run(), CounterExample)


def test_a_search_that_comes_to_its_limit_says_so() -> None:
    keys = "FOREIGN KEY (a) REFERENCES s (b)"
    one, _ = chase("PRIMARY KEY (a) ON r", keys, keys.replace("s (b)", "r (b)"))
    one.limits = SearchLimits(2, 1)
    assert isinstance(one.follow(), GaveUp)


def test_a_split_on_time_is_two_cases() -> None:
    halves = "STREAM KEY (a) SPANS s WINDOW [*, 0], STREAM KEY (a) SPANS s WINDOW [1, *]"
    whole, _ = chase("STREAM KEY (a) SPANS s ON r", halves)
    assert isinstance(whole.run(), Refuted)
    dense, _ = chase("STREAM KEY (a) SPANS s ON r", halves.replace("[1,", "[1 SECOND,"), clock="TIMESTAMP")
    assert isinstance(dense.run(), CounterExample)
