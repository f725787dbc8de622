"""A Bloom filter over the hashes of keys: says for certain that a key is not there, and now and then that one is.

Four probes into 16 to 32 bits a key: at most 1 in 400 keys that are not there passes. Built once, asked often.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.runtime.columns.codes import Bools
from penstock.runtime.columns.hashing import Hashes, mix

_BITS, _PROBES = 16, 4


class BloomFilter:
    """The keys of one pile."""

    def __init__(self, bits: npt.NDArray[np.uint8]) -> None:
        self.bits = bits

    @classmethod
    def over(cls, keys: Hashes) -> BloomFilter:
        """The filter of some keys."""
        size = 1 << max(6, int(len(keys) * _BITS - 1).bit_length())
        flags = np.zeros(size, np.bool_)
        for place in _places(keys, size):
            flags[place] = True
        return cls(np.packbits(flags, bitorder="little"))

    def has(self, keys: Hashes) -> Bools:
        """Which keys may be there."""
        found: Bools = np.ones(len(keys), np.bool_)
        for place in _places(keys, len(self.bits) * 8):
            found &= (self.bits[place >> 3] >> (place & 7).astype(np.uint8)) & 1 == 1
        return found


def _places(keys: Hashes, size: int) -> list[npt.NDArray[np.int64]]:
    step = mix(keys) | np.uint64(1)
    return [((keys + np.uint64(n) * step) & np.uint64(size - 1)).astype(np.int64) for n in range(_PROBES)]
