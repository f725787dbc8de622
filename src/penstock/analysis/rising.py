"""Can an expression take ever larger values? Read off its text, for the forms that derived times and numbers have.

An expression rises if it has no largest value while a column in it has none. Known are: such a column; with a constant
added or taken away, times or divided by a positive number; a cast to a type that counts as endless; the functions that
make times of numbers or of texts and numbers of times, round them, cut them to a unit or move them by a constant; and
greatest, least and coalesce of what rises. `a % 10`, `hour(ts)`, `least(a, 5)` and whatever else Spark can work out is
not known to rise, so no bound may rest on it.

Preconditions: names are columns of one stream, and `rises` says of each whether it has no largest value. Not decided:
which value an expression has; that is Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum

_TOKENS = re.compile(
    r"\s*(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|\s*(?P<number>\d+(?:\.\d*)?\w*|\.\d+)"
    r"|\s*(?P<name>`[^`]*`|[A-Za-z_]\w*)|\s*(?P<sign>::|\S)"
)
_OF_THE_FIRST = re.compile(
    "(?:try_)?to_(?:date|timestamp(?:_[ln]tz)?)|timestamp(?:_millis|_micros|_seconds)?|date(?:_from_unix_date)?"
    "|unix_(?:millis|micros|seconds|date)|(?:to_)?unix_timestamp|(?:to|from)_utc_timestamp|date_(?:add|sub)|add_months"
    "|last_day|trunc|floor|ceil|ceiling|round|abs|bigint|int|coalesce|nvl|ifnull"
)
"""Functions that rise where their first argument does and the others are constants."""
_OF_THE_LAST = "date_trunc"
_ENDLESS_TYPES = re.compile("BIGINT|LONG|INT|INTEGER|DATE|TIMESTAMP(?:_[LN]TZ)?|DOUBLE|FLOAT|REAL")
_UNITS = re.compile(r"(?:MICROSECOND|MILLISECOND|SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR)S?", re.IGNORECASE)


_LONGEST = 200
"""Tokens beyond which nothing is known, so that no nesting is too deep to read."""


class _Way(IntEnum):
    UNKNOWN = 0
    CONSTANT = 1
    POSITIVE = 2
    """A number above zero."""
    RISES = 3


def rises(text: str, column_rises: Callable[[str], bool]) -> bool:
    """Whether an expression is known to take ever larger values."""
    reader = _Reader(text, column_rises)
    if reader.length > _LONGEST:
        return False
    way = reader.sum()
    return way is _Way.RISES and reader.is_read


class _Reader:
    """Reads an expression from left to right; what it does not know is UNKNOWN, and it may stop there."""

    def __init__(self, text: str, column_rises: Callable[[str], bool]) -> None:
        self._tokens = [(match.lastgroup or "", match.group().strip()) for match in _TOKENS.finditer(text.strip())]
        self._place = 0
        self._column_rises = column_rises

    @property
    def length(self) -> int:
        """How many tokens there are."""
        return len(self._tokens)

    @property
    def is_read(self) -> bool:
        """Whether nothing is left."""
        return self._place == len(self._tokens)

    def sum(self) -> _Way:
        """Products, added and subtracted."""
        found = self._product()
        while (sign := self._next("+", "-")) is not None:
            found = _added(found, self._product(), is_added=sign == "+")
        return found

    def _product(self) -> _Way:
        found = self._signed()
        while self._next("*", "/", "DIV") is not None:
            found = found if self._signed() is _Way.POSITIVE else _Way.UNKNOWN
        return found

    def _signed(self) -> _Way:
        if self._next("-") is not None:
            return _Way.CONSTANT if self._signed() in (_Way.CONSTANT, _Way.POSITIVE) else _Way.UNKNOWN
        found = self._one()
        while self._next("::") is not None:
            found = self._cast(found)
        return found

    def _one(self) -> _Way:
        kind, text = self._peek()
        self._place += 1
        if kind == "text":
            return _Way.CONSTANT
        if kind == "number":
            return _Way.POSITIVE if re.search(r"[1-9]", text) else _Way.CONSTANT
        if kind == "sign":
            return self._closed(self.sum()) if text == "(" else _Way.UNKNOWN
        follows = self._peek()
        if follows[1] == "(":
            self._place += 1
            return self._function(text.lower())
        if text.upper() in ("INTERVAL", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ") and follows[0] in ("text", "number"):
            self._place += 1
            if _UNITS.fullmatch(self._peek()[1]):
                self._place += 1
            return _Way.CONSTANT
        return _Way.RISES if kind == "name" and self._column_rises(text.strip("`")) else _Way.UNKNOWN

    def _function(self, name: str) -> _Way:
        if name in ("cast", "try_cast"):
            found = self.sum()
            return self._closed(self._cast(found) if self._next("AS") is not None else _Way.UNKNOWN)
        given = [self.sum()]
        while self._next(",") is not None:
            given.append(self.sum())
        if name == _OF_THE_LAST:
            given.reverse()
        if _OF_THE_FIRST.fullmatch(name) or name == _OF_THE_LAST:
            others = all(way in (_Way.CONSTANT, _Way.POSITIVE, _Way.RISES) for way in given[1:])
            found = given[0] if others else _Way.UNKNOWN
        elif name == "greatest":
            found = max(given)
        elif name == "least":
            found = min(given)
        else:
            found = _Way.UNKNOWN
        return self._closed(found if found is _Way.RISES else _Way.UNKNOWN)

    def _cast(self, found: _Way) -> _Way:
        """After AS or `::`: the type, with its parameters; a cast to a small type has a largest value."""
        _, name = self._peek()
        self._place += 1
        if self._peek()[1] == "(":
            return _Way.UNKNOWN
        return found if _ENDLESS_TYPES.fullmatch(name.upper()) else _Way.UNKNOWN

    def _closed(self, found: _Way) -> _Way:
        return found if self._next(")") is not None else _Way.UNKNOWN

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._place] if self._place < len(self._tokens) else ("", "")

    def _next(self, *wanted: str) -> str | None:
        """The next token if it is one of these, which is then read."""
        kind, text = self._peek()
        if kind not in ("sign", "name") or text.upper() not in wanted:
            return None
        self._place += 1
        return text.upper()


def _added(one: _Way, other: _Way, *, is_added: bool) -> _Way:
    if _Way.UNKNOWN in (one, other) or (other is _Way.RISES and not is_added):
        return _Way.UNKNOWN
    if _Way.RISES in (one, other):
        return _Way.RISES
    return _Way.CONSTANT
