"""How text is put on a stream of characters: colours, marks and width.

Colours are for a terminal only; without them the output is the same text. Each verdict has a mark and a word, so that
nothing is said by colour alone. What a terminal would obey is never passed on: a name may hold any character, and each
that is not shown becomes a mark (`visible`); of what commands there are, only the colours of this module come through
(`harmless`).
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from typing import TextIO

from penstock.errors import visible
from penstock.records import record

PLAIN_WIDTH = 100
"""The width where there is no terminal to ask."""
_NARROWEST, _WIDEST = 60, 120

_MARKS = {"bounded": "✓", "unbounded": "✗", "undecided": "?"}
_ASCII_MARKS = {"bounded": "+", "unbounded": "x", "undecided": "?"}
_COLOURS = {"bounded": "32", "unbounded": "31", "undecided": "33"}


_OURS = re.compile(r"(\x1b\[(?:[012]|3[123])m)")


def harmless(text: str, *, colour: bool) -> str:
    """A text of any number of lines as it may be printed, with our own colours if these are shown."""
    if text.replace("\n", "").isprintable():
        return text
    parts = _OURS.split(text) if colour else [text]
    kept = [part if colour and number % 2 else _lines(part) for number, part in enumerate(parts)]
    return "".join(kept)


def _lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


@record
class Ink:
    """What the output can show."""

    width: int = PLAIN_WIDTH
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, out: TextIO, environment: Mapping[str, str] = os.environ) -> Ink:
        """The ink for a stream of characters: colours on a terminal, unless NO_COLOR is set or TERM is dumb."""
        terminal = out.isatty()
        wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        width = min(max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, _NARROWEST), _WIDEST)
        encoding = (out.encoding or "ascii").lower().replace("_", "-")
        return cls(width if terminal else PLAIN_WIDTH, terminal and wanted, encoding.startswith("utf"))

    def mark(self, verdict: str) -> str:
        """One character for a verdict."""
        return self._in(_COLOURS[verdict], (_MARKS if self.unicode else _ASCII_MARKS)[verdict])

    def verdict(self, verdict: str, text: str) -> str:
        """Text in the colour of a verdict."""
        return self._in(_COLOURS[verdict], text)

    def strong(self, text: str) -> str:
        """A heading."""
        return self._in("1", text)

    def faint(self, text: str) -> str:
        """What may be passed over."""
        return self._in("2", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{visible(text)}\x1b[0m" if self.colour and text else text

    def wrapped(self, text: str, first: str, rest: str | None = None) -> list[str]:
        """Text broken at the width; `first` leads the first line, and blanks of that width, or `rest`, the others."""
        text = text if text.isprintable() else visible(" ".join(text.split()))
        if text.isprintable() and 0 < len(text) <= self.width - len(first) and not text.endswith(" "):
            return [first + text]  # A line that fits, which reports of hundreds of streams have by the ten thousand.
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=" " * len(first) if rest is None else rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]
