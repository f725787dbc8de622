"""64-bit hashes of anything that can join, whole columns at a time. **The values never change.**

Checkpoints hold these hashes (keys of groups, filters, sketches, buckets), and cells are dealt rows by them. So a value
is the same in every process, on every machine of either byte order, and in every version: tests pin them.

The hash of a coded value is its code, mixed: one to one, so equal hashes are equal values. All others are not, and
whoever knows the function can make two values with one hash. So **an equality found by hash is verified on the values
wherever it decides something**; by itself a hash only routes, samples, counts in sketches, or says where to look. NULL
has the hash of 0, or of the empty value: callers drop rows whose NULL matters before they ask.

Strings and binaries come eight bytes at a time. Let a value have n bytes. Its words are its bytes in eights, the first
byte the lowest, the last word filled up with zeros. With `mix`, a bijection whose every output bit depends on every
input bit,

    hash = mix(mix(n) + sum over i of mix(word i ^ mix(i)))        modulo 2^64

Each word is mixed with its place before they meet, so the order of words counts; n makes zeros at the end count. Two
values of one length that differ in one word never have one hash; any others do by chance, once in 2^64. A sum may be
had in any order: the first words of all values come column by column, those of long values as they lie. Temporaries
are of a few thousand words, whatever is hashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.runtime.columns.codes import Ints, codes, decimal_words, flat, is_coded

Hashes = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]

_WORD = 8
_COLUMNS = 16
"""Words of each value that are taken column by column; those of longer ones come as they lie."""
_CHUNK = 1 << 14
"""Values or words at a time: what is made of them stays in the cache of a core."""


def mix(values: Hashes) -> Hashes:
    """Splitmix64's finaliser: a bijection whose every output bit depends on every input bit."""
    mixed = np.empty(len(values), np.uint64)
    shifted = np.empty(min(_CHUNK, len(values)), np.uint64)
    for low in range(0, len(values), _CHUNK):
        part = mixed[low : low + _CHUNK]
        spare = shifted[: len(part)]
        np.add(values[low : low + _CHUNK], np.uint64(0x9E3779B97F4A7C15), out=part)
        part ^= np.right_shift(part, np.uint64(30), out=spare)
        part *= np.uint64(0xBF58476D1CE4E5B9)
        part ^= np.right_shift(part, np.uint64(27), out=spare)
        part *= np.uint64(0x94D049BB133111EB)
        part ^= np.right_shift(part, np.uint64(31), out=spare)
    return mixed


def hashes(column: Any) -> Hashes:
    """A 64-bit hash of each value; one to one for coded types. The same in every process and on every run."""
    array = flat(column)
    if is_coded(array.type):
        return mix(codes(array).view(np.uint64))
    if pa.types.is_decimal(array.type):
        words = decimal_words(array).view(np.uint64)
        return mix(mix(words[:, 0]) + words[:, 1])
    return byte_hashes(array)


def combine(parts: Sequence[Hashes]) -> Hashes:
    """One hash of several columns; of one column, that column's own."""
    combined = parts[0]
    for part in parts[1:]:
        combined = mix(combined * np.uint64(3) + part)
    return combined


def hash_rows(table: Any, columns: Sequence[str]) -> Hashes:
    """The hash by which rows are routed on an axis, or compared as keys."""
    return combine([hashes(table.column(c)) for c in columns])


def sharing_hashes(keys: Hashes) -> Ints:
    """All places whose hash is that of another place, and few more: by a table over the low end of the hash.

    Most keys differ from all others.
    """
    size = 1 << max(4, int(len(keys) * 4).bit_length())
    slot = (keys & np.uint64(size - 1)).astype(np.int64)
    owner = np.zeros(size, np.int32)
    places = np.arange(len(keys), dtype=np.int32)
    owner[slot] = places
    crowded = np.zeros(size, np.bool_)
    crowded[slot[owner[slot] != places]] = True
    return np.flatnonzero(crowded[slot])


def twins(keys: Hashes) -> Ints:
    """All places whose hash is that of another place, ascending."""
    places = sharing_hashes(keys)
    order = np.argsort(keys[places], kind="stable")
    ordered = keys[places[order]]
    same = ordered[1:] == ordered[:-1]
    found = np.zeros(len(places), np.bool_)
    found[order[1:]] = same
    found[order[:-1]] |= same
    return places[found]


_SALTS = mix(np.arange(_COLUMNS, dtype=np.uint64))
_KEPT_BYTES = np.array([(1 << 8 * kept) - 1 for kept in range(_WORD + 1)], np.uint64)
"""By the number of bytes that a word has, what is left of eight that were read."""


def byte_hashes(array: Any) -> Hashes:
    """The hash of each value of an Arrow array of strings or binaries, however it is laid out."""
    raw, starts, lengths = _laid_out(array)
    words = _Words(raw)
    found = np.empty(len(starts), np.uint64)
    done = _add_alike(found, raw, starts, lengths)
    for low in range(done, len(starts), _CHUNK):
        chunk = slice(low, low + _CHUNK)
        sums = mix(lengths[chunk].astype(np.uint64))
        _add_columns(sums, words, starts[chunk], lengths[chunk])
        _add_rest(sums, words, starts[chunk], lengths[chunk])
        found[chunk] = mix(sums)
    return found


