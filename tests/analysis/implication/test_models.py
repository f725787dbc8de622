"""Counter-models are judged exactly, endless rows too: against rows written out for a long while."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.analysis.implication.models import LagSequence, Row, keeps, violations
from penstock.analysis.implication.rules import Reach
from tests.analysis.implication.scripts import Two


def row(stream: int, a: int, time: int, period: int = 0, b: int = 0) -> Row:
    return Row(stream, (a, b), Fraction(time), Fraction(period))


@pytest.mark.parametrize(
    ("text", "rows", "kept"),
    [
        ("PRIMARY KEY (a) ON r", [row(0, 1, 0), row(0, 2, 0)], True),
        ("PRIMARY KEY (a) ON r", [row(0, 1, 0), row(0, 1, 9)], False),
        ("PRIMARY KEY (a) ON r", [row(0, 1, 0, 5)], False),
        ("COOCCURS (a) AND s (a) WINDOW [0, 5] ON r", [row(0, 1, 0), row(1, 1, 5)], True),
        ("COOCCURS (a) AND s (a) WINDOW [0, 5] ON r", [row(0, 1, 0), row(1, 1, 6)], False),
        ("COOCCURS (a) AND s (a) WINDOW [0, *] ON r", [row(0, 1, 0), row(1, 1, 6, 3)], True),
        ("COOCCURS (a) AND s (a) WINDOW [0, *] ON r", [row(0, 1, 0, 3), row(1, 1, 6)], False),
        ("FOREIGN KEY (a) REFERENCES s (a) ON r", [row(0, 1, 0)], False),
        ("FOREIGN KEY (a) REFERENCES r (a) WINDOW [1, *] ON r", [row(0, 1, 0, 1)], True),
        ("FOREIGN KEY (a) REFERENCES r (a) WINDOW [1, *] ON r", [row(0, 1, 0)], False),
        ("STREAM KEY (a) SPANS s ON r", [row(0, 1, 0, b=1), row(1, 1, 0, b=2)], False),
    ],
)
def test_whether_rows_keep_a_rule(text: str, rows: list[Row], kept: bool) -> None:
    assert keeps(Two().rule(text), rows) is kept
    assert (next(violations(Two().rule(text), rows), None) is None) is kept


ENDS = st.none() | st.integers(-6, 6)


@given(st.integers(-5, 5), st.sampled_from([-3, -2, 0, 2, 3]), st.booleans(), ENDS, ENDS)
def test_lags_in_a_window_are_those_written_out(
    first: int, step: int, both: bool, low: int | None, high: int | None
) -> None:
    both = both and step != 0
    reach = Reach(low, high)
    lags = LagSequence(Fraction(first), Fraction(step), both_ways=both)
    written = [first + n * step for n in range(-60 if both else 0, 61)] if step else [first]
    inside = [lag for lag in written if (low is None or lag >= low) and (high is None or lag <= high)]
    found = list(lags.within(reach))
    assert (found == []) == (inside == [])
    assert {int(lag) for lag in found} <= set(inside)
    assert (any(lag != 0 for lag in found)) == any(lag != 0 for lag in inside)
    is_cut = step != 0 and (both or (low is not None and step < 0) or (high is not None and step > 0))
    assert lags.all_within(reach) == (len(inside) == len(written) and not (is_cut and not reach.is_everything))
