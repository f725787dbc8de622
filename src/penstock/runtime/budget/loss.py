"""What a budget cost: the counts of a cell, and the recall that follows from them."""

from __future__ import annotations

from dataclasses import dataclass

DEVIATIONS = 1.96
"""Standard deviations within which the truth lies in 19 of 20 cases."""


@dataclass(frozen=True)
class Loss:
    """What a cell lost: in this batch, and since it began."""

    evicted: int
    """Rows evicted in this batch."""
    needed: int
    """What all that this batch brought and purging left would take, in the unit of the budget."""
    lost: int
    """Results of this batch that are known to be lost; a lower bound once the sample is not all that was evicted."""
    emitted: int
    """Results emitted since the beginning."""
    due: int
    """Results emitted or lost since the beginning, as estimated."""
    variance: int
    """Of that estimate; held below what the sum over all cells could not bear."""

    def recall(self) -> tuple[float | None, float | None]:
        """Recall and its error, if anything was due."""
        return recall_of(self.emitted, self.due, self.variance)


def recall_of(emitted: int, due: int, variance: int) -> tuple[float | None, float | None]:
    """Results emitted over results due, and how far off it may be; None where nothing was due for certain.

    What was due lies within 1.96 standard deviations, and is not less than what was emitted; recall follows from either
    end, and the farther one is the error.
    """
    if due <= 0:
        return (None, None) if variance == 0 else (1.0, 1.0)
    recall, spread = emitted / due, DEVIATIONS * variance**0.5
    return recall, max(recall - emitted / (due + spread), emitted / max(emitted, due - spread, 1) - recall)
