"""What the tokens do not tell: where a string, a name or a comment was opened that never ends, and where hints stand.

sqlglot's tokenizer gives up on a text without saying where, and takes a hint in the wrong place for a comment. Both
are found here by walking over quotes and comments alone.
"""

from __future__ import annotations

import re

from penstock.records import record

_OPENING = re.compile(r"--|/\*\+?|['\"`]")
_INSIDE = {
    "'": re.compile(r"\\.|'", re.DOTALL),
    '"': re.compile(r"\\.|\"", re.DOTALL),
    "`": re.compile(r"`"),
    "--": re.compile(r"\n"),
    "/*": re.compile(r"/\*|\*/"),
}
_NAMES = {"'": "string", '"': "string", "`": "name in backticks", "/*": "comment"}
_HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f])*\Z")


@record
class Unreadable:
    """A stretch of text that is no token, and why."""

    start: int
    end: int
    message: str


@record
class Quotes:
    """What a walk over the quotes and comments of a text finds."""

    hints: tuple[int, ...]
    """Where each `/*+` stands."""
    unreadable: Unreadable | None


def quotes_of(text: str) -> Quotes:
    """Walk over the text."""
    hints: list[int] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        kind, start = opening[0][:2] if opening[0].startswith("/*") else opening[0], opening.start()
        if opening[0] == "/*+":
            hints.append(start)
        end = _end(text, kind, opening.end())
        if end is None:
            if kind == "--":
                break
            message = f"this {_NAMES[kind]} does not end"
            return Quotes(tuple(hints), Unreadable(start, start + len(opening[0]), message))
        if kind in "'\"" and text[max(0, start - 1) : start] in ("x", "X") and not text[:start][-2:-1].isalnum():
            digits = text[opening.end() : end - 1]
            if not _HEXADECIMAL.match(digits):
                return Quotes(tuple(hints), Unreadable(start - 1, end, "this is no hexadecimal number"))
        at = end
    return Quotes(tuple(hints), None)


def _end(text: str, kind: str, at: int) -> int | None:
    """Where what was opened ends; comments may hold comments."""
    depth = 1
    while (found := _INSIDE[kind].search(text, at)) is not None:
        at = found.end()
        if found[0] == "/*":
            depth += 1
        elif not found[0].startswith("\\"):
            depth -= 1
            if depth == 0:
                return at
    return None
