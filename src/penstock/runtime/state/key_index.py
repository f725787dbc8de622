"""Where the rows of a segment with a given key are.

Two ways. By **hash**, for any key: rows by the high bits of the hash, with a directory over these bits in place of a
search. By **value**, where the key is one coded column whose codes lie close together, as numbers do that are given out
in turn: then the directory is over the values themselves. It needs no hash, no sort by one and no comparison, and where
no value comes twice it is the row itself that stands there. It is taken where the directory is small, or has at most
`SPARSE` entries a row, so that it is no larger than the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.runtime.columns.codes import Bools, Ints, stable_order
from penstock.runtime.columns.hashing import Hashes

Places = npt.NDArray[np.int32]

SPARSE = 6
"""Values that a directory over them may span for each row."""

SMALL, SMALL_SPARSE = 1 << 15, 64
"""One over no more values than that takes little room at any rate, and so may span more of them for each row."""


class TooManyPairs(Exception):
    """More rows agree than were asked for; none of the pairs was made."""


def refuse_more(most: int | None, count: npt.NDArray[np.int32] | Ints) -> None:
    """TooManyPairs where there are more than `most`."""
    if most is not None and int(count.sum()) > most:
        raise TooManyPairs


@dataclass(frozen=True)
class KeyIndex:
    """Rows by the high bits of the hash of a key, with a directory over these bits in place of a search."""

    order: Ints
    hashes: Hashes
    starts: npt.NDArray[np.int32]
    """Where the hashes of each bucket begin; one entry more than there are buckets."""
    shift: np.uint64

    @classmethod
    def over(cls, keys: Hashes, rows: Ints) -> KeyIndex:
        """The index of some rows of a segment."""
        is_whole = len(rows) == len(keys)
        chosen = keys if is_whole else keys[rows]
        by_hash = _with_places(chosen)
        by_hash.sort()
        bits = min(24, max(1, int(len(rows) * 2).bit_length()))
        shift = np.uint64(64 - bits)
        starts = np.zeros((1 << bits) + 1, np.int32)
        # Where each bucket ends; one that is empty ends where the one before it does.
        starts[(by_hash >> shift).view(np.int64) + 1] = np.arange(1, len(rows) + 1, dtype=np.int32)
        np.maximum.accumulate(starts, out=starts)
        order = _places(by_hash)
        return cls(order if is_whole else rows[order], chosen[order], starts, shift)

    def near(self, keys: Hashes) -> int:
        """How many pairs share a bucket: at least as many as have equal hashes, and few more."""
        bucket = (keys >> self.shift).view(np.int64)
        return int((self.starts[bucket + 1] - self.starts[bucket]).sum())

    def probe(self, keys: Hashes, most: int | None = None) -> tuple[Ints, Ints]:
        """All pairs (place in keys, row) with equal hashes; TooManyPairs where there are more than `most`."""
        bucket = (keys >> self.shift).view(np.int64)
        first = self.starts[bucket]
        count = self.starts[bucket + 1] - first
        maybe = np.flatnonzero(count)
        count = count[maybe]
        refuse_more(most, count)
        place = np.repeat(maybe, count)
        found = spread(first[maybe].astype(np.int64), count.astype(np.int64))
        hit = np.flatnonzero(self.hashes[found] == keys[place])
        return place[hit], self.order[found[hit]]


def _with_places(keys: Hashes) -> Hashes:
    """Each hash with its own place in place of its lowest bits: numbers that can be sorted by themselves.

    numpy sorts numbers several times as fast as it finds the order of them.
    """
    return (keys & ~_low_bits(len(keys))) | np.arange(len(keys), dtype=np.uint64)


def _places(keys: Hashes) -> Ints:
    """The places that `_with_places` put into hashes."""
    return (keys & _low_bits(len(keys))).view(np.int64)


def _low_bits(count: int) -> np.uint64:
    return np.uint64((1 << count.bit_length()) - 1)


def spread(first: Ints, count: Ints) -> Ints:
    """The numbers first, first + 1, … of each range, one range after the other."""
    total = int(count.sum())
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(total)


@dataclass(frozen=True)
class ValueIndex:
    """Rows by the code of a key, with a directory over all codes from the least to the largest."""

    low: int
    order: Ints
    """The rows by code; empty where no code comes twice."""
    starts: Places
    """Where the rows of each code begin, with one entry more; where none comes twice, its row, or -1 without one."""
    is_unique: bool

    @classmethod
    def over(cls, values: Ints, rows: Ints, low: int, high: int) -> ValueIndex:
        """The index of some rows of a segment, whose codes lie from low to high."""
        offset = (values if len(rows) == len(values) else values[rows]) - low
        size = high - low + 1
        row_of = np.full(size, -1, np.int32)
        row_of[offset] = rows
        if np.count_nonzero(row_of >= 0) == len(rows):
            return cls(low, np.zeros(0, np.int64), row_of, True)
        starts = np.zeros(size + 1, np.int32)
        np.cumsum(np.bincount(offset, minlength=size), out=starts[1:])
        return cls(low, rows[stable_order(offset)], starts, False)

    def probe(self, values: Ints, most: int | None = None) -> tuple[Ints, Ints]:
        """All pairs (place in values, row) that are equal, as in KeyIndex; the values lie within those of the rows."""
        offset = values - self.low
        first = self.starts[offset]
        if self.is_unique:
            hit = np.flatnonzero(first >= 0)
            return hit, first[hit].astype(np.int64)
        count = self.starts[offset + 1] - first
        hit = np.flatnonzero(count)
        count = count[hit]
        refuse_more(most, count)
        return np.repeat(hit, count), self.order[spread(first[hit].astype(np.int64), count)]


def is_dense(low: int, high: int, rows: int) -> bool:
    """Whether a directory over all values is worth its room."""
    return high - low < max(SPARSE * rows, min(SMALL_SPARSE * rows, SMALL))


def among(values: Ints, asked: Ints) -> Bools:
    """Which of the asked codes are among the values."""
    if not len(values):
        return np.zeros(len(asked), np.bool_)
    low, high = int(values.min()), int(values.max())
    if not is_dense(low, high, len(values) + len(asked)):
        return np.isin(asked, values)
    # One entry more, for all codes that are out of reach: below the least, the difference is a huge one without sign.
    table = np.zeros(high - low + 2, np.bool_)
    table[values - low] = True
    return table[np.minimum((asked - low).view(np.uint64), np.uint64(high - low + 1))]
