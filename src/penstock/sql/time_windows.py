"""Windows of time as they are written: `window(ts, '5 minutes')`, `session_window(ts, gap)`, and their ends.

`window.start` names an end too, where a query groups by one window.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from penstock.model.clauses import SESSION, TIME, WINDOW, Scalar, TimeWindow
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.spans import Span, Unit
from penstock.model.stream_problems import span_problem
from penstock.model.types import DataType, Kind
from penstock.sql.constants import number_of, span_of, span_or_none, sum_of_spans
from penstock.sql.cursor import UNITS
from penstock.sql.expressions import bind_column, visible_column
from penstock.sql.made_times import last_moment, name_of, window_named
from penstock.sql.row_limits import numbers_of
from penstock.sql.scope import Scope, Visible
from penstock.sql.tree import Code, Select, Stretch
from penstock.sql.words import unwrapped


def is_window(code: Code) -> bool:
    """Whether an item is a window of time as it is written, or an end of one; what a session is only groups say."""
    node = unwrapped(code.node)
    node = unwrapped(node.this) if isinstance(node, exp.Dot) else node
    return isinstance(node, exp.Anonymous) and node.name.lower() == WINDOW


def is_distinct_by_window(select: Select) -> bool:
    """Whether a SELECT gives each row once that has a window of time in it, and groups nothing itself."""
    is_grouped = bool(select.group_by or select.groups_by_all or select.having or numbers_of(select))
    has_aggregates = any(item.over is not None for item in select.items)
    by_window = any(item.code is not None and is_window(item.code) for item in select.items)
    return select.distinct and by_window and not is_grouped and not has_aggregates


class WindowReader:
    """Reads the windows of one SELECT."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._windows: list[TimeWindow] = []
        """Those that the query groups by."""
        self._times: set[ColumnRef] = set()
        """TIMESTAMPs that go by no name here, of which a query in FROM gives windows."""

    def note_keys(self, keys: tuple[Code, ...]) -> None:
        """Note what the query groups by."""
        self._windows = [w for code in keys if (w := self.whole(code.node)) is not None]

    def window(self, node: exp.Expr) -> TimeWindow | None:
        """A window or an end of one; None for anything else."""
        named = window_named(node, self.scope)
        if named is not None and named.window is not None and named.window.end is None:
            return replace(named.window, end=TIME)
        return self.whole(node) or self.end(node)

    def moment(self, node: exp.Expr) -> Expression | None:
        """`window_time(w)` of a window that a block below gives; None for anything else."""
        named = window_named(node, self.scope)
        return None if named is None else last_moment(named)

    def whole(self, node: exp.Expr) -> TimeWindow | None:
        """`window(…)` itself, or a column of a query in FROM that is one."""
        node = unwrapped(node)
        if (named := self.named(node)) is not None:
            return named.window if named.window is not None and named.window.end is None else None
        is_session = isinstance(node, exp.Anonymous) and node.name.lower() == SESSION
        if not isinstance(node, exp.Anonymous) or node.name.lower() not in (WINDOW, SESSION):
            return None
        if len(node.expressions) not in ((2,) if is_session else (2, 3, 4)):
            return None
        spans = [_window_length(part) for part in node.expressions[1:]]
        span, slide, offset = (*spans, None, None)[:3]
        if None in spans or span is None:
            return None
        given = self.scope.made.get(name_of(node.expressions[0]))
        made = self._window_below(node.expressions[0]) if given is None else None
        column: ColumnRef | Expression | None = made[1] if made is not None else None
        if made is None and given is None and self._is_window(node.expressions[0]):
            return None  # What it is of must be made a column first (`made_times`).
        if made is None:
            column = bind_column(node.expressions[0], self.scope) if given is None else given.value
        if not isinstance(column, ColumnRef):
            return None
        # What says nothing is left out, so that equal windows are one.
        slide = None if slide is None or slide.ticks == span.ticks else slide
        offset = None if offset is None or not offset.ticks else offset
        found = TimeWindow(column, span, None, slide, offset, is_session)
        return None if made is not None and not _holds(found, made[0]) else found

    def end(self, node: exp.Expr) -> TimeWindow | None:
        """`window(…).start`, or `window.start` where the query groups by one window."""
        found: TimeWindow | None = None
        if (named_column := self.named(node)) is not None:
            found = named_column.window
            return found if found is not None and found.end is not None else None
        if isinstance(node, exp.Dot):
            found = self.whole(node.this)
            end = node.expression.name.lower()
        elif isinstance(node, exp.Column) and (named := self._named(node.table)) is not None:
            found, end = named, node.name.lower()
        elif isinstance(node, exp.Column) and len(node.parts) == 1:
            named = self._named(node.name)
            return named if named is not None and bind_column(node, self.scope) is None else None
        else:
            return None
        return replace(found, end=end) if found is not None and end in ("start", "end") else None

    def _window_below(self, node: exp.Expr) -> tuple[TimeWindow, ColumnRef] | None:
        """The window of a query in FROM that `window(w, …)` or `window(window_time(w), …)` is of, and its time here.

        Which is that of its rows, or its start: what holds the window whole holds either.
        """
        node = unwrapped(node)
        if isinstance(node, exp.Anonymous) and node.name.lower() == "window_time" and len(node.expressions) == 1:
            node = unwrapped(node.expressions[0])
        column = visible_column(node, self.scope)
        if column is None or column.made is None or column.made.end is not None or column.ends is None:
            return None
        time = column.made.column if column.window is not None else column.ends[0]
        self._times |= set() if column.window is None else {column.made.column}
        return (column.made, time) if isinstance(time, ColumnRef) else None

    def _is_window(self, node: exp.Expr) -> bool:
        column = visible_column(node, self.scope)
        return column is not None and column.ends is not None

    def named(self, node: exp.Expr) -> Visible | None:
        """The column of a query in FROM that is a window, or an end of one, of a column of the same query."""
        column = visible_column(node, self.scope)
        return None if column is None or column.window is None else column

    def last_moment(self, node: exp.Expr, value: object) -> TimeWindow | None:
        """`window(…).end - INTERVAL 1 MICROSECOND`, where the end is that value: the last moment within the window.

        Spark writes it as the end and a negative length.
        """
        if not isinstance(node, exp.Sub | exp.Add) or not isinstance(value, TimeWindow) or value.end != "end":
            return None
        kind, length = self.scope.type_of(value.column), span_of(node.expression)
        tick = 1 if isinstance(node, exp.Sub) else -1
        is_tick = length is not None and length.unit is not None and length.ticks == tick
        is_time = kind is not None and not kind.is_integer and isinstance(unwrapped(node.this), exp.Column)
        return replace(value, end=TIME) if is_tick and is_time else None

    def _named(self, name: str) -> TimeWindow | None:
        """The window that the query groups by and that goes by the name of its function."""
        return next((w for w in self._windows if len(self._windows) == 1 and fold(name) == function_of(w)), None)

    def fits(self, window: TimeWindow, at: Stretch) -> bool:
        """Whether the window can be one of its column; else a mistake says why not."""
        kind = self.scope.type_of(window.column)
        kind = DataType.of(Kind.TIMESTAMP) if kind is None and window.column in self._times else kind
        if kind is None or not kind.is_clock:
            what = f"{function_of(window)}({window.column}, …): {kind} is no time"
            self.scope.report(what, at, "TIMESTAMP, DATE and integers are; of a window take its start: w.start")
            return False
        spans = [span for span in (window.span, window.slide, window.offset) if span is not None]
        why = next((why for span in spans if (why := span_problem(span, kind)) is not None), None)
        if why is None and window.span.ticks <= 0:
            why = "a window of time must be longer than 0"
        if why is None and window.slide is not None and not 0 < window.slide.ticks <= window.span.ticks:
            why = "windows of time lie apart by more than 0 and by at most their length"
        if why is None and window.offset is not None and abs(window.offset.ticks) >= window.step:
            why = "windows of time begin after a multiple of their distance by less than it"
        if why is not None:
            name = function_of(window)
            self.scope.report(why, at, f"write {name}(ts, '5 minutes') for a TIMESTAMP, {name}(t, 300) for an integer")
        return why is None


