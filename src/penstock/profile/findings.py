"""What `penstock profile` found: inert records that the text and the JSON are made of.

A **fact** is a constraint that could be declared, what the data needs of it, and the declaration that this makes.

The declaration of a level is the tightest of its kind that so many rows keep. Keys and references have no k: they are
kept by all rows, or are not offered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.model.schemes import Clustered, Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Scheme
from penstock.model.spans import LONGEST_WRITTEN, Rows, Span, Window, span_of_ticks
from penstock.model.stream import Stream
from penstock.profile.declaring import Declaration
from penstock.profile.replay import StateKept
from penstock.spark.profiling.needs import LEVELS, Answer, NumberMeaning, Question


@dataclass(frozen=True)
class Looser:
    """A proposal at a level that not all rows keep."""

    level: int
    declarations: tuple[Declaration, ...]
    broken: int
    """Rows that break one of them."""
    kept: StateKept


@dataclass(frozen=True)
class Proposal:
    """Declarations that the data keeps, and what they save."""

    declarations: tuple[Declaration, ...]
    facts: tuple[AskedConstraint, ...]
    kept: StateKept
    """What is kept with them, on top of what is declared."""
    saves: float
    """Rows less, on average, than with what is declared."""
    saves_further: float
    """Rows less than with all the proposals before it declared as well."""
    looser: tuple[Looser, ...] = ()


@dataclass(frozen=True)
class Verified:
    """A declaration of the script, held against the data."""

    constraint: str
    rows: int
    violations: int
    needed: int | None
    """The k that all rows keep; None where there is no k."""
    unit: str
    """What `needed` counts: rows, or ticks of event time."""
    instants: bool
    """Whether ticks are microseconds."""


@dataclass(frozen=True)
class ValuesSeen:
    """The values that a joined column takes."""

    stream: str
    column: str
    values: int
    nulls: int
    least: object
    greatest: object
    declaration: Declaration | None
    """The CHECK that bounds it, where there are few values."""


@dataclass(frozen=True)
class Bounding:
    """What bounds every query of a script."""

    declared: bool
    """Whether what the script declares does."""
    more: tuple[Declaration, ...] | None
    """What does, beside the proposals that save something on top of those before them; None if nothing measured."""


@dataclass(frozen=True)
class Profile:
    """The whole answer."""

    rows: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    replayed_rows: int
    replayed_batches: int
    kept: StateKept
    """With what is declared."""
    proposals: tuple[Proposal, ...]
    """Those that save, the largest saving first, then those that change nothing."""
    facts: tuple[AskedConstraint, ...]
    """Everything that was measured."""
    declared: tuple[Verified, ...]
    unverified: tuple[str, ...]
    domains: tuple[ValuesSeen, ...]
    bounding: Bounding | None
    """None if the steps did not get that far."""
    failed: str | None = None
    """Which step failed, and why: what it would have found, and what comes after it, is missing."""


ALL = 0
"""The number of the level that every row keeps."""


@dataclass(frozen=True)
class AskedConstraint:
    """The questions that make up one constraint, and their answers."""

    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]

    @property
    def stream(self) -> Stream:
        """Who would declare it."""
        return self.questions[0].stream

    @property
    def rows(self) -> int:
        """Rows that were looked at; for a window of time, those with a match."""
        return self.answers[0].rows

    @property
    def has_levels(self) -> bool:
        """Whether it has a k that fewer rows may keep."""
        return self.questions[0].need is not NumberMeaning.BROKEN

    def needs(self, level: int) -> tuple[int, ...]:
        """The k of each question at a level."""
        return tuple(answer.needs[level] for answer in self.answers)

    def broken(self, level: int) -> int:
        """Rows that break the declaration of a level; a row may break both ends of a window, and counts twice."""
        return sum(answer.broken[level] if self.has_levels else answer.beyond for answer in self.answers)

    def declaration(self, level: int = ALL) -> Scheme | None:
        """What to declare; None where nothing was seen, a row breaks what has no k, or the k cannot be written."""
        if not self.rows or (not self.has_levels and self.broken(ALL)):
            return None
        first = self.answers[0].needs[level]
        instants = self.stream.clock is not None and self.stream.clock.is_instant
        match self.questions[0].constraint, self.questions[0].need:
            case PrimaryKey() | ForeignKey() as scheme, NumberMeaning.BROKEN:
                return scheme
            case (Ordered() | Clustered() | Follows()) as scheme, NumberMeaning.ROWS:
                return replace(scheme, within=Rows(first))
            case (Ordered() | Follows()) as scheme, NumberMeaning.TICKS:
                span = _written(first, instants)
                return None if span is None else replace(scheme, within=span)
            case (Cooccurs() | ForeignKey()) as scheme, _:
                low, high = _written(-first, instants), _written(self.answers[1].needs[level], instants)
                return None if low is None or high is None else replace(scheme, window=Window(low, high))
            case _:
                return None


def _written(ticks: int, instants: bool) -> Span | None:
    return span_of_ticks(ticks, instants) if abs(ticks) <= LONGEST_WRITTEN else None


def percent(level: int) -> str:
    """A level in words."""
    parts = LEVELS[level]
    return f"{parts // 10} %" if parts % 10 == 0 else f"{parts / 10} %"
