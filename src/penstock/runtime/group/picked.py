"""Picked values: max_by(x, y) and min_by(x, y), the x of the row with the greatest or the least y of a group.

A row whose y is NULL is none; the x may be NULL. Of several rows with that y the one with the greatest x is taken, for
min_by the least, a NULL only where there is nothing else; values that have no order are taken by a hash. So what is
picked depends on nothing but the rows of the group, in whatever order and batches they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.row_values import ranks
from penstock.runtime.group.numbering import Groups

PICKED, BY = "_picked", "_by"


@dataclass(frozen=True)
class Picked:
    """One value of each row or group, and that by which it is picked; NULL where there is none."""

    values: Any
    by: Any
    greatest: bool

    @classmethod
    def of(cls, values: Any, by: Any, *, greatest: bool) -> Picked:
        """Of each row by itself; where there is nothing to pick by there is no value."""
        if by.null_count:
            there = by.is_valid().to_numpy(zero_copy_only=False)
            values = values.take(pa.array(np.arange(len(values)), mask=~there))
        return cls(values, by, greatest)

    def take(self, places: Any) -> Picked:
        """Those at the given places."""
        if isinstance(places, slice):
            return self
        chosen = pa.array(places)
        return Picked(self.values.take(chosen), self.by.take(chosen), self.greatest)

    def where(self, there: Bools) -> Picked:
        """Those of the rows that are there, among others that are absent."""
        chosen = pa.array(np.cumsum(there) - 1, mask=~there)
        return Picked(self.values.take(chosen), self.by.take(chosen), self.greatest)

    def scaled(self, by: Ints) -> Picked:  # noqa: ARG002 - the same row again is no more extreme
        """Each met so often: the same."""
        return self

    def summed(self, groups: Groups) -> Picked:
        """The one of each group."""
        order = np.lexsort((*(~key for key in reversed(self._keys())), groups.of))
        first = order[np.searchsorted(groups.of[order], np.arange(groups.count))]
        return self.take(first)

    def plus(self, places: Ints, more: Picked) -> Picked:
        """With more rows looked at in some places, each named once."""
        values = pa.concat_arrays([self.values, more.values])
        by = pa.concat_arrays([self.by, more.by])
        own, other = places, len(self.values) + np.arange(len(places))
        asked = np.concatenate([own, other])
        keys = Picked(values.take(pa.array(asked)), by.take(pa.array(asked)), self.greatest)._keys()
        better: Bools = np.zeros(len(places), np.bool_)
        equal: Bools = np.ones(len(places), np.bool_)
        for mine, theirs in (np.split(key, 2) for key in keys):
            better |= equal & (theirs > mine)
            equal &= theirs == mine
        chosen = np.arange(len(self.values))
        chosen[places[better]] = other[better]
        return Picked(values, by, self.greatest).take(chosen)

    def _keys(self) -> tuple[Ints, ...]:
        """Numbers by which a row is picked, the greatest first, the most important one first."""
        found: list[Ints] = []
        for column in (self.by, self.values):
            there = column.is_valid().to_numpy(zero_copy_only=False)
            numbers = ranks(column)
            # All bits flipped is the order turned round, without the one value whose negative does not exist.
            found += [there.astype(np.int64), np.where(there, numbers if self.greatest else ~numbers, 0)]
        return tuple(found)

    def columns(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        return {name + PICKED: self.values, name + BY: self.by}

    def __len__(self) -> int:
        return len(self.values)
