"""Whether merging rows could bound a query: what MEMORY found in the way, for `explain`.

It is not in the report of `check`, which says what to do instead, and where nothing can be done, in one line which
columns have no finite domain. Conditions of the paper have no letters here.
"""

from __future__ import annotations

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.finding import Verdict
from penstock.analysis.reasons import Reason, Told
from penstock.explain.ink import Ink
from penstock.explain.reason_words import each_told

_CANNOT = "by the conditions alone, rows cannot be merged into a fixed number"
_UNDECIDED = "whether rows can be merged into a fixed number, by the conditions alone, is not decided"


def merging_lines(verdict: Verdict, ink: Ink) -> list[str]:
    """What forbids it, where nothing else bounds the query either."""
    memory = verdict.memory
    reasons = (*memory.because, *memory.violates) if memory.bounded is None else memory.violates
    if verdict.verdict == "bounded" or memory.bounded is True or not reasons:
        return []
    first, *rest = ink.wrapped(_UNDECIDED if memory.bounded is None else _CANNOT, "  merging  ")
    lines = [first.replace("merging", ink.strong("merging"), 1), *rest]
    for reason in each_told(map(_without_letter, reasons)):
        lines += ink.wrapped(reason, "    - ", "      ")
    return lines


def _without_letter(reason: Told) -> Told:
    """What a condition of the paper says, without the name that it has there."""
    if isinstance(reason, Reason) and reason.kind is MemoryReason.CONDITION:
        said = reason.about[1]
        return said if isinstance(said, Reason | str) else reason
    return reason
