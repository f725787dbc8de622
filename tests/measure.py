"""Measures of the issues run small in the suite, and at the size the issue states under PENSTOCK_MEASURE=full."""

from __future__ import annotations

import os

FULL = os.environ.get("PENSTOCK_MEASURE") == "full"


def size(small: int, full: int) -> int:
    """How many cases to run."""
    return full if FULL else small
