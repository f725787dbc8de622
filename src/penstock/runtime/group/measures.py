"""Measures: what is kept of many values of a column on its way through the join: a sum with its count, or an extreme.

Which kind of sum it is follows from the type of the column (`totals.py`); a sum of floats is a float. `scaled` is what
becomes of a measure when each of its rows is met by so many others: sums grow, extremes do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.types import digits_of
from penstock.plan.aggregate import Fold
from penstock.plan.merge_rows import CODED_DIGITS
from penstock.runtime.columns.codes import Bools, Ints, codes, is_coded
from penstock.runtime.columns.row_values import ranks
from penstock.runtime.group.moments import MEAN, SQUARES, Moments
from penstock.runtime.group.numbering import Groups
from penstock.runtime.group.picked import BY, PICKED, Picked
from penstock.runtime.group.totals import FLOAT, HELD, PARTS, WORD, Totals, WideTotals, in_parts

_BEST = "_best"


class Numbers(StrEnum):
    """How values of a type are summed up."""

    EXACT = "exact"
    WIDE = "wide"
    """Exact, in parts."""
    FLOAT = "float"


def numbers_of(kind: str | None) -> Numbers:
    """How values of a declared type are summed up; of what is no number it does not matter."""
    if kind is None or not kind.upper().startswith(("FLOAT", "DOUBLE", "DECIMAL")):
        return Numbers.EXACT
    if not kind.upper().startswith("DECIMAL"):
        return Numbers.FLOAT
    return Numbers.WIDE if (digits_of(kind) or (0, 0))[0] > CODED_DIGITS else Numbers.EXACT


@dataclass(frozen=True)
class Extremes:
    """The least or the greatest values, one of each row or group; NULL where there is none."""

    values: Any
    greatest: bool

    def take(self, places: Any) -> Extremes:
        """Those at the given places."""
        if isinstance(places, slice):
            return self
        return Extremes(self.values.take(pa.array(places)), self.greatest)

    def where(self, there: Bools) -> Extremes:
        """Those of the rows that are there, among others that are absent."""
        return Extremes(among_absent(self.values, there), self.greatest)

    def scaled(self, by: Ints) -> Extremes:  # noqa: ARG002 - the same value again is no more extreme
        """Each met so often: the same."""
        return self

    def summed(self, groups: Groups) -> Extremes:
        """The extreme of each group."""
        reach, present = self._reach(self.values)
        order = np.lexsort((~reach, ~present, groups.of))
        first = order[np.searchsorted(groups.of[order], np.arange(groups.count))]
        return self.take(first)

    def plus(self, places: Ints, more: Extremes) -> Extremes:
        """With more values looked at in some places, each named once."""
        both = pa.concat_arrays([self.values.take(pa.array(places)), more.values])
        reach, present = (part.reshape(2, len(places)) for part in self._reach(both))
        better = present[1] & (~present[0] | (reach[1] > reach[0]))
        chosen = np.arange(len(self.values))
        chosen[places[better]] = len(self.values) + np.flatnonzero(better)
        return Extremes(pa.concat_arrays([self.values, more.values]).take(pa.array(chosen)), self.greatest)

    def _reach(self, values: Any) -> tuple[Ints, Bools]:
        """How far out each value is, comparable among these; and whether there is one."""
        numbers = ranks(values)
        # All bits flipped is the order turned round, without the one value whose negative does not exist.
        return numbers if self.greatest else ~numbers, values.is_valid().to_numpy(zero_copy_only=False)

    def columns(self, name: str) -> dict[str, Any]:
        """As a column of a table."""
        return {name + _BEST: self.values}

    def __len__(self) -> int:
        return len(self.values)


Measured = Totals | WideTotals | Extremes | Moments | Picked


def measured(fold: Fold, values: Any, weights: Ints | None = None, by: Any = None) -> Measured:
    """The measure of each value by itself, or of so many of it; `by` is what a value is picked by."""
    if fold in (Fold.MAX_BY, Fold.MIN_BY):
        return Picked.of(values, by, greatest=fold is Fold.MAX_BY)
    if fold in (Fold.MIN, Fold.MAX):
        return Extremes(values, fold is Fold.MAX)
    if fold is Fold.MOMENTS:
        return Moments.of(values, np.ones(len(values), np.int64) if weights is None else weights)
    held = values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    made: Totals | WideTotals = Totals(None, None, held)
    if fold is Fold.SUM:
        if pa.types.is_floating(values.type):
            floats = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
            made = Totals(None, floats, held)
        elif pa.types.is_decimal(values.type) and not is_coded(values.type):
            made = WideTotals(tuple(Totals(part, part.astype(np.float64), held) for part in in_parts(values)))
        else:
            words = codes(values)
            made = Totals(words, words.astype(np.float64), held)
    return made if weights is None else made.scaled(weights)


def column_names(fold: Fold, name: str, numbers: Numbers) -> tuple[str, ...]:
    """The columns in which a measure is kept."""
    if fold in (Fold.MIN, Fold.MAX):
        return (name + _BEST,)
    if fold in (Fold.MAX_BY, Fold.MIN_BY):
        return (name + PICKED, name + BY)
    if fold is Fold.COUNT:
        return (name + HELD,)
    if fold is Fold.MOMENTS:
        return (name + HELD, name + MEAN, name + SQUARES)
    match numbers:
        case Numbers.FLOAT:
            return (name + FLOAT, name + HELD)
        case Numbers.EXACT:
            return (name + WORD, name + FLOAT, name + HELD)
        case Numbers.WIDE:
            return tuple(own for part in PARTS for own in column_names(fold, name + part, Numbers.EXACT))


def from_columns(fold: Fold, columns: dict[str, Any], name: str) -> Measured:
    """The measure that columns hold."""
    if fold in (Fold.MIN, Fold.MAX):
        return Extremes(columns[name + _BEST], fold is Fold.MAX)
    if fold in (Fold.MAX_BY, Fold.MIN_BY):
        return Picked(columns[name + PICKED], columns[name + BY], fold is Fold.MAX_BY)
    if fold is Fold.MOMENTS:
        return Moments(*(_array(columns[name + suffix]) for suffix in (HELD, MEAN, SQUARES)))
    if name + PARTS[0] + HELD in columns:
        parts = [from_columns(fold, columns, name + part) for part in PARTS]
        return WideTotals(tuple(part for part in parts if isinstance(part, Totals)))
    words, floats, held = (_array(columns.get(name + suffix)) for suffix in (WORD, FLOAT, HELD))
    assert held is not None
    return Totals(words, floats, held)


def among_absent(values: Any, there: Bools) -> Any:
    """A column of the rows that are there, NULL where one is absent."""
    return values.take(pa.array(np.cumsum(there) - 1, mask=~there))


def _array(column: Any) -> Any:
    return None if column is None else column.to_numpy(zero_copy_only=False)
