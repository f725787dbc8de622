"""What several cells found to break a promise, in one error. Without Spark: a cell is its folder and its number."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.runtime.promise.violations import BrokenRows, PromiseBroken
from penstock.spark import broken_cells
from penstock.spark.broken_cells import with_other_cells


def broken(*values: int, constraint: str = "PRIMARY KEY (k) ON s") -> PromiseBroken:
    return PromiseBroken([BrokenRows(constraint, "s", pa.table({"k": values}).slice(0, 10), len(values))])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broken_cells, "_PATIENCE", 0.0)


def test_the_rows_of_all_cells_are_counted_and_ten_are_named(tmp_path: object) -> None:
    place = (tmp_path / "root", "run")  # type: ignore[operator]
    with_other_cells(broken(*range(8)), place, "3", 0, cells=2, took=0.0)
    told = with_other_cells(broken(*range(20, 28)), place, "3", 1, cells=2, took=0.0)
    assert told.message == "16 rows of s break PRIMARY KEY (k) ON s"
    assert told.detail is not None
    assert told.detail.startswith("the rows are: k = 0; k = 1;")
    assert told.detail.endswith("k = 21; and 6 more")


def test_cells_that_found_none_or_had_not_begun_are_told(tmp_path: object) -> None:
    place = (tmp_path / "root", "run")  # type: ignore[operator]
    with_other_cells(broken(5), place, "2", 0, cells=3, took=0.0)
    told = with_other_cells(broken(7, constraint="ORDERED BY k ON s"), place, "3", 1, cells=3, took=0.0)
    assert told.message == "a row of s breaks ORDERED BY k ON s"
    assert told.detail == "the row is: k = 7 (found in 1 of 3 cells; the others found none, or had not begun)"


def test_where_nothing_can_be_left_the_cell_fails_all_the_same(tmp_path: object) -> None:
    file = tmp_path / "root"  # type: ignore[operator]
    file.write_text("in the way")
    assert with_other_cells(broken(1), (file, "run"), "0", 0, cells=2, took=0.0).message.startswith("a row of s")
    one = broken(1)
    assert with_other_cells(one, (file, "run"), "0", 0, cells=1, took=0.0) is one
