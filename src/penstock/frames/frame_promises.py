"""Promises on DataFrames as Python values, one for each declaration of the language, printed as the language has them.

    penstock.promise(payments, Follows(orders, "id", on="order_id", within="2 hours"))

is `FOLLOWS orders (id) ON (order_id) WITHIN 2 HOURS` in the declaration of the stream that `payments` is. A value holds
the text of the declaration and the names of the columns in it; another stream is the DataFrame that it is, and gets
its name when a job is read. Lengths and windows are written as in the language, in any case: `"2 hours"`, `"200 rows"`,
`"auto"`; a bare number is a number of rows.

Whether the text is right is for the front end to say, when a job that reads the DataFrame is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import UsageError
from penstock.model.names import fold, quoted, quoted_list

_WORD = re.compile(r"\w+")
_OTHER = "\0"
"""The place of another stream's name."""
Within = str | int | None
Window = tuple[str | int, str | int] | None


@dataclass(frozen=True)
class FramePromise:
    """One declaration of a DataFrame."""

    written: str
    columns: tuple[str, ...]
    """The columns of the DataFrame that it names; words of a condition are among them."""
    ordered: str | None = None
    """The column that it puts in an order of time."""
    other: Any = field(default=None, compare=False, repr=False)
    """The other DataFrame."""
    other_columns: tuple[str, ...] = ()
    is_condition: bool = False
    """Whether words that are no columns may be among them."""
    is_clock: bool = False
    """Whether it says which column is the event time."""
    virtual: tuple[str, ...] = ()
    """Columns that it declares, which no row carries."""

    @property
    def subject(self) -> tuple[object, ...]:
        """What it is about beside another DataFrame, whatever it says of it."""
        return self.written.split(maxsplit=1)[0], self.columns, self.other_columns

    def text(self, other: str) -> str:
        """The declaration, with the name that the other stream has."""
        return self.written.replace(_OTHER, quoted(other))

    def __str__(self) -> str:
        return self.text("other")


def PrimaryKey(*columns: str, on_violation: str | None = None) -> FramePromise:
    """No two rows agree on the columns, and none is NULL there."""
    _require(columns, "PrimaryKey")
    return FramePromise(f"PRIMARY KEY {quoted_list(columns)}{_violation(on_violation)}", columns)


def Ordered(column: str, within: Within = None, on_violation: str | None = None) -> FramePromise:
    """Rows come in the order of a column, up to a slack in rows or in time."""
    in_time = isinstance(within, str) and not fold(within).endswith(("rows", "row"))
    text = f"ORDERED BY {quoted(column)}{_within(within)}{_violation(on_violation)}"
    return FramePromise(text, (column,), column if in_time else None)


def Clustered(column: str, within: Within = None, on_violation: str | None = None) -> FramePromise:
    """Rows with one value of a column come close together."""
    return FramePromise(f"CLUSTERED BY {quoted(column)}{_within(within)}{_violation(on_violation)}", (column,))


def Follows(
    other: Any, *columns: str, on: str | Iterable[str], within: Within = None, on_violation: str | None = None
) -> FramePromise:
    """Rows follow their partners in another DataFrame, whose columns come first."""
    own = _names(on)
    _require(columns, "Follows")
    tail = f"{quoted_list(columns)} ON {quoted_list(own)}{_within(within)}{_violation(on_violation)}"
    return FramePromise(f"FOLLOWS {_OTHER} {tail}", own, None, other, columns)


def ForeignKey(
    other: Any, *columns: str, on: str | Iterable[str], window: Window = None, on_violation: str | None = None
) -> FramePromise:
    """Every row has a partner in another DataFrame, with an event time in the window."""
    own = _names(on)
    _require(columns, "ForeignKey")
    tail = f"{quoted_list(columns)}{_window(window)}{_violation(on_violation)}"
    return FramePromise(f"FOREIGN KEY {quoted_list(own)} REFERENCES {_OTHER} {tail}", own, None, other, columns)


def Cooccurs(
    other: Any, *columns: str, on: str | Iterable[str], window: Window = None, on_violation: str | None = None
) -> FramePromise:
    """Every pair of rows that agree on the columns lies in the window of event time."""
    own = _names(on)
    _require(columns, "Cooccurs")
    tail = f"{quoted_list(columns)}{_window(window)}{_violation(on_violation)}"
    return FramePromise(f"COOCCURS {quoted_list(own)} AND {_OTHER} {tail}", own, None, other, columns)


def StreamKey(*columns: str, spans: Any, window: Window = None, on_violation: str | None = None) -> FramePromise:
    """Rows of two DataFrames that agree on the columns within the window agree on all that both have, but time."""
    _require(columns, "StreamKey")
    tail = f"{_window(window)}{_violation(on_violation)}"
    return FramePromise(f"STREAM KEY {quoted_list(columns)} SPANS {_OTHER}{tail}", columns, None, spans, columns)


def Virtual(*columns: str) -> FramePromise:
    """Identities that no row carries, such as the call that a packet is of: for keys and COOCCURS alone."""
    _require(columns, "Virtual")
    return FramePromise(", ".join(f"{quoted(column)} VIRTUAL" for column in columns), (), virtual=columns)


def EventTime(column: str, idle_after: str | None = None) -> FramePromise:
    """The column that is the clock; a part that lies further behind than that no longer holds it back."""
    idle = "" if idle_after is None else f" IDLE AFTER {idle_after.upper()}"
    return FramePromise(f"EVENT TIME {quoted(column)}{idle}", (column,), is_clock=True)


def ArrivesBy(column: str, on_violation: str | None = None) -> FramePromise:
    """The column never falls as rows arrive, in no stream of the query: so their order to each other is known."""
    return FramePromise(f"ARRIVES BY {quoted(column)}{_violation(on_violation)}", (column,))


def PartsBy(column: str) -> FramePromise:
    """Rows with one value of a column are a part, such as a partition: orders hold within each."""
    return FramePromise(f"PARTS BY {quoted(column)}", (column,))


def Punctuated(*columns: str, when: str, lifespan: str | None = None, on_violation: str | None = None) -> FramePromise:
    """Rows that satisfy a condition are no data: they say that no more come with their values of the columns."""
    _require(columns, "Punctuated")
    life = f" LIFESPAN {lifespan.upper()}" if lifespan is not None else ""
    text = f"PUNCTUATED ON {quoted_list(columns)} WHEN {when}{life}{_violation(on_violation)}"
    return FramePromise(text, (*columns, *_WORD.findall(when)), is_condition=True)


def Check(condition: str, on_violation: str | None = None) -> FramePromise:
    """No row makes the condition false."""
    words = tuple(_WORD.findall(condition))
    return FramePromise(f"CHECK ({condition}){_violation(on_violation)}", words, is_condition=True)


def _names(on: str | Iterable[str]) -> tuple[str, ...]:
    return (on,) if isinstance(on, str) else tuple(on)


def _require(columns: tuple[str, ...], name: str) -> None:
    if not columns or not all(isinstance(column, str) for column in columns):
        raise UsageError(f"{name} names its columns as strings", hint=f"e.g. penstock.{name}(…, 'id')")


def _within(within: Within) -> str:
    if within is None:
        return ""
    return f" WITHIN {within} ROWS" if isinstance(within, int) else f" WITHIN {within.upper()}"


def _window(window: Window) -> str:
    return "" if window is None else f" WINDOW [{', '.join(str(end).upper() for end in window)}]"


def _violation(policy: str | None) -> str:
    return "" if policy is None else f" ON VIOLATION {policy.upper()}"
