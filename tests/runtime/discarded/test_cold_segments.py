"""Piles: rows come back as they were set aside, from memory or from the store, and few filters have to be asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.discarded.cold_segments import ColdSegments
from penstock.runtime.promise.marks import MATCHED
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import COLD, EntryReader, EntryWriter
from penstock.runtime.state.tiers import FEW


def rows(first: int, count: int) -> Segment:
    arrival = np.arange(first, first + count)
    marks = {MATCHED: arrival % 2 == 0, "other": np.ones(count, np.bool_)}
    return Segment(pa.table({"k": arrival * 10}), arrival, arrival + 5, np.ones(count, np.bool_), marks)


def piles(*, on_disk: bool) -> ColdSegments:
    return ColdSegments("r", ("k",), (MATCHED, "other"), on_disk=on_disk)


@pytest.mark.parametrize("on_disk", [True, False])
def test_rows_and_whether_they_have_matched_are_there_after_a_restart(on_disk: bool) -> None:
    before = piles(on_disk=on_disk)
    before.add(rows(0, 3), {"c": 1})
    to = EntryWriter(0)
    told = before.write("piles", to)
    after = piles(on_disk=on_disk)
    if on_disk:
        after.fetch = to.put.__getitem__
        assert all(entry.startswith((COLD, "filter/")) for entry in to.put)
    kept = {name: entry for name, entry in to.put.items() if not name.startswith(COLD)}
    after.read("piles", told, EntryReader(kept))
    (pile,) = after.piles
    assert (pile.rows, pile.last, pile.since) == (3, 2, {"c": 1})
    assert (pile.segment is None) == on_disk
    segment = after.rows_of(pile)
    assert segment.table.to_pydict() == {"k": [0, 10, 20]}
    assert (segment.arrival.tolist(), segment.batch.tolist()) == ([0, 1, 2], [5, 6, 7])
    assert segment.marks[MATCHED].tolist() == [True, False, True]
    assert segment.marks["other"].all()
    assert after.write("piles", EntryWriter(9)) == told


def test_neighbours_of_like_size_become_one() -> None:
    found = piles(on_disk=False)
    for number in range(64):
        found.add(rows(10 * number, 10), {})
    assert found.rows == 640
    assert len(found.piles) <= 2 * FEW
    assert found.nbytes > 0


def test_what_is_dropped_leaves_the_store_and_a_sample_stays() -> None:
    found = piles(on_disk=False)
    found.add(rows(0, 8), {})
    found.write("piles", EntryWriter(0))
    (pile,) = found.piles
    sample = found.sample(found.rows_of(pile), np.array([1, 3]))
    found.drop(pile)
    to = EntryWriter(1)
    assert found.write("piles", to) == []
    assert len(to.delete) == 2
    assert (sample.rows, sample.last) == (2, 3)


def test_rows_without_columns_are_as_many_after_a_restart() -> None:
    """Of a stream that only EXISTS or a window asks for, nothing may be kept but that a row was there."""
    before = ColdSegments("r", (), (MATCHED,), on_disk=True)
    for first in range(0, 3 * FEW, 3):
        arrival = np.arange(first, first + 3)
        marks = {MATCHED: arrival % 2 == 0}
        before.add(Segment(pa.table({}), arrival, arrival, np.ones(3, np.bool_), marks), {})
    to = EntryWriter(0)
    told = before.write("piles", to)
    after = ColdSegments("r", (), (MATCHED,), on_disk=True)
    after.fetch = to.put.__getitem__
    after.read("piles", told, EntryReader({n: e for n, e in to.put.items() if not n.startswith(COLD)}))
    segment = after.rows_of(after.piles[0]).taken(np.array([1, 4]))
    assert (segment.arrival.tolist(), segment.marks[MATCHED].tolist()) == ([1, 4], [False, True])
