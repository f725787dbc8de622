"""The words of bounds and reasons: the one place where what the analysis and the plan know becomes sentences.

A template has a place for each thing that a reason is about. What stands after the colon in a place says how several
are joined (`{: and }`; `, ` if it is left out), or what a number counts (`{:row}` is `1 row` or `5 rows`). Sentences
have no full stop and are in the words of the docs.

Nothing is decided here, and nothing said of a paper but in the conditions that `check --json` names (DESIGN section 4).
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.analysis.reasons import About, Reason, ReasonKind, Told
from penstock.explain.decider_words import DECIDER_WORDS
from penstock.explain.plan_words import PLAN_WORDS
from penstock.explain.state_words import STATE_WORDS, Words
from penstock.records import record

WORDS: dict[ReasonKind, Words] = STATE_WORDS | DECIDER_WORDS | PLAN_WORDS


def told(reason: Told) -> str:
    """A reason in words; what the user wrote as it is."""
    if isinstance(reason, str):
        return reason
    words, about = WORDS[reason.kind], [_rendered(value) for value in reason.about]
    return words(*about) if callable(words) else words.format(*map(_Filled, about))


def each_told(reasons: Iterable[Told]) -> tuple[str, ...]:
    """Several reasons, each in words."""
    return tuple(told(reason) for reason in reasons)


def _rendered(value: About) -> str | int | tuple[str, ...]:
    if isinstance(value, tuple):
        return tuple(str(_rendered(each)) for each in value)
    return told(value) if isinstance(value, Reason) else value


@record
class _Filled:
    """Something that a reason is about, to be put into a template."""

    value: str | int | tuple[str, ...]

    def __format__(self, spec: str) -> str:
        match self.value:
            case int(number):
                return f"{number} {spec}{'' if number == 1 else 's'}" if spec else str(number)
            case str(text):
                return text
            case several:
                return (spec or ", ").join(several)
