"""Both indexes of a segment, and what rests on them, against loops over all pairs of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.hashing import mix
from penstock.runtime.match.key_matching import all_differ
from penstock.runtime.state.key_index import KeyIndex, ValueIndex, among, is_dense
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, OLD, Synopsis

SPANS = (1, 3, 40, 1_000_000)
"""From one value that all rows share to so many that a directory over them is out of place."""


def _pairs(left: Ints, right: Ints) -> list[tuple[int, int]]:
    return sorted(zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize("span", SPANS)
def test_an_index_finds_all_pairs_that_are_equal_and_no_others(span: int) -> None:
    chance = np.random.default_rng(span)
    for low in (-7, 0, 1 << 40):
        values = low + chance.integers(0, span, 60)
        rows = np.flatnonzero(chance.random(60) < 0.8)
        asked = low + chance.integers(0, span, 50)
        equal = [(n, row) for n, value in enumerate(asked) for row in rows.tolist() if values[row] == value]
        by_hash = KeyIndex.over(mix(values.view(np.uint64)), rows)
        assert _pairs(*by_hash.probe(mix(asked.view(np.uint64)))) == equal
        least, most = int(values[rows].min()), int(values[rows].max())
        within = asked[(asked >= least) & (asked <= most)]
        if is_dense(least, most, len(rows)):
            by_value = ValueIndex.over(values, rows, least, most)
            found = _pairs(*by_value.probe(within))
            assert found == [(n, row) for n, v in enumerate(within) for row in rows.tolist() if values[row] == v]


def test_a_directory_of_rows_where_no_value_comes_twice() -> None:
    values = np.array([9, 4, 6, 5], np.int64)
    index = ValueIndex.over(values, np.array([0, 1, 3]), 4, 9)
    assert index.is_unique
    assert _pairs(*index.probe(np.array([9, 6, 4, 9]))) == [(0, 0), (2, 1), (3, 0)]


@pytest.mark.parametrize("span", SPANS)
def test_a_synopsis_finds_the_living_rows_of_all_its_segments(span: int) -> None:
    chance = np.random.default_rng(span)
    synopsis = Synopsis(("a",))
    values = np.concatenate([chance.integers(0, span, 30), np.sort(chance.integers(0, span, 30))])
    for first in (0, 30):
        part = pa.table({"a": values[first : first + 30]})
        nothing = np.zeros(30, np.int64)
        synopsis.segments.append(Segment(part, np.arange(first, first + 30), nothing, np.ones(30, np.bool_), {}))
    synopsis.rebase()
    asked = chance.integers(0, span, 40)
    alive = np.ones(60, np.bool_)
    for dying in np.array_split(chance.permutation(60)[:40], 4):
        expected = [
            (n, row) for n, value in enumerate(asked) for row in range(60) if alive[row] and values[row] == value
        ]
        assert _pairs(*synopsis.probe_values(ALL, "a", asked)) == expected
        above, upto = sorted(chance.integers(-1, span + 1, 2).tolist())
        inside = np.flatnonzero(alive & (values > above) & (values <= upto))
        assert np.sort(synopsis.in_range("codes", "a", above, upto, OLD)).tolist() == inside.tolist()
        least = synopsis.risen_to("a", upto)
        assert least is None or ((values <= upto) == (np.arange(60) < least)).all()
        synopsis.kill(np.sort(dying))
        alive[dying] = False


def test_up_to_which_row_a_column_that_rises_has_risen() -> None:
    synopsis = Synopsis(("a",))
    for part in ([1, 1, 4], [], [4, 7]):
        size = len(part)
        table = pa.table({"a": np.array(part, np.int64)})
        synopsis.segments.append(Segment(table, np.arange(size), np.zeros(size, np.int64), np.ones(size, np.bool_), {}))
    synopsis.rebase()
    synopsis.kill(np.array([0, 1, 2]))
    assert [synopsis.risen_to("a", upto) for upto in (0, 1, 3, 4, 6, 7, 8)] == [0, 2, 2, 4, 4, 5, 5]
    synopsis.segments.reverse()
    synopsis.rebase()
    assert synopsis.risen_to("a", 4) is None


def test_which_values_are_among_others_up_to_the_ends_of_the_range() -> None:
    ends = np.iinfo(np.int64)
    asked = np.array([ends.min, -1, 5, 6, 7, ends.max])
    assert among(np.array([7, 5]), asked).tolist() == [False, False, True, False, True, False]
    assert among(np.array([ends.min, ends.max]), asked).tolist() == [True, False, False, False, False, True]
    assert among(np.array([], np.int64), asked).tolist() == [False] * 6


def test_whether_all_values_differ() -> None:
    assert all_differ(np.array([], np.int64))
    assert all_differ(np.array([1, 2, 9]))
    assert all_differ(np.array([5, 2, 9]))
    assert not all_differ(np.array([5, 2, 5]))
    assert all_differ(np.array([5, 1 << 50, 2]))
    assert not all_differ(np.array([5, 1 << 50, 2, 1 << 50]))
