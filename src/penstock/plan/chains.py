"""What the plan shows of SAFETY's analysis: the chains of closings, and the punctuations that are of no use."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.reasons import Reason, Told


@dataclass(frozen=True)
class PurgeChainStep:
    """One step of a chained purge: `target` is closed for rows of `sources` that stand together, and by what."""

    sources: tuple[str, ...]
    target: str
    wait: Reason
    because: tuple[Told, ...]


@dataclass(frozen=True)
class Chain:
    """The steps by which the promises close every other stream for a row of `root`, and the streams left open."""

    root: str
    steps: tuple[PurgeChainStep, ...]
    open: tuple[str, ...]


@dataclass(frozen=True)
class UselessPunctuations:
    """A punctuation scheme that lets no row of this query go: its rows are dropped at the source."""

    alias: str
    constraint: str
    """Its text with ON stream."""
    why: Reason
