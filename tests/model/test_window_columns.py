"""Windows of time as columns of rows: what an expression says of them, and that it is known for what it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.clauses import TimeWindow
from penstock.model.expressions import Call, ColumnRef, Literal, is_deterministic, is_strict
from penstock.model.spans import Span, Unit
from penstock.model.window_columns import is_expressible, whole_window, window_end, window_of

TIME = ColumnRef("s", "ts")
HOUR = TimeWindow(TIME, Span.of(1, Unit.HOUR))


@pytest.mark.parametrize("offset", [None, Span.of(5, Unit.MINUTE), Span.of(-5, Unit.MINUTE)])
def test_a_window_is_known_by_its_expression(offset: Span | None) -> None:
    window = replace(HOUR, offset=offset)
    start, end, whole = window_end(window, "start"), window_end(window, "end"), whole_window(window)
    found = [window_of(one.term) for one in (start, end, whole)]
    assert [one and (one.end, one.step, one.shift) for one in found] == [
        (end, window.step, window.shift) for end in ("start", "end", None)
    ]
    assert all(is_deterministic(one.term) for one in (start, end, whole))
    assert is_strict(start.term)
    assert not is_strict(whole.term)


def test_other_terms_are_no_windows() -> None:
    start, end = window_end(HOUR, "start").term, window_end(replace(HOUR, span=Span.of(2, Unit.HOUR)), "end").term
    assert window_of(Call("named_struct", (Literal("start"), start, Literal("end"), end))) is None
    assert window_of(Call("named_struct", (Literal("a"), start, Literal("b"), start))) is None
    assert window_of(TIME) is None


def test_windows_that_overlap_and_sessions_are_no_expressions() -> None:
    assert is_expressible(HOUR)
    assert is_expressible(replace(HOUR, slide=Span.of(60, Unit.MINUTE)))
    assert not is_expressible(replace(HOUR, slide=Span.of(5, Unit.MINUTE)))
    assert not is_expressible(replace(HOUR, is_session=True))
