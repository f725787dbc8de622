"""What every text must do, however wrong: parse, or raise ScriptErrors whose places and lines can be shown."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.errors import Mistake, ScriptErrors
from penstock.model.script import Script
from penstock.sql import parse_script, print_script


def survive(text: str) -> Script | None:
    """Parse a text and look at what came of it; the script, or None if it has mistakes. Raises on any bug."""
    try:
        script = parse_script(text, "some.sql")
    except ScriptErrors as errors:
        _check_errors(errors, text)
        return None
    _check_round_trip(script)
    for query in script.queries:
        check_query(query)
    return script


def _check_errors(errors: ScriptErrors, text: str) -> None:
    assert errors.mistakes
    # A byte order mark is no part of the text.
    lines = text.removeprefix("\ufeff").split("\n")
    for mistake in errors.mistakes:
        _check_place(mistake, lines)
    for line in errors.lines():
        assert line.replace("\t", "").replace("\u3000", "").isprintable(), repr(line)
        assert len(line) < 600


def _check_place(mistake: Mistake, lines: list[str]) -> None:
    place = mistake.place
    assert mistake.message
    assert 1 <= place.line <= len(lines), f"{place} of {len(lines)} lines"
    line = lines[place.line - 1]
    assert 1 <= place.column <= len(line) + 1, f"{place} of a line of {len(line)} characters"
    assert place.text == line.rstrip("\r")
    shown, carets = place.caret()
    assert "^" in carets
    assert len(shown) < 200


def _check_round_trip(script: Script) -> None:
    printed = print_script(script)
    again = parse_script(printed)
    assert again == script, "the printed script parses to another model"
    assert print_script(again) == printed, "printing is no fixpoint"
