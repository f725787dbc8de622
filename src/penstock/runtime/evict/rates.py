"""How fast keys arrive: a sketch that forgets slowly and one that forgets fast, whichever foretold better.

The slow one is steady where the distribution is; the fast one follows where it changes. Each batch is first foretold by
both: the one that gave the keys which came the larger likelihood, recent batches first, is the one that is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.codes import Hashes
from penstock.runtime.evict.sketch import Floats, Sketch

_KEPT = 0.8
"""How much of a batch's likelihood the next batch still counts."""
_UNSEEN = 0.1
"""What a key that never came is taken to have come, so that its likelihood is not nothing."""


class Rates:
    """Faded sums by key, for each step. A half-life of None never forgets."""

    def __init__(self, width: int, half_lives: tuple[float | None, ...]) -> None:
        self.half_lives = half_lives
        self.sketches = [Sketch(width) for _ in half_lives]
        self.seen = [0.0] * len(half_lives)
        """The steps that each sketch is about, as faded."""
        self.fit = [0.0] * len(half_lives)
        """How likely each found what came; the greater, the better."""

    @property
    def nbytes(self) -> int:
        """The room that the sketches take."""
        return sum(sketch.counts.nbytes for sketch in self.sketches)

    @property
    def horizon(self) -> float:
        """The steps that the better sketch is about."""
        return max(1.0, self.seen[self._better])

    @property
    def _better(self) -> int:
        return int(np.argmax(self.fit))

    def of(self, keys: Hashes) -> Floats:
        """What arrives of each key in a step."""
        better = self._better
        return self.sketches[better].of(keys) / max(1.0, self.seen[better])

    def add(self, keys: Hashes, weights: Floats, steps: int) -> None:
        """Count the keys of a batch of so many steps."""
        for number, (sketch, half_life) in enumerate(zip(self.sketches, self.half_lives, strict=True)):
            if len(self.sketches) > 1 and len(keys):
                foretold = (sketch.of(keys) + _UNSEEN) / max(1.0, self.seen[number])
                self.fit[number] = self.fit[number] * _KEPT + float((weights * np.log(foretold)).sum())
            fade = 1.0 if half_life is None else 0.5 ** (steps / half_life)
            sketch.fade(fade)
            sketch.add(keys, weights)
            self.seen[number] = self.seen[number] * fade + steps

    def fold(self) -> None:
        """Halve the room that it takes."""
        for sketch in self.sketches:
            sketch.fold()

    def save(self) -> tuple[Any, list[bytes]]:
        """The numbers, as JSON holds them, and the sketches."""
        return [self.seen, self.fit], [sketch.save() for sketch in self.sketches]

    def load(self, numbers: Any, saved: list[bytes]) -> None:
        """Go on where a saved one stood."""
        self.seen, self.fit = numbers
        for sketch, data in zip(self.sketches, saved, strict=True):
            sketch.load(data)
