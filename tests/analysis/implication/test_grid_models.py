"""Models on a grid: each that is proposed and judged to be one keeps the rules; small ones are found."""

from __future__ import annotations

from itertools import islice

import pytest

from penstock.analysis.implication.grid_models import models_on_a_grid
from penstock.analysis.implication.models import keeps
from tests.analysis.implication.scripts import Two

MOST = 2_000


def found(goal: str, r: str = "", s: str = "", clock: str = "BIGINT") -> list[object]:
    """The proposed rows that are counter-models."""
    two = Two(r, s, clock)
    rules, wanted = two.declared(), two.rule(goal)
    proposed = islice(models_on_a_grid(two.shapes, rules, wanted), MOST)
    return [rows for rows in proposed if all(keeps(rule, rows) for rule in rules) and not keeps(wanted, rows)]


@pytest.mark.parametrize(
    ("goal", "r", "s"),
    [
        ("PRIMARY KEY (a) ON r", "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1, 2]", ""),
        ("COOCCURS (a) AND s (a) WINDOW [0, 2] ON r", "FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [0, 2]", ""),
        ("FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [0, 1] ON r", "FOREIGN KEY (a, b) REFERENCES s (a, b)", ""),
    ],
)
def test_what_is_not_implied_has_a_model_on_a_grid(goal: str, r: str, s: str) -> None:
    assert found(goal, r, s)


def test_what_is_implied_has_none() -> None:
    assert found("PRIMARY KEY (a, b) ON r", "PRIMARY KEY (a)") == []
    assert found("COOCCURS (a) AND s (a) WINDOW [0, 3] ON r", "COOCCURS (a) AND s (a) WINDOW [0, 2]") == []


def test_windows_too_long_for_a_grid_end_the_search_at_once() -> None:
    far = "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1, 1000000]"
    two = Two(far)
    assert list(models_on_a_grid(two.shapes, two.declared(), two.rule("PRIMARY KEY (a) ON r"))) == []
