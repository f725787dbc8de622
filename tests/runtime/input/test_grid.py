"""Cells: all rows of a result meet in exactly one of them, whatever the shares; shares make few copies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.input.grid import Grid, best_shares
from tests.runtime.driving import plan_of

CHAIN = """CREATE STREAM a (x BIGINT); CREATE STREAM b (x BIGINT, y BIGINT); CREATE STREAM c (y BIGINT);
SELECT a.x FROM a [ROWS 9], b [ROWS 9], c [ROWS 9] WHERE a.x = b.x AND b.y = c.y;"""
CROSS = """CREATE STREAM a (x BIGINT); CREATE STREAM b (x BIGINT);
SELECT a.x FROM a [ROWS 9], b [ROWS 9];"""
LEFT = """CREATE STREAM a (x BIGINT, z BIGINT, ts TIMESTAMP, ORDERED BY ts);
CREATE STREAM b (x BIGINT, ts TIMESTAMP, ORDERED BY ts); CREATE STREAM c (z BIGINT, ts TIMESTAMP, ORDERED BY ts);
SELECT a.x FROM a LEFT JOIN b ON a.x = b.x AND a.ts = b.ts LEFT JOIN c ON a.z = c.z AND c.ts = a.ts;"""


def cells_of(grid: Grid, alias: str, **row: int) -> set[int]:
    line = grid.line(plan_of(CHAIN), alias, None, pa.table({name: [value] for name, value in row.items()}))
    return {int(line.base[0]) + offset for offset in line.offsets}


@pytest.mark.parametrize("cells", [1, 2, 4, 6, 12])
def test_the_rows_of_a_result_meet_in_exactly_one_cell(cells: int) -> None:
    for shares in {best_shares(plan_of(CHAIN), cells, {}), (cells, 1), (1, cells)}:
        grid = Grid(shares)
        for x, y in product(range(9), repeat=2):
            met = cells_of(grid, "a", x=x) & cells_of(grid, "b", x=x, y=y) & cells_of(grid, "c", y=y)
            assert len(met) == 1
            assert met <= set(range(grid.cells))


def test_a_stream_with_all_axes_is_not_copied() -> None:
    grid = Grid((2, 3))
    assert len(cells_of(grid, "b", x=1, y=1)) == 1
    assert len(cells_of(grid, "a", x=1)) == 3
    assert len(cells_of(grid, "c", y=1)) == 2


def test_a_query_without_any_key_has_one_cell() -> None:
    assert Grid.of(plan_of(CROSS), 8).cells == 1


def test_no_copies_where_none_may_be() -> None:
    assert Grid.of(plan_of(CHAIN), 8, may_copy=False).cells == 1
    assert Grid.of(plan_of(CHAIN), 8).cells > 1


def test_rows_that_may_be_emitted_unmatched_are_not_copied() -> None:
    plan = plan_of(LEFT)
    grid = Grid.of(plan, 8)
    line = grid.line(plan, "a", None, pa.table({name: [5] for name in plan.by_alias["a"].shipped}))
    assert len(line.offsets) == 1


def test_a_busy_stream_is_copied_least() -> None:
    plan = plan_of(CHAIN)
    assert best_shares(plan, 8, {"a": 1000.0})[0] > best_shares(plan, 8, {"c": 1000.0})[0]


def test_agreement_with_a_cell_on_the_axis_of_a_column() -> None:
    plan, grid = plan_of(CHAIN), Grid((2, 2))
    table = pa.table({"x": list(range(8)), "y": list(range(8))})
    base = grid.line(plan, "b", None, table).base
    assert grid.agree(plan, "b", "x", table, base).all()
    other = np.array([(cell + 2) % 4 for cell in base])
    assert not grid.agree(plan, "b", "x", table, other).any()
    assert grid.agree(plan, "b", "y", table, other).all()


BOTH = """CREATE STREAM a (x BIGINT, y BIGINT); CREATE STREAM b (x BIGINT, y BIGINT);
SELECT a.x FROM a [ROWS 9], b [ROWS 9] WHERE a.x = b.x AND a.y = b.y;"""


def test_a_key_of_two_columns_is_spread_by_both_of_them() -> None:
    plan = plan_of(BOTH)
    grid = Grid.of(plan, 16)
    assert grid.cells == 16
    table = pa.table({"x": np.full(4_000, 443), "y": np.arange(4_000)})
    for columns in (table, pa.table({"x": table.column("y"), "y": table.column("x")})):
        line = grid.line(plan, "a", None, columns)
        assert line.offsets == (0,)
        assert np.bincount(line.base, minlength=16).max() < 2 * 4_000 / 16
        assert (grid.line(plan, "b", None, columns).base == line.base).all()


def test_what_is_known_of_one_of_two_columns_goes_to_every_cell() -> None:
    plan, grid = plan_of(BOTH), Grid((4, 1))
    table = pa.table({"x": [1], "y": [2]})
    assert grid.line(plan, "a", frozenset({"x"}), table).offsets == (0, 1, 2, 3)
    assert grid.line(plan, "a", frozenset({"x", "y"}), table).offsets == (0,)
    assert grid.agree(plan, "a", "x", table, np.array([3])).all()
