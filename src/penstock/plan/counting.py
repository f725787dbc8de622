"""The counts that are run in place of a join, for the rooms that read plans: the types and the arithmetic of bounds."""

from __future__ import annotations

from penstock.analysis.rewriting.bound import observed, total, violated
from penstock.analysis.rewriting.counts import SOURCE, TIME, WINDOW, CountedSource, CountOutput, Rewriting, literal

__all__ = [
    "SOURCE",
    "TIME",
    "WINDOW",
    "CountOutput",
    "CountedSource",
    "Rewriting",
    "literal",
    "observed",
    "total",
    "violated",
]
