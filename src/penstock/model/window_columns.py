"""A window of time as a column of rows, beside no groups: `SELECT window(ts, '5 minutes') AS w, k FROM s`.

To Spark that is a struct of the window's ends in each row, and rows without a time are left out. Here it is an
expression over the column: its ends are worked out of the microseconds since 1970, in which windows begin, whatever the
zone. The terms of the ends are calls of their own, so that what is known of a window is known of them: equal windows
hold times that lie less than their length apart, and their clock is that of the time.

Preconditions: a TIMESTAMP, and windows that do not overlap. Where they do, a row is in several, which no expression
says; a session is of its neighbours. Not decided: which queries may give one, and that a NULL leaves them.
"""

from __future__ import annotations

from penstock.model.clauses import TIME, TimeWindow
from penstock.model.expressions import Call, ColumnRef, Expression, Literal, Term
from penstock.model.functions import WINDOW_END, WINDOW_START, WINDOW_TIME
from penstock.model.spans import span_of_ticks

_ENDS = {WINDOW_START: "start", WINDOW_END: "end", WINDOW_TIME: TIME}
_FUNCTIONS = {end: function for function, end in _ENDS.items()}


def is_expressible(window: TimeWindow) -> bool:
    """Whether each row is in one window, which an expression says."""
    return not window.is_session and window.step == window.span.ticks


def window_end(window: TimeWindow, end: str) -> Expression:
    """`start` or `end` of the window that a row is in, or its last moment."""
    length, shift, micros = window.step, window.shift, f"unix_micros({window.column})"
    since = micros if not shift else f"{micros} - {shift}L"
    text = f"{micros} - pmod({since}, {length}L)"
    until = {"start": 0, "end": length, TIME: length - 1}[end]
    text = f"timestamp_micros({text} + {until}L)" if until else f"timestamp_micros({text})"
    return Expression(text, (window.column,), Call(_FUNCTIONS[end], (window.column, Literal(length), Literal(shift))))


def whole_window(window: TimeWindow) -> Expression:
    """Both ends as a struct."""
    start, end = window_end(window, "start"), window_end(window, "end")
    term = Call("named_struct", (Literal("start"), start.term, Literal("end"), end.term))
    return Expression(f"named_struct('start', {start}, 'end', {end})", (window.column,), term)


def window_expression(window: TimeWindow) -> Expression:
    """The window, or its end."""
    return whole_window(window) if window.end is None else window_end(window, window.end)


def window_of(term: Term) -> TimeWindow | None:
    """The window, or the end of one, that a term is."""
    match term:
        case Call(function, (ColumnRef() as ref, Literal(value=int() as length), Literal(value=int() as shift))) if (
            function in _ENDS
        ):
            offset = None if not shift else span_of_ticks(shift, True)
            return TimeWindow(ref, span_of_ticks(length, True), _ENDS[function], offset=offset)
        case Call("named_struct", (Literal("start"), start, Literal("end"), end)):
            found, other = window_of(start), window_of(end)
            is_one = found is not None and other is not None and found.whole == other.whole
            return found.whole if is_one and found is not None and found.end == "start" else None
        case _:
            return None
