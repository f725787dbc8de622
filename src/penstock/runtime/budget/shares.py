"""The share of a cell in the budget of the query, by need. A cell asks no other: the headers tell all of them the same.

Each header says how many rows of its chunk go to each cell and, where all streams are joined by one key, how many fall
into each bucket of keys. A cell's share is first what `key_needs.py` finds that it ought to hold; of what is left over,
its part of the rows that were given, older batches counting less. Every cell gets every header of every batch and
computes the needs of all in the same order, so all know the same shares, and their sum is at most the budget after
every batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from penstock.plan.plan import Plan
from penstock.runtime.budget.key_needs import KeyNeeds, is_shared_by_key
from penstock.runtime.input.headers import Header
from penstock.runtime.state.component import Component

_KEPT = 0.9
"""How much of the need a batch later still counts."""


class Shares(Component):
    """The needs of all cells, as one of them knows them."""

    numbers = ("needs",)
    parts = ("by_key",)

    def __init__(self, plan: Plan, number: int, rows: int) -> None:
        self.number = number
        """Which of the cells this is."""
        self.needs: list[float] = []
        self.by_key = KeyNeeds(plan, rows) if is_shared_by_key(plan) else None

    @property
    def nbytes(self) -> int:
        """The room that what it knows takes."""
        return 0 if self.by_key is None else self.by_key.nbytes

    def read(self, headers: Iterable[Header]) -> None:
        """Take note of the headers of a batch."""
        told = list(headers)
        by_cell = [header.by_cell for header in told if header.by_cell]
        if not by_cell:
            return
        given = [sum(counts) for counts in zip(*by_cell, strict=True)]
        before = self.needs or [0.0] * len(given)
        self.needs = [need * _KEPT + rows for need, rows in zip(before, given, strict=True)]
        if self.by_key is not None and len(given) > 1 and self.by_key.fits(len(given)):
            self.by_key.read(told, len(given))

    def of(self, limit: int, a_row: int = 1) -> int:
        """This cell's share of a limit, where a row takes so much; all of it where there is but one cell."""
        total = sum(map(Fraction, self.needs))
        if total == 0:
            return limit // max(1, len(self.needs))
        first = self._wanted(limit // a_row)
        rest = limit - sum(first) * a_row
        return first[self.number] * a_row + int(rest * Fraction(self.needs[self.number]) / total)

    def _wanted(self, rows: int) -> list[int]:
        cells = len(self.needs)
        return [0] * cells if self.by_key is None or cells == 1 else self.by_key.wanted(rows, cells)
