"""When pieces that were written one after the other become one: as soon as there are FEW of like size at the end.

A piece for each batch would be ever more pieces to look into; one piece would be written anew with each batch. Pieces
of like size are a tier. Of one tier there are fewer than FEW, so of n rows in pieces of at least m there are about FEW
log(n / m) pieces, and a row is written anew once for each tier, log(n / m) to the base FEW times. Rows of a time band
leave in the order in which they came: with FEW pieces most of them leave before they are written a second time.
"""

from __future__ import annotations

from collections.abc import Sequence

FEW = 6
"""So many pieces of a tier become one. With two a join of five batches wrote each row three times."""
_LIKE = 2
"""A piece belongs to the tier of one behind it if it is at most so many times as large."""


def to_merge(sizes: Sequence[int], most: int) -> int:
    """How many of the last pieces become one, 0 if none; pieces of `most` rows and more are left alone."""
    run = 0
    for size in reversed(sizes):
        if size >= most or size > _LIKE * sizes[-1]:
            break
        run += 1
    return run if run >= FEW else 0
