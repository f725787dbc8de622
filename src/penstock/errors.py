"""Every error that Penstock raises on purpose, split by who must act.

    PenstockError
    ├── ScriptErrors            all the mistakes of one script, in the order of their places
    ├── Mistake                 one mistake in a script, with its place
    │   ├── SyntaxMistake       the text is not the language
    │   ├── DeclarationMistake  a stream, a sink or a constraint is wrong
    │   ├── QueryMistake        a query is wrong
    │   └── Refused             SQL that the language leaves out on purpose
    ├── UsageError              the call is wrong: no such file, no such query
    ├── DataError               the data, or where it lies, is not what was declared
    ├── MachineError            the machine lacks something, such as a JDK
    ├── NotSupportedYet         right, but this version cannot do it
    └── InternalError           a bug of ours

An error is a message (what), then a detail (why, or what was expected), then a hint (what to do instead).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import east_asian_width


class PenstockError(Exception):
    """The root: a message, and where they help a detail and a hint."""

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The error as it is shown, line by line."""
        return [f"error: {self.message}", *self._advice()]

    def _advice(self) -> list[str]:
        shown = []
        if self.detail:
            shown.append(f"  detail: {self.detail}")
        if self.hint:
            shown.append(f"  hint: {self.hint}")
        return shown


_LONGEST = 120
"""Characters of a line that an error shows."""

_LONGEST_MESSAGE = 400
"""Characters of a message or a hint."""


@dataclass(frozen=True)
class Place:
    """A stretch of a script's text: where an error is shown, and the line to show it under."""

    file: str
    line: int
    """Counted from 1."""
    column: int
    """Counted from 1, in characters."""
    length: int
    text: str
    """The whole line."""

    @classmethod
    def of(cls, source: str, start: int, end: int, file: str, line: int) -> Place:
        """The place of `source[start:end]`, cut at the end of its first line, which has that number."""
        start = min(max(start, 0), len(source))
        begin = source.rfind("\n", 0, start) + 1
        finish = source.find("\n", start)
        finish = len(source) if finish < 0 else finish
        length = max(1, min(end, finish) - start)
        return cls(file, line, start - begin + 1, length, source[begin:finish].rstrip("\r"))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def caret(self) -> list[str]:
        """The line of text and a line of carets under the place; tabs and wide blanks keep the two aligned.

        A long line is cut on both sides of the place.
        """
        number = str(self.line)
        start, text = self.column - 1, self.text
        if len(text) > _LONGEST:
            first = max(0, min(start - _LONGEST // 3, len(text) - _LONGEST))
            cut = text[first : first + _LONGEST]
            text = ("…" if first else "") + cut + ("…" if first + _LONGEST < len(text) else "")
            start -= first - (1 if first else 0)
        before = "".join(_blank_for(c) for c in text[:start])
        carets = "^" * max(1, min(self.length, len(text) - start))
        return [f"  {number} | {visible(text)}", f"  {' ' * len(number)} | {before}{carets}"]


def visible(text: str) -> str:
    """The text with a mark for each character that a terminal would not show, or would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)


def _blank_for(character: str) -> str:
    if character == "\t":
        return "\t"
    return "\u3000" if east_asian_width(character) in "WF" else " "


def _one_line(text: str) -> str:
    """A name in a message may hold line breaks, and thousands of characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


class Mistake(PenstockError):
    """One mistake in a script, and its place."""

    def __init__(self, message: str, place: Place, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(
            _one_line(message),
            detail=_one_line(detail) if detail else None,
            hint=_one_line(hint) if hint else None,
        )
        self.place = place

    def lines(self) -> list[str]:
        """The place, the message, the text with a caret, the advice."""
        return [f"{self.place}: error: {self.message}", *self.place.caret(), *self._advice()]


class SyntaxMistake(Mistake):
    """The text is not the language."""


class DeclarationMistake(Mistake):
    """A stream, a sink or a constraint is wrong."""


class QueryMistake(Mistake):
    """A query is wrong."""


class Refused(Mistake):
    """A construct of SQL that the language leaves out on purpose."""


class ScriptErrors(PenstockError):
    """All the mistakes of one script, in the order of their places."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.place.line, m.place.column, m.message)))
        count = len(self.mistakes)
        super().__init__("1 error" if count == 1 else f"{count} errors")

    def lines(self) -> list[str]:
        """Each mistake in turn, an empty line between two."""
        shown: list[str] = []
        for mistake in self.mistakes:
            shown += [*mistake.lines(), ""]
        return shown[:-1]


class UsageError(PenstockError):
    """The call is wrong: no such file, no such query."""


class DataError(PenstockError):
    """The data, or where it lies, is not what was declared."""


class MachineError(PenstockError):
    """The machine lacks something that Penstock needs."""


class NotSupportedYet(PenstockError):
    """The request is right, but this version cannot do it."""


class InternalError(PenstockError):
    """A bug of ours."""


REFUSALS = (ScriptErrors, Mistake, UsageError, NotSupportedYet)
"""What the script or the call must change: nothing was started."""
