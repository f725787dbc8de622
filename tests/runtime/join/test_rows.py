"""Rows of a part of FROM: taken, padded, put together, parted by who is there; NULLs where a stream is absent."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.join.rows import ABSENT, by_presence, count, nothing, padded, take, together, values
from tests.runtime.stored import stored

ROWS = {"a": np.array([4, ABSENT, 2]), "b": np.array([0, 1, ABSENT])}


def test_rows_are_counted_taken_and_padded() -> None:
    assert count(ROWS) == 3
    assert take(ROWS, np.array([2, 0]))["a"].tolist() == [2, 4]
    assert padded(ROWS, "abc")["c"].tolist() == [ABSENT] * 3
    assert count(padded(nothing("a"), "ab")) == 0


def test_pieces_are_put_together_and_no_pieces_are_no_rows() -> None:
    assert together([ROWS, take(ROWS, np.array([0]))], ("a", "b"))["b"].tolist() == [0, 1, ABSENT, 0]
    assert together([ROWS], ("a", "b")) is ROWS
    assert count(together([], ("a", "b"))) == 0


def test_rows_are_parted_by_who_is_there() -> None:
    found = {
        tuple(rows): (places.tolist(), {a: ids.tolist() for a, ids in rows.items()})
        for rows, places in by_presence(ROWS)
    }
    assert found == {
        ("a", "b"): ([0], {"a": [4], "b": [0]}),
        ("b",): ([1], {"b": [1]}),
        ("a",): ([2], {"a": [2]}),
    }
    assert list(by_presence(nothing("ab"))) == []


def test_values_are_null_where_the_stream_is_absent() -> None:
    synopsis = stored({"k": [7, None, 9]})
    assert values(synopsis, "k", np.array([2, ABSENT, 1, 0])).to_pylist() == [9, None, None, 7]
    assert values(synopsis, "k", np.array([ABSENT])).to_pylist() == [None]
    assert values(synopsis, "k", np.array([0])).to_pylist() == [7]


def test_a_stream_that_has_had_no_rows_gives_nulls() -> None:
    assert values(stored({"k": []}), "k", np.array([ABSENT, ABSENT])).type == pa.null()
