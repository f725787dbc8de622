"""What `penstock profile` found: inert records that the text and the JSON are made of."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.profile.declaring import Declaration
from penstock.profile.facts import AskedConstraint
from penstock.profile.replay import StateKept


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
    bounding: Bounding
