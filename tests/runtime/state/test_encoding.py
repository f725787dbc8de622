"""Columns that repeat are stored as dictionaries, and nobody can tell but by their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.state.encoding import as_column, encoded, from_column, held_bytes, one_run, plain
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import EntryReader, EntryWriter, read_synopsis, write_synopsis
from penstock.runtime.state.synopsis import ALL, Synopsis

VALUES = st.lists(st.sampled_from(["card", "bank", "", None, "ä", "a long text " * 9]), min_size=1, max_size=3)


def filled(batches: list[Any], kind: Any = None, *, encodes: bool = True) -> Synopsis:
    synopsis, first = Synopsis(("v", "n"), encodes=encodes), 0
    for number, values in enumerate(batches):
        rows = len(values)
        arrival = np.arange(first, first + rows)
        table = pa.table({"v": pa.array(values, kind or pa.string()), "n": pa.array(arrival)})
        synopsis.begin(Segment(table, arrival, np.full(rows, number), np.ones(rows, np.bool_), {}))
        synopsis.finish()
        first += rows
    return synopsis


def through_a_store(synopsis: Synopsis) -> Synopsis:
    to = EntryWriter(0)
    count = write_synopsis("s", synopsis, to)
    again = Synopsis(synopsis.columns, encodes=synopsis.encodes)
    source = EntryReader(to.put)
    read_synopsis("s", count, again, source)
    source.require_all_taken()
    return again


@given(st.lists(VALUES, min_size=1, max_size=8), st.integers(1, 40), st.data())
def test_nobody_can_tell(pieces: list[Any], times: int, data: st.DataObject) -> None:
    """Before a save, after it, after a restart, and once segments of both kinds are merged."""
    batches = [piece * times for piece in pieces]
    every = [value for batch in batches for value in batch]
    before = filled(batches)
    after = through_a_store(before)
    order = np.array(data.draw(st.permutations(range(len(every)))), np.int64)
    for synopsis in (before, after):
        for ids in (synopsis.ids(ALL), order, order[: len(order) // 3]):
            assert synopsis.arrow("v", ids).to_pylist() == [every[place] for place in ids.tolist()]
            assert synopsis.arrow("v", ids).type == pa.string()
        assert synopsis.hashes("v", order).tolist() == filled([every], encodes=False).hashes("v", order).tolist()
    more = Segment.merged([*after.segments, *filled([["x"] * 3]).segments])
    assert more.column("v").to_pylist() == [*every, "x", "x", "x"]
    assert more.batch.tolist() == [number for number, batch in enumerate(batches) for _ in batch] + [0, 0, 0]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_what_repeats_takes_fewer_bytes_once_it_is_saved(kind: Any) -> None:
    synopsis = filled([["a voucher of somebody's"] * 500 + ["cash"] * 500], kind)
    rows = synopsis.nbytes
    after = through_a_store(synopsis)
    assert pa.types.is_dictionary(after.segments[0].stored.column("v").type)
    assert synopsis.nbytes == after.nbytes < 0.6 * rows
    assert after.arrow("v", np.array([3, 999])).to_pylist() == [
        pa.scalar("a voucher of somebody's").cast(kind).as_py(),
        pa.scalar("cash").cast(kind).as_py(),
    ]


def test_what_does_not_repeat_stays_as_it_is() -> None:
    """By the first rows, or by all."""
    column = pa.array([f"id {number}" for number in range(3000)])
    assert encoded(column) is column
    late = pa.array(["same"] * 1024 + [f"id {number}" for number in range(3000)])
    assert encoded(late) is late
    numbers = pa.array([1] * 100)
    assert encoded(numbers) is numbers
    assert plain(pa.chunked_array([column])).equals(column)


def test_a_synopsis_that_a_budget_counts_is_not_encoded() -> None:
    after = through_a_store(filled([["cash"] * 100], encodes=False))
    assert after.segments[0].stored.column("v").type == pa.string()


def test_one_number_for_all_rows_is_held_once() -> None:
    same, other = one_run(np.full(1000, 7)), one_run(np.arange(1000))
    assert (held_bytes(same), held_bytes(other)) == (8, 8000)
    for numbers in (same, other, one_run(np.zeros(0, np.int64)), one_run(np.array([3]))):
        assert from_column(pa.table({"n": as_column(numbers)}).column("n")).tolist() == numbers.tolist()