def _holds(outer: TimeWindow, inner: TimeWindow) -> bool:
    """Whether each of these windows lies in as many of those as any time in it does: none begins or ends within it."""
    if outer.is_session or inner.is_session or inner.step != inner.span.ticks:
        return False
    return not any(n % inner.step for n in (outer.step, outer.span.ticks, outer.shift - inner.shift))


def whole_window(key: Scalar) -> Scalar:
    """The window of which a key is one end: either end tells which it is."""
    return replace(key, end=None) if isinstance(key, TimeWindow) else key


def function_of(window: TimeWindow) -> str:
    """The function that makes it."""
    return SESSION if window.is_session else WINDOW


def _window_length(node: exp.Expr) -> Span | None:
    """'5 minutes', '1 hour 30 minutes', or a bare number."""
    number = number_of(node)
    if number is None and isinstance(node, exp.Literal) and node.is_string:
        words = node.name.upper().removeprefix("INTERVAL ").split()
        if len(words) == 1:
            words.append("")
        parts = [_part_of_length(*pair) for pair in zip(words[::2], words[1::2], strict=False)]
        known = [part for part in parts if part is not None]
        if not known or 2 * len(known) != len(words):
            return None
        return known[0] if len(known) == 1 else sum_of_spans(known)
    return None if number is None else span_or_none(number)


def _part_of_length(amount: str, unit: str) -> Span | None:
    try:
        number = Decimal(amount)
    except InvalidOperation:
        return None
    if unit in ("WEEK", "WEEKS"):
        return span_or_none(7 * number, Unit.DAY)
    return span_or_none(number, UNITS[unit] if unit else None) if unit in (*UNITS, "") else None
