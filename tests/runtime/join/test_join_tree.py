"""The tree: tuples stay while a waiting row names them, leave when none does, and only what changed is asked about."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.join.sides import WaitingSide
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver, rows_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "abc"
)
NESTED = (
    f"{STREAMS} SELECT a.n, b.n AS m, c.n AS o FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5 "
    "LEFT JOIN c ON a.k = c.k AND c.ts - a.ts BETWEEN 0 AND 100;"
)
INNER = f"{STREAMS} SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k;"


@pytest.mark.parametrize("restart", [False, True])
def test_a_tuple_stays_while_a_row_that_waits_names_it(restart: bool) -> None:
    driver = Driver(NESTED)
    driver.step(a=[(1, 0, 1)], b=[(1, 1, 10)], c=[])
    if restart:
        driver.restart()
    driver.step(a=[(2, 50, 2)], b=[(2, 50, 20)], c=[(9, 50, 9)])
    assert driver.stored("b") == 2  # b 10 is done with a, and stands in a row that waits for c.
    if restart:
        driver.restart()
    assert rows_of(driver.step(a=[], b=[], c=[(1, 60, 30)])) == [(1, 10, 30)]
    assert rows_of(driver.step(a=[], b=[], c=[(9, 101, 9)])) == []
    assert driver.stored("a") == driver.stored("b") == 1


def test_nothing_stays_once_the_streams_have_moved_on() -> None:
    driver = Driver(NESTED)
    for n in range(20):
        driver.step(a=[(n, 10 * n, n)], b=[(n, 10 * n, n)], c=[(n + 1, 10 * n, n)])
    last = driver.step(a=[(99, 9_000, 0)], b=[(98, 9_000, 0)], c=[(97, 9_000, 0)])
    assert {alias: driver.stored(alias) for alias in "ab"} == {"a": 1, "b": 1}
    assert last.metrics.state_rows["c"] <= 1


def test_an_inner_join_is_the_tree_with_one_block() -> None:
    tree = Driver(INNER).cell.tree
    assert (list(tree.blocks), list(tree.nodes), tree.waiting) == ([0], [], [])
    assert tree.root is tree.blocks[0]


def test_only_rows_whose_answer_may_have_changed_are_asked() -> None:
    driver = Driver(NESTED)
    driver.step(a=[(k, 0, k) for k in range(50)], b=[(k, 0, k) for k in range(50)], c=[])
    tree = driver.cell.tree
    (waiting,) = tree.waiting
    assert isinstance(waiting, WaitingSide)
    assert len(waiting.rows(ALL)[1]) == 50
    asked: list[int] = []
    whole = tree.settling.settled

    def counted(rows: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]], *others: object) -> object:
        asked.append(len(next(iter(rows.values()))))
        return whole(rows, *others)  # type: ignore[arg-type]

    tree.settling.settled = counted  # type: ignore[method-assign,assignment]
    driver.step(a=[(99, 0, 99)], b=[], c=[(98, 0, 98)])
    assert max(asked) == 1


def test_what_a_stream_without_rows_is_joined_with_waits() -> None:
    driver = Driver(NESTED)
    assert rows_of(driver.step(a=[(1, 0, 1)])) == []
    assert rows_of(driver.step(b=[(9, 6, 9)])) == []
    assert rows_of(driver.step(c=[(9, 101, 9)])) == [(1, None, None)]
