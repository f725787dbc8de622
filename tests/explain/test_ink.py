"""Ink: colours, width, and that no name makes a terminal do anything."""

from __future__ import annotations

import pytest

from penstock.explain.ink import Ink, harmless

EVIL = "k\x1b]0;owned\x07\x9b31m\x7f"


def test_a_line_that_fits_is_left_as_it_is_and_a_longer_one_is_broken() -> None:
    ink = Ink(width=20)
    assert ink.wrapped("short and plain", "  ") == ["  short and plain"]
    assert ink.wrapped("this is rather longer", "> ") == ["> this is rather", "  longer"]
    assert ink.wrapped("", "head  ") == ["head"]


@pytest.mark.parametrize("colour", [False, True])
def test_what_a_terminal_would_obey_becomes_a_mark(colour: bool) -> None:
    ink = Ink(colour=colour)
    lines = [*ink.wrapped(f"{EVIL} is a name", "- "), ink.strong(EVIL), f"x {EVIL}"]
    printed = harmless("\n".join(lines), colour=colour)
    assert printed.count("\n") == 2
    for ours in ("\x1b[1m", "\x1b[0m"):
        assert (ours in printed) == colour
        printed = printed.replace(ours, "")
    assert printed.replace("\n", "").isprintable()
    assert "owned" in printed


def test_without_colours_no_command_comes_through() -> None:
    assert harmless("a\x1b[31mb\nc", colour=False) == "a\ufffd[31mb\nc"
    assert harmless("a\x1b[31mb\x1b[2Jc", colour=True) == "a\x1b[31mb\ufffd[2Jc"
