"""The share of a cell in the budget of the query, by need. A cell asks no other: the headers tell all of them the same.

Each header says how many rows of its chunk go to each cell. A cell's need is the number of rows that it was given,
older batches counting less; its share is the budget times its part of all needs, rounded down. Every cell gets every
header of every batch and computes the needs of all in the same order, so all know the same shares, and their sum is at
most the budget after every batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from penstock.runtime.headers import Header

_KEPT = 0.9
"""How much of the need a batch later still counts."""


class Shares:
    """The needs of all cells, as one of them knows them."""

    def __init__(self, number: int) -> None:
        self.number = number
        """Which of the cells this is."""
        self.needs: list[float] = []

    def read(self, headers: Iterable[Header]) -> None:
        """Take note of the headers of a batch."""
        told = [header.by_cell for header in headers if header.by_cell]
        if not told:
            return
        given = [sum(counts) for counts in zip(*told, strict=True)]
        before = self.needs or [0.0] * len(given)
        self.needs = [need * _KEPT + rows for need, rows in zip(before, given, strict=True)]

    def of(self, limit: int) -> int:
        """This cell's share of a limit; all of it where there is but one cell."""
        total = sum(map(Fraction, self.needs))
        if total == 0:
            return limit // max(1, len(self.needs))
        return int(limit * Fraction(self.needs[self.number]) / total)

    def save(self) -> Any:
        """What it must remember, as JSON holds it."""
        return self.needs

    def load(self, saved: Any) -> None:
        """Go on where a saved one stood."""
        self.needs = [float(need) for need in saved]
