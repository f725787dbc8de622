"""Which rows a second stage with little room takes in: as many as fit, in their order, and all that need no more room.

A row needs room in each tally that does not know its key yet, and so does only the first row of each key. In bytes a
row may need room in a tally that knows it, too: an extreme that is a text may grow. Rows are taken in up to the first
that does not fit. Of the rows after it those go in whose keys are all known, stored or taken
in before, so groups that were begun go on. What is left of the rows depends on nothing but their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.runtime.columns import row_bytes
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.tally import Columns, Tally


def admit(wanted: Sequence[tuple[Tally, tuple[str, ...]]], columns: Columns, room: int, *, in_bytes: bool) -> Bools:
    """Which of the rows are taken in, where each tally knows the row by some of its columns."""
    size = len(next(iter(columns.values())))
    grows: Ints = _growth(wanted, columns) if in_bytes else np.zeros(size, np.int64)
    needed = grows.copy()
    first_of: list[tuple[Ints, Bools]] = []
    for tally, names in wanted:
        keys = grouped([columns[name] for name in names], size)
        first = pa.array(keys.first)
        own = {name: columns[name].take(first) for name in names}
        places, _ = tally.find(own)
        known: Bools = np.zeros(keys.count, np.bool_)
        known[places] = True
        each: Ints = tally.most_bytes(own) if in_bytes else np.ones(keys.count, np.int64)
        needed[keys.first[~known]] += each[~known]
        first_of.append((keys.first[keys.of], known[keys.of]))
    fits: Bools = np.cumsum(needed) <= room
    if fits.all():
        return fits
    taken: Bools = grows == 0
    for first_row, known_row in first_of:
        taken &= known_row | fits[first_row]
    return fits | taken


def _growth(wanted: Sequence[tuple[Tally, tuple[str, ...]]], columns: Columns) -> Ints:
    """What each row may add to a tally that knows it: values of no fixed width that are no part of a key."""
    known = {name for _, names in wanted for name in names}
    size = len(next(iter(columns.values())))
    found: Ints = np.zeros(size, np.int64)
    for name, column in columns.items():
        if name not in known and not row_bytes.is_fixed(column.type):
            found += row_bytes.most([column])
    return found
