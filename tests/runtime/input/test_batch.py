"""A piece of input as a chunk: rows that pass, keys of those that do not, and punctuations, which are no data."""

from __future__ import annotations

import pyarrow as pa

from penstock.runtime.input.batch import INDEX, Chunk, Punctuating, apart, numbered
from penstock.runtime.input.wire_columns import ORDER, punctuation_promises
from tests.runtime.driving import plan_of

SCRIPT = """CREATE STREAM a (k BIGINT, n BIGINT, PRIMARY KEY (k));
CREATE STREAM b (k BIGINT, n BIGINT, PUNCTUATED ON (k) WHEN n = -1);
SELECT a.n FROM a, b WHERE a.k = b.k AND a.n > 0;"""
ARRIVING = """CREATE STREAM a (k BIGINT, n BIGINT, ARRIVES BY n); CREATE STREAM b (k BIGINT, n BIGINT, ARRIVES BY n);
SELECT a.n FROM a [ROWS 5], b WHERE a.k = b.k AND a.n = b.n;"""


def rows(*pairs: tuple[int | None, int | None]) -> pa.Table:
    return pa.table({name: pa.array([pair[n] for pair in pairs], pa.int64()) for n, name in enumerate(("k", "n"))})


def test_what_a_filter_drops_leaves_its_key() -> None:
    chunk = Chunk.of(plan_of(SCRIPT), "a", 0, rows((1, 5), (2, 0), (3, None)), {"a": pa.array([True, False, None])})
    assert chunk.header.rows == 3
    assert chunk.rows["a"].column("k").to_pylist() == [1]
    assert chunk.keys["a"].column("k").to_pylist() == [2, 3]
    assert chunk.keys["a"].column(INDEX).to_pylist() == [1, 2]


def test_without_a_filter_there_are_no_keys_apart() -> None:
    chunk = Chunk.of(plan_of(SCRIPT), "b", 0, rows((1, 5)))
    assert chunk.keys == {}
    assert chunk.rows["b"].column(INDEX).to_pylist() == [0]


def test_punctuations_are_no_data_and_know_how_much_came_before() -> None:
    plan = plan_of(SCRIPT)
    data = rows((1, 5), (9, -1), (2, 6), (8, -1))
    ((number, _),) = punctuation_promises(plan, "b")
    marked = pa.array([False, True, None, True])
    chunk = Chunk.of(plan, "b", 0, data, punctuating=Punctuating(marked, {number: marked}))
    assert chunk.header.rows == 2
    assert chunk.rows["b"].column("k").to_pylist() == [1, 2]
    assert chunk.rows["b"].column(INDEX).to_pylist() == [0, 1]
    assert chunk.punctuations[number].to_pydict() == {"k": [9, 8], INDEX: [1, 2]}


def test_a_piece_of_punctuations_alone_has_no_data() -> None:
    plan = plan_of(SCRIPT)
    ((number, _),) = punctuation_promises(plan, "b")
    marked = pa.array([True])
    data, passes, made = apart(plan, "b", rows((9, -1)), {"b": marked}, Punctuating(marked, {number: marked}))
    assert (data.num_rows, len(passes["b"]), made[number].num_rows) == (0, 0, 1)


def test_a_piece_without_punctuations_is_left_as_it_is() -> None:
    data = rows((1, 2))
    none = pa.array([False])
    assert apart(plan_of(SCRIPT), "b", data, {}, Punctuating(none, {1: none}))[0] is data


def test_places_are_the_largest_value_so_far() -> None:
    plan = plan_of(ARRIVING)
    indexed, order = numbered(plan, "a", rows((1, 5), (1, 3), (1, 7)))
    assert order is not None
    assert order.tolist() == indexed.column(ORDER).to_pylist() == [5, 5, 7]
    assert numbered(plan, "b", rows((1, 5)))[1] is None
    assert numbered(plan_of(SCRIPT), "a", rows((1, 5)))[0].column_names == ["k", "n", INDEX]
