"""Measures of the issues run small in the suite, and at the size the issue states under PENSTOCK_MEASURE=full."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

FULL = os.environ.get("PENSTOCK_MEASURE") == "full"


def size(small: int, full: int) -> int:
    """How many cases to run."""
    return full if FULL else small


def allowed_seconds(limit: float) -> float:
    """How long something may take: as stated at full size, alone on the machine.

    In the suite, whose workers share cores and caches with whatever else runs, only what is out of proportion is red.
    """
    return limit if FULL else 5 * limit


drawn = 0
"""The random cases that tests drew by themselves, without hypothesis."""


def seeds(otherwise: int, small: int, full: int) -> range:
    """The seeds of random cases: those that PENSTOCK_SEED and PENSTOCK_EXAMPLES name; fresh ones at full size."""
    first = random.SystemRandom().randrange(10**9) if FULL else otherwise
    first = int(os.environ.get("PENSTOCK_SEED", first))
    return range(first, first + int(os.environ.get("PENSTOCK_EXAMPLES", size(small, full))))


def each(cases: range) -> Iterator[int]:
    """The seeds one by one, counted as they are drawn."""
    global drawn  # noqa: PLW0603 - one count for the whole run
    for seed in cases:
        drawn += 1
        yield seed
