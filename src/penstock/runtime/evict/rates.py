"""How fast keys arrive: a sketch that forgets slowly and one that forgets fast, whichever foretold better.

The slow one is steady where the distribution is; the fast one follows where it changes. Each batch is first foretold by
both: the one that gave the keys which came the larger likelihood, recent batches first, is the one that is asked.

What one stream has had of a key is little where keys are many, and streams that are joined often have the same keys
frequent. So what is foretold is a mixture of what the stream itself has had and of what its **kin** have had, the
streams that are met by the same columns. How much each part weighs is learned from the keys that come (expectation
maximization, recent batches first): by how much of them each foretold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.runtime.codes import Hashes
from penstock.runtime.evict.sketch import Floats, Sketch

_KEPT = 0.8
"""How much of a batch's likelihood the next batch still counts."""
_UNSEEN = 0.1
"""What a key that never came is taken to have come, so that its likelihood is not nothing."""
_SPOKE_AT_FIRST = (100.0, 10.0)
"""The rows taken to have spoken for either part of the mixture before any came; the kin must show their use."""
_SPOKE_KEPT = 0.9
_NOTHING = 1e-300
_ROUNDS = 5
"""Of expectation maximization, on each batch."""


class Rates:
    """Faded sums by key, for each step. A half-life of None never forgets."""

    def __init__(self, width: int, half_lives: tuple[float | None, ...]) -> None:
        self.half_lives = half_lives
        self.sketches = [Sketch(width) for _ in half_lives]
        self.seen = [0.0] * len(half_lives)
        """The steps that each sketch is about, as faded."""
        self.sums = [0.0] * len(half_lives)
        """All that each sketch has counted, as faded."""
        self.fit = [0.0] * len(half_lives)
        """How likely each found what came; the greater, the better."""
        self.spoke = [*_SPOKE_AT_FIRST]
        """The rows, as faded, that spoke for the stream itself, and for its kin."""

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

    def of(self, keys: Hashes, kin: Sequence[Rates] = ()) -> Floats:
        """What arrives of each key in a step, by what the stream and its kin have had."""
        better = self._better
        if not kin or self.sums[better] <= 0:
            return self.sketches[better].of(keys) / max(1.0, self.seen[better])
        own, theirs = self._part(keys), _mean(keys, kin)
        mixed = (1 - self._for_kin) * own + self._for_kin * theirs
        return mixed * (self.sums[better] / max(1.0, self.seen[better]))

    def _part(self, keys: Hashes) -> Floats:
        """The part of each key in all that arrives."""
        better = self._better
        total = self.sums[better]
        return self.sketches[better].of(keys) / total if total > 0 else np.zeros(len(keys))

    @property
    def _for_kin(self) -> float:
        # Either part keeps a word, so that it can be heard again.
        return min(max(self.spoke[1] / max(sum(self.spoke), _NOTHING), 0.01), 0.99)

    def listen(self, keys: Hashes, weights: Floats, kin: Sequence[Rates]) -> None:
        """Learn from the keys of a batch, before they are counted, how much the kin are to be asked."""
        if not kin or not len(keys) or weights.sum() <= 0:
            return
        own, theirs = self._part(keys), _mean(keys, kin)
        foretold = own + theirs > 0
        own, theirs = own[foretold], theirs[foretold]
        rows = weights[foretold] * (len(keys) / weights.sum())
        before = [spoke * _SPOKE_KEPT for spoke in self.spoke]
        for _ in range(_ROUNDS):
            share = self._for_kin
            for_kin = float(rows @ (share * theirs / ((1 - share) * own + share * theirs)))
            self.spoke = [before[0] + float(rows.sum()) - for_kin, before[1] + for_kin]

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
            self.sums[number] = self.sums[number] * fade + float(weights.sum())

    def fold(self) -> None:
        """Halve the room that it takes."""
        for sketch in self.sketches:
            sketch.fold()

    def save(self) -> tuple[Any, list[bytes]]:
        """The numbers, as JSON holds them, and the sketches."""
        return [self.seen, self.sums, self.fit, self.spoke], [sketch.save() for sketch in self.sketches]

    def load(self, numbers: Any, saved: list[bytes]) -> None:
        """Go on where a saved one stood."""
        self.seen, self.sums, self.fit, self.spoke = numbers
        for sketch, data in zip(self.sketches, saved, strict=True):
            sketch.load(data)


def _mean(keys: Hashes, kin: Sequence[Rates]) -> Floats:
    """What kin foretell, each of them alike."""
    found: Floats = np.mean([one._part(keys) for one in kin], axis=0)
    return found
