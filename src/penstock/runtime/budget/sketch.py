"""A count-min sketch in numpy whose counts fade: how much arrived of a key lately, in room that does not grow.

An estimate is never below what arrived (as faded), and above it by little: with width w, by more than 3/w of all that
arrived only for one key in twenty. Fading divides by a number that grows instead of touching every count. Counts are
floats of four bytes: which of two keys came more often is seen as well, and a budget in bytes pays half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.state.component import Component

Floats = npt.NDArray[np.float64]
_COUNTS = np.float32

DEPTH = 3
_SALTS = tuple(np.uint64(0x51ED270B * (2 * n + 1)) for n in range(DEPTH))
_MOST_SCALE = 1e20
_MOST_COUNT = float(np.finfo(_COUNTS).max) / 2
"""What a count is held to, so that two of them can be added."""


class Sketch(Component):
    """Faded sums by key."""

    arrays = ("counts",)
    numbers = ("scale",)

    def __init__(self, width: int) -> None:
        self.counts = np.zeros((DEPTH, width), _COUNTS)
        self.scale = 1.0

    @property
    def width(self) -> int:
        """How many counts a row of it has; a power of two."""
        return int(self.counts.shape[1])

    def _places(self, keys: Hashes) -> list[npt.NDArray[np.int64]]:
        mask = np.uint64(self.width - 1)
        return [(mix(keys ^ salt) & mask).view(np.int64) for salt in _SALTS]

    def fade(self, factor: float) -> None:
        """Let all that arrived so far count only so much."""
        if factor * _MOST_SCALE < 1.0:
            # A batch so much larger than the half-life leaves nothing of what came before.
            self.counts[:] = 0
            self.scale = 1.0
            return
        self.scale /= factor
        if self.scale > _MOST_SCALE:
            self.counts = (self.counts / self.scale).astype(_COUNTS)
            self.scale = 1.0

    def add(self, keys: Hashes, weights: Floats) -> None:
        """Count keys that arrived."""
        for number, places in enumerate(self._places(keys)):
            added = np.bincount(places, np.minimum(weights, _MOST_COUNT) * self.scale, self.width)
            self.counts[number] = np.minimum(self.counts[number] + added, _MOST_COUNT)

    def of(self, keys: Hashes) -> Floats:
        """What arrived of each key, as faded."""
        found = [row[places] for row, places in zip(self.counts, self._places(keys), strict=True)]
        return np.minimum.reduce(found).astype(np.float64) / self.scale  # type: ignore[no-any-return]

    def fold(self) -> None:
        """Halve the room that it takes."""
        half = self.width // 2
        self.counts = np.minimum(self.counts[:, :half] + self.counts[:, half:], _COUNTS(_MOST_COUNT))
