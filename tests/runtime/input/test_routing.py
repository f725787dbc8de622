"""Routing: every row in its cells, one of them its home; keys, punctuations and headers where they are needed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.input.batch import HOME, INDEX
from penstock.runtime.input.grid import Grid
from penstock.runtime.input.routing import route, split_by_cell
from penstock.runtime.input.wire_columns import punctuation_promises
from tests.runtime.driving import plan_of

CHAIN = """CREATE STREAM a (x BIGINT, n BIGINT, PRIMARY KEY (x));
CREATE STREAM b (x BIGINT, y BIGINT, FOREIGN KEY (x) REFERENCES a (x));
CREATE STREAM c (y BIGINT, n BIGINT, PUNCTUATED ON (y) WHEN n = -1);
SELECT a.n FROM a, b, c WHERE a.x = b.x AND b.y = c.y AND a.n > 0;"""


def rows(names: str, *values: tuple[int, ...]) -> pa.Table:
    columns = {name: pa.array([row[n] for row in values], pa.int64()) for n, name in enumerate(names.split())}
    return pa.table(columns)


@pytest.mark.parametrize("shares", [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_every_row_is_at_home_in_exactly_one_of_its_cells(shares: tuple[int, int]) -> None:
    plan, grid = plan_of(CHAIN), Grid(shares)
    data = rows("x n", *((x, x + 1) for x in range(20)))
    routed = route(plan, grid, "a", data, passes={}, punctuations={})
    homes: Counter[int] = Counter()
    copies: Counter[int] = Counter()
    for cell in range(grid.cells):
        for table in routed.chunk(cell).rows.values():
            home = table.column(HOME).to_pylist() if HOME in table.column_names else [True] * table.num_rows
            index = table.column(INDEX).to_pylist()
            copies.update(index)
            homes.update(n for n, is_home in zip(index, home, strict=True) if is_home)
    assert homes == dict.fromkeys(range(20), 1)
    assert copies == dict.fromkeys(range(20), shares[1])


def test_every_cell_learns_of_every_header() -> None:
    grid = Grid((2, 3))
    routed = route(plan_of(CHAIN), grid, "a", rows("x n", (1, 1)), passes={}, punctuations={})
    assert {routed.chunk(cell).header.rows for cell in range(grid.cells)} == {1}


@pytest.mark.parametrize("shares", [(1, 1), (4, 1), (3, 2)])
def test_keys_that_go_to_the_very_cells_of_their_rows_are_not_sent(shares: tuple[int, int]) -> None:
    plan, grid = plan_of(CHAIN), Grid(shares)
    assert grid.go_with_rows(plan, "a", frozenset({"x"}))
    data = rows("x n", *((x, x + 1) for x in range(20)))
    assert route(plan, grid, "a", data, passes={}, punctuations={}).keys == {"a": []}
    assert grid.go_with_rows(plan, "b", frozenset({"x"})) == (shares[1] == 1)
    assert grid.go_with_rows(plan, "b", frozenset({"x", "y"}))


def test_the_key_of_a_row_that_a_filter_drops_goes_along_its_line() -> None:
    plan, grid = plan_of(CHAIN), Grid((2, 3))
    data = rows("x n", (1, 1), (2, 0))
    routed = route(plan, grid, "a", data, passes={"a": pa.array([True, False])}, punctuations={})
    told: dict[int, set[int]] = {1: set(), 2: set()}
    stored: dict[int, set[int]] = {1: set(), 2: set()}
    for cell in range(grid.cells):
        chunk = routed.chunk(cell)
        for into, tables in ((told, chunk.keys), (stored, chunk.rows)):
            for table in tables.values():
                for x in table.column("x").to_pylist():
                    into[x].add(cell)
    assert (len(stored[1]), stored[2]) == (3, set())
    assert not told[1]  # The rows themselves stand for their keys wherever they go.
    assert len(told[2]) == 3


def test_a_punctuation_goes_to_every_cell_that_agrees_on_what_it_closes() -> None:
    plan, grid = plan_of(CHAIN), Grid((2, 3))
    ((number, _),) = punctuation_promises(plan, "c")
    made = pa.table({"y": [7], INDEX: [0]})
    routed = route(plan, grid, "c", rows("y n"), passes={}, punctuations={number: made})
    cells = [cell for cell in range(grid.cells) if routed.chunk(cell).punctuations]
    assert len(cells) == 2


@given(st.lists(st.integers(0, 5) | st.just(70_000), max_size=30))
def test_rows_by_cell_are_all_rows_in_their_order(cells: list[int]) -> None:
    table = pa.table({"n": pa.array(range(len(cells)), pa.int64())})
    found = {cell: part.column("n").to_pylist() for cell, part in split_by_cell(table, np.array(cells, np.int64))}
    assert found == {cell: [n for n, c in enumerate(cells) if c == cell] for cell in set(cells)}
