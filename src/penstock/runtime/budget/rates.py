"""How fast keys arrive: sketches that forget at different speeds, and what kin had, mixed by how well each foretold.

A sketch that forgets slowly is steady where the distribution is; one that forgets fast follows where it changes. What
one stream has had of a key is little where keys are many, and streams that are joined often have the same keys
frequent; so its **kin**, the streams that are met by the same columns, have a word too. What is foretold is a mixture
of all these. How much each weighs is learned from the keys that come (expectation maximization, recent batches first):
each batch is foretold before it is counted, and a voice gains by how much of it that voice foretold.

A sketch is count-min in numpy whose counts fade: how much arrived of a key lately, in room that does not grow. An
estimate is never below what arrived (as faded), and above it by little: with width w, by more than 3/w of all that
arrived only for one key in twenty. Fading divides by a number that grows instead of touching every count. Counts are
floats of four bytes: which of two keys came more often is seen as well, and a budget in bytes pays half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

_AT_FIRST = (100.0, 10.0)
"""The rows taken to have spoken for the slowest sketch, and for each other voice, before any came."""
_KEPT = 0.5
"""How much of what spoke for a voice the next batch still counts."""
_LEAST_WORD = 0.01
"""What every voice keeps of the mixture, so that it can be heard again."""
_ROUNDS = 5
"""Of expectation maximization, on each batch."""


class Sketch(Component):
    """Faded sums by key."""

    arrays = ("counts",)
    numbers = ("scale",)

    def __init__(self, width: int) -> None:
        self.counts = np.zeros((DEPTH, width), _COUNTS)
        self.scale = 1.0

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: what all of them have counted, at the least width."""
        width, self.scale = min(one.width for one in members), 1.0
        total = np.zeros((DEPTH, width))
        for one in members:
            # Places are the low bits of a hash: those of a wider one lie over each other.
            folded = one.counts.reshape(DEPTH, -1, width).sum(axis=1) if width else total
            total = total + folded / one.scale
        self.counts = np.minimum(total, _MOST_COUNT).astype(_COUNTS)

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


class Rates(Component):
    """Faded sums by key, for each step. A half-life of None never forgets; the slowest comes first."""

    numbers = ("seen", "sums", "spoke")
    parts = ("sketches",)

    def __init__(self, width: int, half_lives: tuple[float | None, ...]) -> None:
        self.half_lives = half_lives
        self.sketches = [Sketch(width) for _ in half_lives]
        self.seen = [0.0] * len(half_lives)
        """The steps that each sketch is about, as faded."""
        self.sums = [0.0] * len(half_lives)
        """All that each sketch has counted, as faded."""
        self.spoke = [_AT_FIRST[0], *[_AT_FIRST[1]] * len(half_lives)]
        """The rows, as faded, that spoke for each sketch and, last, for the kin."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: what came to all cells, in the steps of all."""
        self.seen, self.sums, self.spoke = (
            [sum(each) for each in zip(*(getattr(one, name) for one in members), strict=True)]
            for name in ("seen", "sums", "spoke")
        )

    @property
    def nbytes(self) -> int:
        """The room that the sketches take."""
        return sum(sketch.counts.nbytes for sketch in self.sketches)

    @property
    def horizon(self) -> float:
        """The steps that the sketches are about, each by its word."""
        return max(1.0, float(self._words(0) @ self.seen))

    def _words(self, kin: int) -> Floats:
        """What each voice weighs, with so many kin or without them."""
        spoke = np.array(self.spoke if kin else self.spoke[:-1])
        words: Floats = np.maximum(spoke / spoke.sum(), _LEAST_WORD)
        words /= words.sum()
        return words

    def of(self, keys: Hashes, kin: Sequence[Rates] = ()) -> Floats:
        """What arrives of each key in a step, by what the stream and its kin have had."""
        speeds = [total / max(1.0, seen) for total, seen in zip(self.sums, self.seen, strict=True)]
        speed = float(self._words(0) @ speeds)
        return self._words(len(kin)) @ self._voices(keys, kin) * speed

    def _voices(self, keys: Hashes, kin: Sequence[Rates]) -> Floats:
        """The part of each key in all that arrives, as each voice has it."""
        own = [
            sketch.of(keys) / total if total > 0 else np.zeros(len(keys))
            for sketch, total in zip(self.sketches, self.sums, strict=True)
        ]
        if kin:
            own.append(np.mean([one._words(0) @ one._voices(keys, ()) for one in kin], axis=0))
        return np.stack(own)

    def listen(self, keys: Hashes, weights: Floats, kin: Sequence[Rates]) -> None:
        """Learn from the keys of a batch, before they are counted, whose word is worth how much."""
        if len(self.spoke) - (not kin) < 2 or not len(keys) or weights.sum() <= 0:
            return
        voices = self._voices(keys, kin)
        foretold = voices.sum(axis=0) > 0
        voices, rows = voices[:, foretold], weights[foretold] * (len(keys) / weights.sum())
        before = np.array(self.spoke) * _KEPT
        for _ in range(_ROUNDS):
            parts = self._words(len(kin))[:, np.newaxis] * voices
            spoke = before.copy()
            spoke[: len(parts)] += (parts / parts.sum(axis=0)) @ rows
            self.spoke = spoke.tolist()

    def add(self, keys: Hashes, weights: Floats, steps: int) -> None:
        """Count the keys of a batch of so many steps."""
        for number, (sketch, half_life) in enumerate(zip(self.sketches, self.half_lives, strict=True)):
            fade = 1.0 if half_life is None else 0.5 ** (steps / half_life)
            sketch.fade(fade)
            sketch.add(keys, weights)
            self.seen[number] = self.seen[number] * fade + steps
            self.sums[number] = self.sums[number] * fade + float(weights.sum())

    def empty(self) -> None:
        """Take no room at all, and be asked no more."""
        for sketch in self.sketches:
            sketch.counts = sketch.counts[:, :0]

    def fold(self) -> None:
        """Halve the room that it takes."""
        for sketch in self.sketches:
            sketch.fold()
