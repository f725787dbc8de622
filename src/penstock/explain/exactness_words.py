"""Whether the answer of a run is exact, in words: the line that each query ends with, and the phrases of its metrics.

What stands against it is worked out in `runtime/exactness.py`, and comes as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

_MOST_NAMED = 2
"""Constraints that the line of an exact answer names."""


class KnownOfAnswer(Protocol):
    """What is known of an answer so far."""

    @property
    def since(self) -> int | None:
        """The first batch whose answer may be wrong; None if it is exact."""

    @property
    def broken(self) -> Mapping[str, int]:
        """By constraint, the rows that broke it and were not kept out."""

    @property
    def lost(self) -> int:
        """Results known to be lost."""

    @property
    def evicted(self) -> int:
        """Rows that a budget evicted."""

    @property
    def contradicted(self) -> int:
        """Rows emitted as unmatched that a late match contradicts."""

    @property
    def off_by(self) -> float:
        """The share by which counts in place of joins may be off."""

    @property
    def uncounted(self) -> bool:
        """Whether a promise broke of which nobody counts the results that it lost."""

    @property
    def gone(self) -> int:
        """Files that were no longer there when their batch was done."""

    @property
    def gone_first(self) -> str:
        """The first of them."""

    @property
    def unknown(self) -> int:
        """Batches of which nothing was seen."""


def inexact_because(known: KnownOfAnswer) -> Iterator[str]:
    """What stands against an answer being exact, a phrase for each."""
    for constraint, count in known.broken.items():
        yield f"{_rows(count)} broke {constraint}"
    if known.broken or known.lost:
        in_all = " (how many in all is not known)" if known.uncounted else ""
        yield f"{known.lost:,} result{'' if known.lost == 1 else 's'} known to be lost{in_all}"
    if known.evicted:
        yield f"{_rows(known.evicted)} evicted by the BUDGET"
    if known.contradicted:
        yield f"{_rows(known.contradicted)} emitted as unmatched that a late match contradicts"
    if known.off_by:
        yield f"counts stand for joins, and may be off by {known.off_by:.1%}"
    if known.gone:
        files = "1 file" if known.gone == 1 else f"{known.gone:,} files"
        yield f"{files} gone or empty before the batch was done that was to read them ({known.gone_first})"
    if known.unknown:
        batches = "1 batch" if known.unknown == 1 else f"{known.unknown:,} batches"
        yield f"what {batches} broke is not known: the run was killed before it was told"


def exactness_told(known: KnownOfAnswer) -> str:
    """`exact`, or what is not, as the contract has it."""
    if known.since is None:
        return "exact"
    return f"INEXACT: {', '.join(inexact_because(known))}, answers may be wrong since batch {known.since}"


def unseen_told(unseen: Sequence[str]) -> str:
    """That an exact answer rests on constraints whose break may go unseen."""
    more = len(unseen) - _MOST_NAMED
    named = [*unseen[:_MOST_NAMED], *([f"{more} other{'' if more == 1 else 's'}"] if more > 0 else [])]
    return f"exact as far as is seen: rows that break {' or '.join(named)} are not all found (see explain)"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
