"""When a row can match no more: by single streams, by blocks, by joins on the other side, by rows that wait there."""

from __future__ import annotations

from tests.runtime.driving import Driver, rows_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"


def streams(**declared: str) -> str:
    return "".join(f"CREATE STREAM {name} ({FIELDS}{', ' if d else ''}{d});" for name, d in declared.items())


ORDERED = "ORDERED BY ts"
BAND = "{0}.ts - a.ts BETWEEN 0 AND 5"


def test_the_clock_of_the_other_stream_settles_a_row_and_not_its_own() -> None:
    select = f"SELECT a.n, b.n AS m FROM a LEFT JOIN b ON a.k = b.k AND {BAND.format('b')};"
    driver = Driver(streams(a=ORDERED, b=ORDERED) + select)
    driver.step(a=[(1, 0, 1)], b=[])
    assert rows_of(driver.step(a=[(2, 90, 2)], b=[(9, 5, 9)])) == []
    assert rows_of(driver.step(a=[], b=[(9, 6, 9)])) == [(1, None)]


def test_a_block_is_settled_by_any_stream_that_closes_it() -> None:
    select = f"SELECT a.n, b.n AS m FROM b JOIN c ON b.k = c.k RIGHT JOIN a ON a.k = b.k AND {BAND.format('b')};"
    driver = Driver(streams(a=ORDERED, b=ORDERED, c="") + select)
    assert rows_of(driver.step(a=[(1, 0, 1), (2, 0, 2)], b=[(2, 1, 20)], c=[])) == []
    assert rows_of(driver.step(a=[], b=[(9, 9, 9)], c=[])) == [(1, None)]  # b 20 may still meet a c.
    assert rows_of(driver.step(a=[], b=[], c=[(2, 0, 30)])) == [(2, 20)]


def test_rows_that_wait_across_hold_a_row_back() -> None:
    select = (
        f"SELECT a.n, b.n AS m, c.n AS o FROM a LEFT JOIN b ON a.k = b.k AND {BAND.format('b')} "
        f"FULL JOIN c ON a.k = c.k AND {BAND.format('c')};"
    )
    driver = Driver(streams(a=ORDERED, b=ORDERED, c=ORDERED) + select)
    assert rows_of(driver.step(a=[(1, 0, 1)], b=[], c=[(1, 1, 30)])) == []
    # a is past, so nothing of it comes for c 30; but a 1 waits for b, and may come without one.
    assert rows_of(driver.step(a=[(8, 50, 8)], b=[], c=[])) == []
    assert driver.stored("c") == 1
    assert rows_of(driver.step(a=[], b=[(8, 50, 80)], c=[])) == [(1, None, 30)]
    driver.step(a=[(9, 200, 9)], b=[(9, 200, 9)], c=[(9, 200, 9)])
    assert driver.stored("c") <= 1


def test_the_end_of_every_stream_settles_all() -> None:
    select = "SELECT a.n, b.n AS m FROM a LEFT JOIN b ON a.k = b.k;"
    driver = Driver(streams(a="", b="") + select)
    driver.step(a=[(1, 0, 1)], b=[])
    driver.run.end()
    assert driver.stored("a") == 0


def test_out_of_a_window_of_rows_no_tuple_to_come_matches() -> None:
    select = "SELECT a.n, b.n AS m FROM a [ROWS 2] LEFT JOIN b ON a.k = b.k;"
    driver = Driver(streams(a="", b="") + select)
    driver.step(a=[(1, 0, 1)], b=[])
    assert rows_of(driver.step(a=[(2, 0, 2)], b=[])) == []
    assert rows_of(driver.step(a=[(3, 0, 3)], b=[])) == [(1, None)]


def test_what_a_condition_says_of_one_side_alone_settles_rows_of_the_other() -> None:
    """`a.k = b.k` of NOT EXISTS ties f to b too: once b has passed the value of a row of f, the row leaves."""
    select = "SELECT a.n, b.n AS m FROM a [ROWS 1], b [ROWS 1] WHERE a.ts <= b.ts AND "
    select += "NOT EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND a.ts < 0) AND "
    select += "NOT EXISTS (SELECT 1 FROM f WHERE f.k = a.k AND a.k = b.k);"
    by_key = "ORDERED BY k"
    driver = Driver(streams(a="FOLLOWS f (k) ON (k)", b=by_key, e=by_key, f=by_key) + select)
    driver.step(a=[(3, 0, 1)], b=[(3, 0, 1)], e=[(3, 0, 1)], f=[(1, 0, 1), (2, 0, 2), (3, 0, 3)])
    last = driver.step(a=[(9, 1, 2)], b=[(9, 1, 2)], e=[(9, 1, 2)], f=[(9, 1, 4)])
    assert last.metrics.state_rows["f"] <= 1
