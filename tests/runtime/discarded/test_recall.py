"""Which rows set aside are brought back: all that may stand with a fresh row, along stored ones too; no others."""

from __future__ import annotations

import pytest

from penstock.runtime.discarded.recall import Recall, axis_columns
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER);"
STREAMS = "".join(map(STREAM.format, "rst"))
NEAR = "{1}.ts - {0}.ts BETWEEN -5 AND 5"
CHAIN = (
    f"SELECT r.n FROM r, s, t WHERE r.k = s.k AND {NEAR.format('r', 's')} AND s.n = t.n AND {NEAR.format('s', 't')};"
)


def chain() -> Driver:
    """All of r and s are set aside: r (1, 1) and (2, 2), s (1, 7) and (2, 8), by k and n."""
    driver = Driver(STREAMS + CHAIN)
    driver.step(r=[(1, 10, 1), (2, 10, 2)], s=[(1, 10, 7), (2, 10, 8)])
    driver.step(r=[(99, 100, 99)], s=[(99, 100, 99)], t=[(99, 100, 99)])
    assert [driver.stored(alias) for alias in "rst"] == [1, 1, 1]
    return driver


def test_a_late_row_finds_rows_two_joins_away() -> None:
    driver = chain()
    assert driver.step(t=[(0, 10, 7)]).rows.column(0).to_pylist() == [1]
    driver.restart()
    assert driver.step(t=[(0, 10, 8)]).rows.column(0).to_pylist() == [2]


def test_what_no_key_leads_to_stays_aside() -> None:
    driver = chain()
    cell = driver.cell
    found = Recall(cell.plan, cell.synopses, cell.doubted_rows.piles).run()
    assert found == {}
    driver.step(t=[(0, 101, 5)])
    ids = driver.cell.synopses["t"].ids(ALL)
    assert len(ids) == 2


def test_where_no_key_connects_the_streams_all_are_brought_back() -> None:
    driver = Driver(f"{STREAMS} SELECT r.n FROM r, s WHERE {NEAR.format('r', 's')};")
    driver.step(r=[(1, 10, 1)])
    driver.step(r=[(0, 100, 5)], s=[(0, 100, 5)])
    assert sorted(driver.step(s=[(3, 11, 0)]).rows.column(0).to_pylist()) == [1]


@pytest.mark.parametrize(("alias", "columns"), [("r", ("k",)), ("s", ("k", "n")), ("t", ("n",))])
def test_rows_meet_by_one_column_of_each_axis(alias: str, columns: tuple[str, ...]) -> None:
    assert axis_columns(chain().plan, alias) == columns
