"""Values laid out by arithmetic: numbers of a scale and back, in the order of the type."""

from __future__ import annotations

import pytest

from penstock.analysis.facts.values import Interval
from penstock.analysis.memory.lines import Line, line_of
from penstock.analysis.memory.scale import has_scale, is_open, limits_on_scale, on_scale, origin, value_of
from tests.analysis.build import data_type


@pytest.mark.parametrize(
    "text", ["BIGINT", "TINYINT", "DATE", "TIMESTAMP", "STRING", "DOUBLE", "BINARY", "DECIMAL(5,2)"]
)
def test_values_rise_with_their_numbers(text: str) -> None:
    kind = data_type(text)
    line = line_of([kind], []) if text not in ("DOUBLE", "BINARY") else Line(False, ())
    assert has_scale(kind)
    start = origin(kind)
    values = [value_of(line, kind, start + n) for n in range(5)]
    assert values == sorted(values)
    assert len(set(values)) == 5
    limits = limits_on_scale(kind)
    assert limits.low <= start <= limits.high


def test_a_short_text_may_be_too_short() -> None:
    assert not has_scale(data_type("VARCHAR(3)"))


def test_strings_of_a_stretch_lie_between_its_points() -> None:
    kind = data_type("STRING")
    line = Line(False, ("b", "d"))
    inside = on_scale(line, kind, Interval(2, 2))
    first, last = value_of(line, kind, inside.low), value_of(line, kind, inside.low + 5)
    assert "b" < first < last < "d"  # type: ignore[operator]
    assert value_of(line, kind, on_scale(line, kind, Interval(1, 1)).low) == "b"


def test_which_ends_of_a_stretch_nothing_limits() -> None:
    kind = data_type("BIGINT")
    line = line_of([kind], [])
    assert is_open(line, kind, line.endless[0]) == (True, True)
    words = Line(False, ("b",))
    assert is_open(words, data_type("STRING"), Interval(0, 0)) == (False, False)
    assert is_open(words, data_type("STRING"), Interval(2, 2)) == (False, True)
