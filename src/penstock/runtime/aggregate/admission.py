"""Which rows a second stage with little room takes in: as many as fit, in their order, and all that need no more room.

A row needs a place in each tally that does not know its key yet, and so does only the first row of each key. Rows are
taken in up to the first that does not fit. Of the rows after it those go in whose keys are all known, stored or taken
in before, so groups that were begun go on. What is left of the rows depends on nothing but their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.runtime.aggregate.numbering import grouped
from penstock.runtime.aggregate.tally import Columns, Tally
from penstock.runtime.codes import Bools, Ints


def admit(wanted: Sequence[tuple[Tally, tuple[str, ...]]], columns: Columns, room: int) -> Bools:
    """Which of the rows are taken in, where each tally knows the row by some of its columns."""
    size = len(next(iter(columns.values())))
    needed: Ints = np.zeros(size, np.int64)
    first_of: list[tuple[Ints, Bools]] = []
    for tally, names in wanted:
        keys = grouped([columns[name] for name in names], size)
        first = pa.array(keys.first)
        places, _ = tally.find({name: columns[name].take(first) for name in names})
        known: Bools = np.zeros(keys.count, np.bool_)
        known[places] = True
        needed[keys.first[~known]] += 1
        first_of.append((keys.first[keys.of], known[keys.of]))
    fits: Bools = np.cumsum(needed) <= room
    if fits.all():
        return fits
    taken: Bools = np.ones(size, np.bool_)
    for first_row, known_row in first_of:
        taken &= known_row | fits[first_row]
    return fits | taken