def _add_alike(found: Hashes, raw: _Bytes, starts: Ints, lengths: Ints) -> int:
    """Hash the first values of an array in which all are as long and lie one after the other, as UUIDs do.

    Gives how many: words of theirs are as far apart as they are long, so no place of one has to be looked up. Those
    near the end of the buffer are not among them, nor are long ones.
    """
    if not len(starts):
        return 0
    size, first = int(lengths[0]), int(starts[0])
    is_even = 0 < size <= _COLUMNS * _WORD and int(starts[-1]) - first == size * (len(starts) - 1)
    if not is_even or int(lengths.min()) != size or int(lengths.max()) != size:
        return 0
    count = -(-size // _WORD)
    many = min(len(starts), (len(raw) - first - count * _WORD) // size + 1)
    length = mix(np.full(1, size, np.uint64))
    for low in range(0, many, _CHUNK):
        high = min(low + _CHUNK, many)
        sums = np.full(high - low, length[0], np.uint64)
        for number in range(count):
            place = first + low * size + number * _WORD
            word = np.ndarray(high - low, np.dtype("<u8"), raw, place, (size,))
            if (left := size - number * _WORD) < _WORD:
                word = word & _KEPT_BYTES[left]
            sums += mix(word ^ _SALTS[number])
        found[low:high] = mix(sums)
    return max(0, many)


class _Words:
    """The eight bytes from any byte of a buffer on, as a number, the first byte the lowest; zeros beyond its end."""

    def __init__(self, raw: _Bytes) -> None:
        self.near_end = max(0, len(raw) - 2 * _WORD)
        self._at = _overlapping(raw)
        self._at_end = _overlapping(np.concatenate([raw[self.near_end :], np.zeros(_WORD, np.uint8)]))

    def at(self, places: Ints) -> Hashes:
        """The words that begin at these bytes."""
        if not len(places) or int(places.max()) < self.near_end:
            return self._at[places]
        late = places >= self.near_end
        found = np.empty(len(places), np.uint64)
        found[~late] = self._at[places[~late]]
        found[late] = self._at_end[places[late] - self.near_end]
        return found


def _overlapping(raw: _Bytes) -> Hashes:
    return np.ndarray(max(0, len(raw) - _WORD + 1), np.dtype("<u8"), raw, strides=(1,))


def _add_columns(sums: Hashes, words: _Words, starts: Ints, lengths: Ints) -> None:
    """Add the first words of each value."""
    longest = min(int(lengths.max()), _COLUMNS * _WORD)
    for number in range(-(-longest // _WORD)):
        left = lengths - number * _WORD
        if int(left.min()) >= _WORD:
            sums += mix(words.at(starts + number * _WORD) ^ _SALTS[number])
            continue
        has = np.flatnonzero(left > 0)
        word = words.at(starts[has] + number * _WORD)
        word &= _KEPT_BYTES[np.minimum(left[has], _WORD)]
        word ^= _SALTS[number]
        sums[has] += mix(word)


def _add_rest(sums: Hashes, words: _Words, starts: Ints, lengths: Ints) -> None:
    """Add the words of long values that come after the first ones, one value after the other."""
    head = _COLUMNS * _WORD
    long = np.flatnonzero(lengths > head)
    if not len(long):
        return
    count = -(-(lengths[long] - head) // _WORD)
    ends = np.cumsum(count)
    for first in range(0, int(ends[-1]), _CHUNK):
        number = np.arange(first, min(first + _CHUNK, int(ends[-1])))
        owner = np.searchsorted(ends, number, "right")
        within = number - (ends - count)[owner] + _COLUMNS
        row = long[owner]
        word = words.at(starts[row] + within * _WORD)
        word &= _KEPT_BYTES[np.minimum(lengths[row] - within * _WORD, _WORD)]
        mixed = mix(word ^ mix(within.astype(np.uint64)))
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        # Each owner once, so nothing is added twice to one place.
        sums[row[begins]] += np.add.reduceat(mixed, begins)


def _laid_out(array: Any) -> tuple[_Bytes, Ints, Ints]:
    """The bytes of an array; for each value where it begins, and how long it is."""
    kind = array.type
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not is_large and not pa.types.is_string(kind) and not pa.types.is_binary(kind):
        # Dictionaries, views and binaries of fixed size; what has no bytes is an error of Arrow's.
        plain = array.dictionary_decode() if pa.types.is_dictionary(kind) else array
        array, is_large = plain.cast(pa.large_binary()), True
    _, ends, data = array.buffers()
    if not len(array) or ends is None:
        nothing = np.zeros(0, np.int64)
        return np.zeros(0, np.uint8), nothing, nothing
    offsets = np.frombuffer(ends, np.int64 if is_large else np.int32)[array.offset : array.offset + len(array) + 1]
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    if array.null_count:
        # What stands where a value is NULL means nothing, and need not be empty.
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), starts, lengths
