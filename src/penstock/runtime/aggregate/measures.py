"""Measures: what is kept of many values of a column on its way through the join: a sum with its count, or an extreme.

A sum of integers or decimals is exact, in one word and one float. The word is the sum modulo 2^64, so it may wrap on
the way as often as it likes; the float is near the true sum, and says which of the numbers with that word it is, as
long as it is off by less than 2^63. That holds for sums of up to 2^100 in size. A sum of floats is a float. A decimal
of more digits than a word holds is summed in three parts of 43 bits, each of them as above.

`scaled` is what becomes of a measure when each of its rows is met by so many others: sums grow, extremes do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.aggregate import Fold
from penstock.plan.merging import CODED_DIGITS, decimal_digits
from penstock.runtime.aggregate.numbering import Groups
from penstock.runtime.codes import Bools, Ints, codes, decimal_words, is_coded

Floats = npt.NDArray[np.float64]

_WORD, _FLOAT, _HELD, _BEST = "_word", "_float", "_held", "_best"
_PARTS = ("_low", "_middle", "_high")
PART_BITS = 43


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
    return Numbers.WIDE if decimal_digits(kind) > CODED_DIGITS else Numbers.EXACT


@dataclass(frozen=True)
class Totals:
    """Sums and counts, one of each row or group."""

    words: Ints | None
    floats: Floats | None
    held: Ints
    """How many values are not NULL."""

    def take(self, places: Any) -> Totals:
        """Those at the given places."""
        return Totals(_taken(self.words, places), _taken(self.floats, places), self.held[places])

    def where(self, there: Bools) -> Totals:
        """Those of the rows that are there, among others that are absent."""
        words, floats = _where(self.words, there, np.int64), _where(self.floats, there, np.float64)
        return Totals(words, floats, _where(self.held, there, np.int64))

    def scaled(self, by: Ints) -> Totals:
        """Each met so often."""
        words = None if self.words is None else self.words * by
        return Totals(words, None if self.floats is None else self.floats * by, self.held * by)

    def summed(self, groups: Groups) -> Totals:
        """Added up group by group."""
        words = None if self.words is None else added(self.words, groups)
        floats: Floats | None = None
        if self.floats is not None:
            floats = np.bincount(groups.of, self.floats, groups.count).astype(np.float64)
        return Totals(words, floats, added(self.held, groups))

    def plus(self, places: Ints, more: Totals) -> Totals:
        """With more added at some places, each named once."""
        held = _with(self.held, places, more.held)
        return Totals(_with(self.words, places, more.words), _with(self.floats, places, more.floats), held)

    def running(self) -> Totals:
        """The sums of all before each, and of all."""
        floats = None if self.floats is None else np.concatenate([[0.0], np.cumsum(self.floats)])
        return Totals(None if self.words is None else _running(self.words), floats, _running(self.held))

    def between(self, begin: Ints, end: Ints) -> Totals:
        """Differences of running sums."""
        return self.take(end).less(self.take(begin))

    def less(self, other: Totals) -> Totals:
        """Each without another."""
        words = None if self.words is None or other.words is None else self.words - other.words
        floats = None if self.floats is None or other.floats is None else self.floats - other.floats
        return Totals(words, floats, self.held - other.held)

    def columns(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        made = {_WORD: self.words, _FLOAT: self.floats, _HELD: self.held}
        return {name + suffix: pa.array(values) for suffix, values in made.items() if values is not None}

    def __len__(self) -> int:
        return len(self.held)


@dataclass(frozen=True)
class WideTotals:
    """Sums of wide decimals: one of each part of their digits, the lowest first."""

    parts: tuple[Totals, ...]

    @property
    def held(self) -> Ints:
        """How many values are not NULL."""
        return self.parts[0].held

    def take(self, places: Any) -> WideTotals:
        """Those at the given places."""
        return WideTotals(tuple(part.take(places) for part in self.parts))

    def where(self, there: Bools) -> WideTotals:
        """Those of the rows that are there, among others that are absent."""
        return WideTotals(tuple(part.where(there) for part in self.parts))

    def scaled(self, by: Ints) -> WideTotals:
        """Each met so often."""
        return WideTotals(tuple(part.scaled(by) for part in self.parts))

    def summed(self, groups: Groups) -> WideTotals:
        """Added up group by group."""
        return WideTotals(tuple(part.summed(groups) for part in self.parts))

    def plus(self, places: Ints, more: WideTotals) -> WideTotals:
        """With more added at some places, each named once."""
        return WideTotals(tuple(own.plus(places, other) for own, other in zip(self.parts, more.parts, strict=True)))

    def running(self) -> WideTotals:
        """The sums of all before each, and of all."""
        return WideTotals(tuple(part.running() for part in self.parts))

    def between(self, begin: Ints, end: Ints) -> WideTotals:
        """Differences of running sums."""
        return WideTotals(tuple(part.between(begin, end) for part in self.parts))

    def columns(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        found: dict[str, Any] = {}
        for suffix, part in zip(_PARTS, self.parts, strict=True):
            found |= part.columns(name + suffix)
        return found

    def __len__(self) -> int:
        return len(self.parts[0])


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
        if is_coded(values.type):
            numbers = codes(values)
        elif pa.types.is_null(values.type):
            numbers = np.zeros(len(values), np.int64)  # Of a stream of which no row has come.
        else:
            ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
            numbers = ranks.to_numpy(zero_copy_only=False).astype(np.int64)
        # All bits flipped is the order turned round, without the one value whose negative does not exist.
        return numbers if self.greatest else ~numbers, values.is_valid().to_numpy(zero_copy_only=False)

    def columns(self, name: str) -> dict[str, Any]:
        """As a column of a table."""
        return {name + _BEST: self.values}

    def __len__(self) -> int:
        return len(self.values)


Measured = Totals | WideTotals | Extremes


def added(values: Ints, groups: Groups) -> Ints:
    """Whole numbers added up group by group, modulo 2^64."""
    found = np.zeros(groups.count, np.int64)
    np.add.at(found, groups.of, values)
    return found


def measured(fold: Fold, values: Any, weights: Ints | None = None) -> Measured:
    """The measure of each value by itself, or of so many of it."""
    if fold in (Fold.MIN, Fold.MAX):
        return Extremes(values, fold is Fold.MAX)
    held = values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    made: Totals | WideTotals = Totals(None, None, held)
    if fold is Fold.SUM:
        if pa.types.is_floating(values.type):
            floats = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
            made = Totals(None, floats, held)
        elif pa.types.is_decimal(values.type) and not is_coded(values.type):
            made = WideTotals(tuple(Totals(part, part.astype(np.float64), held) for part in _in_parts(values)))
        else:
            words = codes(values)
            made = Totals(words, words.astype(np.float64), held)
    return made if weights is None else made.scaled(weights)


def _in_parts(values: Any) -> tuple[Ints, Ints, Ints]:
    """Wide decimals as three numbers: of 43 bits each, the highest with the sign."""
    words = decimal_words(values)
    low, high = np.ascontiguousarray(words[:, 0]).view(np.uint64), words[:, 1]
    mask = np.uint64((1 << PART_BITS) - 1)
    rest = 64 - PART_BITS
    lowest = (low & mask).astype(np.int64)
    # What is left of the low word, then as much of the high one as makes 43 bits.
    middle = (low >> np.uint64(PART_BITS)).astype(np.int64) | ((high & ((1 << (PART_BITS - rest)) - 1)) << rest)
    return lowest, middle, high >> (PART_BITS - rest)


def column_names(fold: Fold, name: str, numbers: Numbers) -> tuple[str, ...]:
    """The columns in which a measure is kept."""
    if fold in (Fold.MIN, Fold.MAX):
        return (name + _BEST,)
    if fold is Fold.COUNT:
        return (name + _HELD,)
    match numbers:
        case Numbers.FLOAT:
            return (name + _FLOAT, name + _HELD)
        case Numbers.EXACT:
            return (name + _WORD, name + _FLOAT, name + _HELD)
        case Numbers.WIDE:
            return tuple(own for part in _PARTS for own in column_names(fold, name + part, Numbers.EXACT))


def from_columns(fold: Fold, columns: dict[str, Any], name: str) -> Measured:
    """The measure that columns hold."""
    if fold in (Fold.MIN, Fold.MAX):
        return Extremes(columns[name + _BEST], fold is Fold.MAX)
    if name + _PARTS[0] + _HELD in columns:
        parts = [from_columns(fold, columns, name + part) for part in _PARTS]
        return WideTotals(tuple(part for part in parts if isinstance(part, Totals)))
    words, floats, held = (_array(columns.get(name + suffix)) for suffix in (_WORD, _FLOAT, _HELD))
    assert held is not None
    return Totals(words, floats, held)


def true_sums(totals: Totals) -> tuple[Ints, Ints]:
    """The exact sums as 128-bit numbers: the low words, and the high words."""
    assert totals.words is not None
    assert totals.floats is not None
    turns = np.rint((totals.floats - totals.words.astype(np.float64)) / 2.0**64).astype(np.int64)
    return totals.words, turns + np.where(totals.words < 0, -1, 0)


def among_absent(values: Any, there: Bools) -> Any:
    """A column of the rows that are there, NULL where one is absent."""
    return values.take(pa.array(np.cumsum(there) - 1, mask=~there))


def _where(values: Any, there: Bools, kind: Any) -> Any:
    if values is None:
        return None
    found = np.zeros(len(there), kind)
    found[there] = values
    return found


def _running(values: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])


def _with(own: Any, places: Ints, more: Any) -> Any:
    if own is None:
        return None
    found = own.copy()
    found[places] += more
    return found


def _taken(values: Any, places: Any) -> Any:
    return None if values is None else values[places]


def _array(column: Any) -> Any:
    return None if column is None else column.to_numpy(zero_copy_only=False)
