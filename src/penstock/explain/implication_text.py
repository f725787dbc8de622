"""The text of `penstock implies`: the answer in one line, then why.

A proof stands step by step; a counter-model row by row. Neither is shortened: it is there to be checked by hand.
"""

from __future__ import annotations

from penstock.analysis.implication.decide import Implication
from penstock.explain.ink import Ink
from penstock.explain.words import each_told

_SAID = {
    True: ("bounded", "implied"),
    False: ("unbounded", "not implied"),
    None: ("undecided", "undecided"),
}
"""The ink of a verdict, and the word."""


def implication_report(constraint: str, answer: Implication, ink: Ink) -> list[str]:
    """The report, line by line."""
    verdict, word = _SAID[answer.implied]
    lines = [f"{ink.mark(verdict)} {ink.verdict(verdict, word)}: {ink.strong(constraint)}", ""]
    for reason in each_told(answer.because):
        lines += ink.wrapped(reason, "  ", "      ")
    return lines
