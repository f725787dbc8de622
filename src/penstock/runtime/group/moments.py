"""Moments: how many values, their mean, and the sum of the squares of their distances from it; for variances.

Kept so, and not as sums of squares, because these lose all digits where values lie far from zero and close together.
Two of them together (Chan, Golub and LeVeque): with d the difference of the means, the mean moves by d n2 / n, and the
squares grow by d^2 n1 n2 / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.group.numbering import Groups
from penstock.runtime.group.totals import HELD, WITHOUT_END, Floats, added

MEAN, SQUARES = "_mean", "_squares"


@dataclass(frozen=True)
class Moments:
    """One of each row or group."""

    held: Ints
    """How many values are not NULL."""
    mean: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Any, weights: Ints) -> Moments:
        """Of each value by itself, so many of it."""
        numbers = pc.fill_null(values.cast(pa.float64(), safe=False), 0.0).to_numpy(zero_copy_only=False)
        there = values.is_valid().to_numpy(zero_copy_only=False)
        return cls(np.where(there, weights, 0), numbers, np.zeros(len(numbers)))

    def take(self, places: Any) -> Moments:
        """Those at the given places."""
        return Moments(self.held[places], self.mean[places], self.squares[places])

    @WITHOUT_END
    def summed(self, groups: Groups) -> Moments:
        """Of each group."""
        held = added(self.held, groups)
        many = np.where(held == 0, 1, held)
        # First about where the values lie, then exactly: a sum of large numbers would round the mean away.
        near = np.zeros(groups.count)
        there = np.flatnonzero(self.held > 0)[::-1]
        near[groups.of[there]] = self.mean[there]
        away = self.mean - near[groups.of]
        moved = np.bincount(groups.of, self.held * away, groups.count) / many
        apart = np.where(self.held > 0, away - moved[groups.of], 0.0)
        squares = np.bincount(groups.of, self.squares + self.held * apart * apart, groups.count)
        return Moments(held, near + moved, squares.astype(np.float64))

    def scaled(self, by: Ints) -> Moments:
        """Each met so often."""
        return Moments(self.held * by, self.mean, self.squares * by)

    def where(self, there: Bools) -> Moments:
        """Those of the rows that are there, among others that are absent."""
        held, mean, squares = np.zeros(len(there), np.int64), np.zeros(len(there)), np.zeros(len(there))
        held[there], mean[there], squares[there] = self.held, self.mean, self.squares
        return Moments(held, mean, squares)

    @WITHOUT_END
    def plus(self, places: Ints, more: Moments) -> Moments:
        """With more looked at in some places, each named once."""
        held, mean, squares = self.held.copy(), self.mean.copy(), self.squares.copy()
        own, other = held[places], more.held
        many = np.where(own + other == 0, 1, own + other)
        apart = np.where(own == 0, 0.0, more.mean - mean[places])
        mean[places] = np.where(own == 0, more.mean, mean[places]) + np.where(other == 0, 0.0, apart * other / many)
        squares[places] += more.squares + np.where(other == 0, 0.0, apart * apart * own * other / many)
        held[places] += other
        return Moments(held, mean, squares)

    def columns(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        made = {HELD: self.held, MEAN: self.mean, SQUARES: self.squares}
        return {name + suffix: pa.array(values) for suffix, values in made.items()}

    def __len__(self) -> int:
        return len(self.held)


def variances(moments: Moments, *, of_sample: bool, is_root: bool) -> Any:
    """The variance of each, or its root; NULL where there are too few values, as in Spark."""
    least = 2 if of_sample else 1
    parts = np.maximum(moments.held - (1 if of_sample else 0), 1)
    found = moments.squares / parts
    return pa.array(np.sqrt(found) if is_root else found, mask=moments.held < least)
