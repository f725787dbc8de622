"""Measures of the issues run small in the suite, and at the size the issue states under PENSTOCK_MEASURE=full."""

from __future__ import annotations

import os

FULL = os.environ.get("PENSTOCK_MEASURE") == "full"


def size(small: int, full: int) -> int:
    """How many cases to run."""
    return full if FULL else small


def allowed_seconds(limit: float) -> float:
    """How long something may take: as stated at full size, alone on the machine.

    In the suite, whose workers share cores and caches with whatever else runs, only what is out of proportion is red.
    """
    return limit if FULL else 5 * limit
