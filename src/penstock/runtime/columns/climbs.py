"""Climbs: where an ordered column rose above all rows before it, as two columns that rise together.

A perfectly ordered column climbs at every row, so there are up to k of them for ORDERED BY a WITHIN k ROWS: they are
held as arrays, and looked up by halving. Values of types that have codes are numbers; others stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.columns.codes import INT64, Ints, Ordinal


@dataclass(frozen=True, eq=False)
class Climbs:
    """Values, each above all before it, and the rows that they came in."""

    values: Any
    rows: Ints

    @classmethod
    def of(cls, values: Sequence[Ordinal], rows: Sequence[int]) -> Climbs:
        """The climbs with these values; an integer beyond 64 bits is held at the end of the range."""
        if all(isinstance(value, int) for value in values):
            held = [max(INT64.min, min(INT64.max, value)) for value in values]
            return cls(np.array(held, np.int64), np.array(rows, np.int64))
        found = np.empty(len(values), object)
        found[:] = values
        return cls(found, np.array(rows, np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Climbs) and self.told() == other.told()

    __hash__ = None  # type: ignore[assignment] # equal by value, and never a key

    def value(self, place: int) -> Ordinal:
        """One value."""
        found = self.values[place]
        plain: Ordinal = int(found) if self.values.dtype == np.int64 else found
        return plain

    def above(self, earlier: Climbs) -> Climbs:
        """Those that rise further than all earlier ones."""
        if not len(self) or not len(earlier):
            return self
        first = int(np.searchsorted(self.values, earlier.values[-1:], "right")[0])
        return Climbs(self.values[first:], self.rows[first:])

    def told(self) -> list[tuple[Ordinal, int]]:
        """The pairs, in plain Python."""
        return list(zip(self.values.tolist(), self.rows.tolist(), strict=True))


NO_CLIMBS = Climbs.of([], [])
