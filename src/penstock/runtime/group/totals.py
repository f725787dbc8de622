"""Totals: sums with the count of what they sum, one of each row or group, exact for integers and decimals.

A sum of integers or decimals is kept in one word and one float. The word is the sum modulo 2^64, so it may wrap on the
way as often as it likes; the float is near the true sum, and says which of the numbers with that word it is, as long as
it is off by less than 2^63. That holds for sums of up to 2^100 in size. A decimal of more digits than a word holds is
summed in three parts of 43 bits, each of them as above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.runtime.columns.codes import Bools, Ints, decimal_words
from penstock.runtime.group.numbering import Groups

Floats = npt.NDArray[np.float64]

WORD, FLOAT, HELD = "_word", "_float", "_held"
"""How the columns of a sum end."""
PARTS = ("_low", "_middle", "_high")
PART_BITS = 43
WITHOUT_END = np.errstate(invalid="ignore", over="ignore")
"""Infinities and what is none are values of a DOUBLE like others: numpy need not warn of them."""


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

    @WITHOUT_END
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
        return Totals(None if self.words is None else running_sums(self.words), floats, running_sums(self.held))

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
        made = {WORD: self.words, FLOAT: self.floats, HELD: self.held}
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
        for suffix, part in zip(PARTS, self.parts, strict=True):
            found |= part.columns(name + suffix)
        return found

    def __len__(self) -> int:
        return len(self.parts[0])


def added(values: Ints, groups: Groups) -> Ints:
    """Whole numbers added up group by group, modulo 2^64."""
    found = np.zeros(groups.count, np.int64)
    np.add.at(found, groups.of, values)
    return found


def in_parts(values: Any) -> tuple[Ints, Ints, Ints]:
    """Wide decimals as three numbers: of 43 bits each, the highest with the sign."""
    words = decimal_words(values)
    low, high = np.ascontiguousarray(words[:, 0]).view(np.uint64), words[:, 1]
    mask = np.uint64((1 << PART_BITS) - 1)
    rest = 64 - PART_BITS
    lowest = (low & mask).astype(np.int64)
    # What is left of the low word, then as much of the high one as makes 43 bits.
    middle = (low >> np.uint64(PART_BITS)).astype(np.int64) | ((high & ((1 << (PART_BITS - rest)) - 1)) << rest)
    return lowest, middle, high >> (PART_BITS - rest)


def true_sums(totals: Totals) -> tuple[Ints, Ints]:
    """The exact sums as 128-bit numbers: the low words, and the high words."""
    assert totals.words is not None
    assert totals.floats is not None
    turns = np.rint((totals.floats - totals.words.astype(np.float64)) / 2.0**64).astype(np.int64)
    return totals.words, turns + np.where(totals.words < 0, -1, 0)


def _where(values: Any, there: Bools, kind: Any) -> Any:
    if values is None:
        return None
    found = np.zeros(len(there), kind)
    found[there] = values
    return found


def running_sums(values: Ints) -> Ints:
    """The sum of all before each, and of all."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])


@WITHOUT_END
def _with(own: Any, places: Ints, more: Any) -> Any:
    if own is None:
        return None
    found = own.copy()
    found[places] += more
    return found


def _taken(values: Any, places: Any) -> Any:
    return None if values is None else values[places]
