"""Rows of several cells: each once, in every cell that needs it; see `test_redeal_workloads.py` for what they give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.input.grid import Grid
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.redealt_rows import Ways, dealt, together
from penstock.runtime.state.segment import Segment
from tests.runtime.driving import plan_of

CUBE = """
CREATE STREAM s (a BIGINT, b BIGINT, n BIGINT); CREATE STREAM t (a BIGINT, n BIGINT); CREATE STREAM u (b BIGINT);
SELECT s.n, t.n AS m FROM s, t, u WHERE s.a = t.a AND s.b = u.b;
"""


def rows(places: list[int], *, closed: list[bool], left: list[bool]) -> Segment:
    size = len(places)
    marks = {"closed": np.array(closed), LEFT: np.array(left)}
    table = pa.table({"a": [7] * size, "n": places})
    return Segment(table, np.array(places), np.zeros(size, np.int64), np.zeros(size, np.bool_), marks)


def test_a_copied_row_lies_once_in_each_new_cell_and_is_at_home_in_one() -> None:
    ways = Ways(plan_of(CUBE), Grid((2, 2)), Grid((1, 3)))
    way = ways.of_rows("t")
    one = rows([1, 4], closed=[True, False], left=[True, True])
    other = rows([1, 2], closed=[False, False], left=[False, True])
    whole = together([one, other], way)
    assert whole is not None
    assert whole.arrival.tolist() == [1, 2, 4]
    # What closed a value for one copy has closed it for all; done in one cell is not done in all.
    assert whole.marks["closed"].tolist() == [True, False, False]
    assert whole.marks[LEFT].tolist() == [False, True, True]
    shares = dealt(whole, way, 3)
    assert [share.arrival.tolist() for share in shares if share is not None] == [[1, 2, 4]] * 3
    assert [share.live_at_home for share in shares if share is not None] == [3, 0, 0]


def test_what_is_not_copied_is_not_compared() -> None:
    ways = Ways(plan_of(CUBE), Grid((2, 1)), Grid((3, 1)))
    assert ways.of_rows("t").names is None
    assert ways.of_rows("u").names is not None


def test_values_lie_along_the_line_of_their_columns() -> None:
    way = Ways(plan_of(CUBE), Grid((2, 2)), Grid((2, 2))).of_values("s", ["a"])
    whole = together([rows([1, 1], closed=[False] * 2, left=[False] * 2)] * 2, way)
    assert whole is not None
    assert len(whole) == 1
    assert sum(share is not None for share in dealt(whole, way, 4)) == 2


def test_a_row_that_waits_lies_in_every_cell_along_an_axis_that_none_of_its_tuples_has() -> None:
    way = Ways(plan_of(CUBE), Grid((2, 1)), Grid((3, 1))).of_tuples(
        ["u"], {"u": rows([1, 4], closed=[True] * 2, left=[True] * 2)}
    )
    waiting = Segment(pa.table({"u": [1, 4]}), np.arange(2), np.zeros(2, np.int64), np.ones(2, np.bool_), {})
    whole = together([waiting, waiting], way)
    assert whole is not None
    assert whole.codes("u").tolist() == [1, 4], "a copy of each in every cell before, and one row"
    assert [share.codes("u").tolist() for share in dealt(whole, way, 3) if share is not None] == [[1, 4]] * 3
