"""[ROWS n] as a fact of places in the order of arrival: what is in a window when the last tuple of a row arrives."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import parse
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded
from penstock.explain.reason_words import told
from penstock.runtime.join.rows import ABSENT
from penstock.runtime.match.rows_windows import RowsWindows, seen_columns
from tests.runtime.driving import Driver, plan_of, rows_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = "".join(STREAM.format(name) for name in "abc")
INNER = f"{STREAMS} SELECT a.n, b.n AS m FROM a, b [ROWS 2] WHERE a.k = b.k;"
BAND = "BETWEEN 0 AND 9"
NESTED = (
    f"{STREAMS} SELECT a.n, b.n AS m, c.n AS o FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts {BAND} "
    f"LEFT JOIN c [ROWS 2] ON a.k = c.k AND c.ts - a.ts BETWEEN 0 AND 1000;"
)


def windows_after(driver: Driver) -> RowsWindows:
    return driver.cell.tree.windows


def test_a_batch_arrives_stream_after_stream_in_the_order_of_from() -> None:
    driver = Driver(INNER)
    first = driver.step(a=[(1, 0, 1)], b=[(1, 0, 1), (1, 0, 2), (1, 0, 3)])
    assert rows_of(first) == [(1, 1), (1, 2), (1, 3)]  # a came first, so each b was the newest when its pair was there
    second = driver.step(a=[(1, 1, 2)], b=[])
    assert rows_of(second) == [(2, 2), (2, 3)]


def test_what_is_absent_is_in_every_window() -> None:
    driver = Driver(NESTED)
    driver.step(a=[(1, 0, 1)], b=[(2, 0, 1)], c=[(1, 0, 1), (1, 0, 2)])
    driver.step(a=[], b=[], c=[(1, 1, 3)])
    driver.step(a=[(1, 1, 2)], b=[], c=[])
    rows = {"a": np.array([1, 0, 1, 1, ABSENT]), "c": np.array([ABSENT, 0, 0, 1, 0])}
    inside = windows_after(driver).inside(rows)
    assert inside is not None
    assert inside.tolist() == [True, True, False, True, True]
    assert windows_after(driver).out_of_reach(rows).tolist() == [False, True, True, False, True]
    assert windows_after(driver).inside({"a": np.array([0])}) is None


def test_no_rows_are_in_no_window() -> None:
    driver = Driver(NESTED)
    driver.step(a=[(1, 0, 1)], b=[], c=[])
    none = np.zeros(0, np.int64)
    inside = windows_after(driver).inside({"a": none, "c": none})
    assert inside is not None
    assert not len(inside)
    assert not len(windows_after(driver).out_of_reach({"c": none}))


def test_only_what_meets_late_rows_carries_what_it_has_seen() -> None:
    inner, nested = plan_of(INNER), plan_of(NESTED)
    assert [seen_columns(inner, alias) for alias in "ab"] == [(), ()]
    assert [seen_columns(nested, alias) for alias in "abc"] == [("__ps_seen_c",), ("__ps_seen_c",), ()]


@pytest.mark.parametrize("restart", [False, True])
def test_a_late_row_meets_what_was_in_the_window_when_it_came(restart: bool) -> None:
    driver = Driver(NESTED)
    steps: list[dict[str, list[tuple[int | None, ...]]]] = [
        {"a": [(1, 10, 1)], "b": [], "c": [(1, 10, 1)]},
        {"a": [], "b": [], "c": [(1, 11, 2), (1, 12, 3), (1, 13, 4)]},  # c 1 and 2 have left the window
        {"a": [(9, 50, 9)], "b": [(9, 50, 9)], "c": []},  # now a 1 has no b
    ]
    given = []
    for rows in steps:
        given += rows_of(driver.step(**rows))
        if restart:
            driver.run.restart()
    # c 1 came after a 1, in the same batch; so did 2, 3 and 4, each newest as it came.
    assert sorted(row for row in given if row[0] == 1) == [(1, None, n) for n in (1, 2, 3, 4)]


def test_a_late_row_does_not_meet_what_its_tuples_came_too_late_for() -> None:
    driver = Driver(NESTED)
    given = rows_of(driver.step(a=[], b=[], c=[(1, 10, 1), (1, 10, 2), (1, 10, 3)]))
    given += rows_of(driver.step(a=[(1, 10, 1)], b=[], c=[]))
    given += rows_of(driver.step(a=[], b=[], c=[(7, 11, 4)]))
    given += rows_of(driver.step(a=[(9, 50, 9)], b=[(9, 50, 9)], c=[(9, 60, 9), (9, 61, 9)]))
    assert sorted(row for row in given if row[0] == 1) == [(1, None, 2), (1, None, 3)]
    assert driver.cell.synopses["c"].live == 2


def bound_of(script: str, alias: str) -> tuple[str, int | None]:
    (query,) = parse(script).queries
    (found,) = (entry.finding for entry in check_query(query).streams if entry.alias == alias)
    assert isinstance(found, Bounded)
    return told(found.bound), found.rows


def test_the_bound_is_no_number_where_rows_wait_across() -> None:
    late = "the last 2 rows, and those that rows of a and b which came in time still wait for"
    assert bound_of(NESTED, "c") == (late, None)
    below = NESTED.replace("c [ROWS 2]", "c").replace("JOIN b ON", "JOIN b [ROWS 2] ON")
    assert bound_of(below, "b") == ("the last 2 rows", 2)
