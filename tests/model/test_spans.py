"""Lengths and windows: exact ticks, one way to write each, nothing that does not fit 64 bits."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.spans import LONGEST_WRITTEN, Rows, Span, Unit, Window, span_of_ticks, written_span
from penstock.sql import parse_script

ticks = st.integers(-LONGEST_WRITTEN, LONGEST_WRITTEN)


@given(ticks, st.booleans())
def test_ticks_come_back_from_the_shortest_way_to_write_them(number: int, instants: bool) -> None:
    span = span_of_ticks(number, instants)
    assert span.ticks == number
    assert (span.unit is None) == (not instants or number == 0)


@given(st.decimals(allow_nan=True, allow_infinity=True), st.sampled_from([None, *Unit]))
def test_span_is_exact_or_is_not_built(amount: Decimal, unit: Unit | None) -> None:
    try:
        span = Span(amount, unit)
    except ValueError:
        return
    assert Fraction(amount) * (unit.value if unit else 1) == span.ticks
    assert abs(span.ticks) < 2**63


@given(st.integers(0, LONGEST_WRITTEN), st.booleans())
def test_text_of_a_span_is_read_back(number: int, instants: bool) -> None:
    span = span_of_ticks(number, instants)
    kind = "TIMESTAMP" if instants else "BIGINT"
    script = parse_script(f"CREATE STREAM s (t {kind}, EVENT TIME t, ORDERED BY t WITHIN {span})")
    (ordered,) = script.streams[0].low
    assert ordered.slack == span


@given(st.none() | ticks, st.none() | ticks)
def test_window_is_built_iff_it_does_not_start_after_it_ends(low: int | None, high: int | None) -> None:
    bounds = [None if t is None else span_of_ticks(t, True) for t in (low, high)]
    if low is not None and high is not None and low > high:
        with pytest.raises(ValueError, match="starts after it ends"):
            Window(*bounds)
    else:
        window = Window(*bounds)
        assert (window.low, window.high) == tuple(bounds)


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        ("1", Unit.SECOND, "1 SECOND"),
        ("-1", Unit.HOUR, "-1 HOUR"),
        ("1.50", Unit.MINUTE, "1.5 MINUTES"),
        ("0", None, "0"),
        ("1E+2", Unit.DAY, "100 DAYS"),
        ("0.001", Unit.MILLISECOND, "0.001 MILLISECONDS"),
        ("7", None, "7"),
    ],
)
def test_span_is_written_as_a_user_would(amount: str, unit: Unit | None, text: str) -> None:
    assert str(Span(Decimal(amount), unit)) == text


@pytest.mark.parametrize("amount", ["1E+999999", "1E+20", "NaN", "Infinity", "1E-999999", "0.1"])
def test_span_that_is_no_whole_number_of_ticks_is_not_built(amount: str) -> None:
    with pytest.raises(ValueError, match=r"too long|not a whole number"):
        Span(Decimal(amount), None)


def test_span_in_a_script_leaves_room_for_sums() -> None:
    with pytest.raises(ValueError, match="the longest is 1157407 DAYS"):
        written_span(Decimal(2_000_000), Unit.DAY)
    assert written_span(Decimal(1_000_000), Unit.DAY).ticks * 50 < 2**63


def test_zero_fits_any_clock_and_rows_are_not_negative() -> None:
    assert Span(Decimal(0)).fits_any_clock
    assert Span(Decimal(0), Unit.DAY).fits_any_clock
    with pytest.raises(ValueError, match="negative"):
        Rows(-1)


@pytest.mark.parametrize(
    ("amount", "unit", "said"),
    [
        (1470, Unit.MINUTE, "1 DAY 30 MINUTES"),
        (3661, Unit.SECOND, "1 HOUR 1 MINUTE 1 SECOND"),
        (90, Unit.MINUTE, "90 MINUTES"),
        (120, Unit.MINUTE, "120 MINUTES"),
        (400, Unit.DAY, "400 DAYS"),
        (1470, None, "1470"),
    ],
)
def test_a_large_number_of_a_unit_is_said_in_larger_ones(amount: int, unit: Unit | None, said: str) -> None:
    assert Span.of(amount, unit).spoken == said
