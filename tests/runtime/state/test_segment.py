"""A segment: who lives, what is derived, and that rows taken or merged are the rows they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.state.segment import Segment


def segment_of(*values: int | None, first: int = 0) -> Segment:
    rows = len(values)
    table = pa.table({"a": pa.array(values, pa.int64()), "s": pa.array([str(v) for v in values])})
    home = np.arange(rows) % 2 == 0
    return Segment(table, np.arange(first, first + rows), np.full(rows, first), home, {"m": np.arange(rows) == 1})


def test_the_dead_are_counted_once_and_at_home_apart() -> None:
    segment = segment_of(1, 2, 3, 4)
    segment.touched = False
    segment.kill(np.array([0, 3]))
    assert segment.living().tolist() == [1, 2]
    assert (segment.live, segment.live_at_home, segment.touched) == (2, 1, True)


def test_an_index_covers_the_rows_alive_when_it_was_built() -> None:
    segment = segment_of(5, 6, 5)
    segment.kill(np.array([0]))
    keys = segment.key(("a",))
    assert segment.index(("a",)).probe(keys[:1])[1].tolist() == [2]
    two = segment.key(("a", "s"))
    assert len({*two.tolist()}) == 2


def test_spans_and_orders() -> None:
    segment = segment_of(3, 9, 4)
    assert segment.span("a") == (3, 9)
    assert not segment.rises("codes", "a")
    values, rows = segment.sorted_by("codes", "a")
    assert (values.tolist(), rows.tolist()) == ([3, 4, 9], [0, 2, 1])
    assert segment_of(1, 1, 2).rises("ticks", "a")
    assert segment_of().rises("codes", "a")


def test_codes_that_lie_far_apart_are_not_indexed_by_value() -> None:
    assert segment_of(0, 10).index_by_value("a") is not None
    assert segment_of(0, 1 << 60).index_by_value("a") is None


def test_rows_taken_keep_all_that_is_theirs() -> None:
    segment = segment_of(1, 2, 3, first=10)
    segment.counts = np.array([7, 8, 9])
    some = segment.taken(np.array([2, 1]))
    assert some.column("a").to_pylist() == [3, 2]
    assert some.arrival.tolist() == [12, 11]
    assert some.home.tolist() == [True, False]
    assert some.mask("m").tolist() == [False, True]
    assert some.counts is not None
    assert some.counts.tolist() == [9, 8]


def test_neighbours_merged_are_their_living_rows_in_order() -> None:
    left, right = segment_of(1, None, 3), segment_of(4, 5, first=3)
    left.kill(np.array([0]))
    together = Segment.merged([left, right])
    assert together.column("a").to_pylist() == [None, 3, 4, 5]
    assert together.column("s").to_pylist() == ["None", "3", "4", "5"]
    assert together.arrival.tolist() == [1, 2, 3, 4]
    assert together.mask("m").tolist() == [True, False, False, True]
    assert together.live == 4


def test_a_column_replaced_is_derived_anew() -> None:
    segment = segment_of(1, 2)
    assert segment.codes("a").tolist() == [1, 2]
    segment.replace("a", pa.array([8, 9]))
    assert segment.codes("a").tolist() == [8, 9]


def test_rows_without_any_column_are_rows_still() -> None:
    bare = segment_of(1, 2, 3)
    bare.narrow(())
    bare.kill(np.array([1]))
    kept = Segment.merged([bare, bare.taken(np.array([0, 2]))])
    assert (len(kept), kept.arrival.tolist()) == (4, [0, 2, 0, 2])


def test_a_mark_that_rows_of_this_kind_cannot_have_is_on_none() -> None:
    assert segment_of(1, 2).mask("other").tolist() == [False, False]
