"""A synopsis against plain lists of rows: what is found, marked, counted and killed, over any cut into segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.columns.hashing import hashes
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.store import SEGMENT, EntryWriter, write_synopsis
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis
from penstock.runtime.state.tiers import FEW

BATCHES = st.lists(st.lists(st.integers(-3, 6), max_size=9), min_size=1, max_size=6)


def fresh(values: list[int], first: int, batch: int) -> Segment:
    rows = len(values)
    table = pa.table({"a": pa.array(values, pa.int64()), "late": pa.array(["x"] * rows)})
    marks = {"m": np.zeros(rows, np.bool_)}
    return Segment(table, np.arange(first, first + rows), np.full(rows, batch), np.ones(rows, np.bool_), marks)


class Filled:
    """A synopsis whose last batch is still running, and the rows that it should hold, by arrival."""

    def __init__(self, batches: list[list[int]], dead: set[int]) -> None:
        self.synopsis = Synopsis(("a",))
        self.rows: dict[int, int] = {}
        first = 0
        for number, values in enumerate(batches):
            if number:
                self.synopsis.finish()
            if values:
                self.synopsis.begin(fresh(values, first, number))
            ids = self.synopsis.ids(ALL)
            gone = ids[np.isin(self.arrivals(ids), list(dead))]
            if len(gone):
                self.synopsis.kill(gone)
            self.rows |= {first + n: value for n, value in enumerate(values)}
            first += len(values)
        self.rows = {arrival: value for arrival, value in self.rows.items() if arrival not in dead}

    def arrivals(self, ids: Any) -> list[int]:
        found: list[int] = self.synopsis.gather(ids, lambda s: s.arrival).tolist()
        return found


def pairs(filled: Filled, left: Any, ids: Any) -> list[tuple[int, int]]:
    return sorted(zip(left.tolist(), filled.arrivals(ids), strict=True))


@given(BATCHES, st.sets(st.integers(0, 50)), st.lists(st.integers(-4, 7), max_size=6))
def test_rows_are_found_by_key_by_value_and_by_range(batches: Any, dead: set[int], asked: list[int]) -> None:
    filled = Filled(batches, dead)
    wanted = np.array(asked, np.int64)
    equal = sorted((n, arrival) for n, v in enumerate(asked) for arrival, held in filled.rows.items() if held == v)
    by_hash = filled.synopsis.probe(ALL, ("a",), hashes(pa.array(wanted)))
    assert pairs(filled, *by_hash) == equal
    assert pairs(filled, *filled.synopsis.probe_values(ALL, "a", wanted)) == equal
    assert filled.synopsis.near(ALL, ("a",), hashes(pa.array(wanted))) >= len(equal)
    ranged = filled.synopsis.between(ALL, "codes", "a", (wanted - 1, wanted + 1))
    close = sorted((n, a) for n, v in enumerate(asked) for a, held in filled.rows.items() if abs(held - v) <= 1)
    assert pairs(filled, *ranged) == close


@given(BATCHES, st.sets(st.integers(0, 50)), st.integers(-4, 7), st.integers(0, 5))
def test_ranges_are_open_below_and_closed_above(batches: Any, dead: set[int], above: int, reach: int) -> None:
    filled = Filled(batches, dead)
    found = filled.synopsis.in_range("codes", "a", above, above + reach, ALL)
    assert sorted(filled.arrivals(found)) == sorted(a for a, v in filled.rows.items() if above < v <= above + reach)


@given(BATCHES, st.sets(st.integers(0, 50)))
def test_parts_and_sizes(batches: Any, dead: set[int]) -> None:
    filled = Filled(batches, dead)
    synopsis = filled.synopsis
    assert filled.arrivals(synopsis.ids(ALL)) == sorted(filled.rows)
    assert synopsis.live == synopsis.size(ALL) == len(filled.rows)
    assert synopsis.size(OLD) + synopsis.size(FRESH) == synopsis.size(ALL)
    assert len(synopsis.ids(OLD)) == synopsis.size(OLD)
    synopsis.finish()
    assert filled.arrivals(synopsis.ids(ALL)) == sorted(filled.rows)
    assert synopsis.size(FRESH) == 0
    synopsis.compact()
    assert synopsis.rows == synopsis.live == len(filled.rows)
    assert synopsis.arrow("a", synopsis.ids(ALL)).to_pylist() == [filled.rows[a] for a in sorted(filled.rows)]


@given(BATCHES, st.data())
def test_values_are_gathered_in_any_order_and_as_often_as_asked(batches: Any, data: st.DataObject) -> None:
    filled = Filled(batches, set())
    ids = filled.synopsis.ids(ALL)
    chosen = data.draw(st.lists(st.sampled_from(range(len(ids))), max_size=20)) if len(ids) else []
    taken = ids[np.array(chosen, np.int64)]
    expected = [filled.rows[a] for a in filled.arrivals(taken)]
    assert filled.synopsis.codes("a", taken).tolist() == expected
    assert filled.synopsis.arrow("a", taken).to_pylist() == expected


def test_a_mark_is_new_once() -> None:
    filled = Filled([[1, 2], [3]], set())
    ids = filled.synopsis.ids(ALL)
    assert filled.synopsis.mark("m", ids[[0, 2, 0]]).tolist() == ids[[0, 2]].tolist()
    assert filled.synopsis.mark("m", ids).tolist() == ids[[1]].tolist()
    assert filled.synopsis.marked("m", ids).all()


def test_columns_of_the_batch_alone_are_let_go_of_with_it() -> None:
    filled = Filled([[1, 2]], set())
    assert filled.synopsis.arrow("late", filled.synopsis.ids(ALL)).to_pylist() == ["x", "x"]
    filled.synopsis.finish()
    assert filled.synopsis.segments[0].table.column_names == ["a"]


def test_few_segments_and_at_most_half_of_all_rows_are_dead() -> None:
    synopsis, first, draw = Synopsis(("a",)), 0, np.random.default_rng(3)
    for batch in range(200):
        synopsis.begin(fresh([batch, batch], first, batch))
        first += 2
        synopsis.kill(synopsis.in_range("codes", "a", -1, batch - 50, ALL))
        # Some leave before their time, from every segment.
        ids = synopsis.ids(ALL)
        synopsis.kill(ids[draw.random(len(ids)) < 0.02])
        synopsis.finish()
        assert len(synopsis.segments) < 3 * FEW
        assert synopsis.rows <= 2 * synopsis.live


def test_rows_that_leave_in_the_order_in_which_they_came_are_written_once() -> None:
    synopsis, written = Synopsis(("a",)), 0
    for batch in range(60):
        synopsis.begin(fresh([batch] * 100, 100 * batch, batch))
        synopsis.kill(synopsis.in_range("codes", "a", -1, batch - (FEW - 1), ALL))
        synopsis.finish()
        entries = EntryWriter(batch)
        write_synopsis("s", synopsis, entries)
        written += sum(key.startswith(SEGMENT) for key in entries.put)
    assert written == 60
    assert synopsis.live == 100 * (FEW - 1)


def test_what_rises_is_cut_at_one_id() -> None:
    filled = Filled([[1, 2, 2], [3, 5]], set())
    filled.synopsis.finish()
    assert filled.synopsis.risen_to("a", 2) == 3
    assert filled.synopsis.risen_to("a", 0) == 0
    assert filled.synopsis.risen_to("a", 9) == 5
    assert Filled([[2, 1]], set()).synopsis.risen_to("a", 2) is None
    assert filled.synopsis.reaches("a", np.array([4, 9]))
    assert not filled.synopsis.reaches("a", np.array([6, 9]))


def test_nothing_stored_answers_everything_with_nothing() -> None:
    empty = Synopsis(("a",))
    none = np.zeros(0, np.int64)
    assert len(empty.ids(ALL)) == empty.live == len(empty.in_range("codes", "a", 0, 9)) == 0
    assert [len(side) for side in empty.probe_values(ALL, "a", np.array([1]))] == [0, 0]
    assert len(empty.codes("a", none)) == len(empty.hashes("a", none)) == len(empty.arrow("a", none)) == 0
    assert empty.kind("a") is None
    empty.finish()
