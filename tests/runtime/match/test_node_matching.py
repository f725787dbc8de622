"""What matches at a node: who is able to at all, and what the indexes find of rows that wait."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.join.rows import ABSENT
from penstock.runtime.join.sides import StreamSide, WaitingSide
from penstock.runtime.match import node_matching
from penstock.runtime.match.node_matching import NodeMatcher, truth
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver, rows_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "abc"
)
NESTED = (
    f"{STREAMS} SELECT a.n, b.n AS m, c.n AS o FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9 "
    "LEFT JOIN c ON a.k = c.k AND c.n >= b.n AND c.ts - a.ts BETWEEN 0 AND 1000;"
)


def top(driver: Driver) -> NodeMatcher:
    *_, node = driver.cell.tree.nodes.values()
    return node.matcher


def filled() -> Driver:
    driver = Driver(NESTED)
    driver.step(a=[(1, 0, 1), (2, 0, 2)], b=[(1, 1, 5), (2, 1, 6)], c=[(1, 2, 5), (1, 2, 4), (2, 2, 9)])
    return driver


def test_a_row_is_able_only_with_the_streams_that_the_conditions_read() -> None:
    rows = {"a": np.array([0, 1, 1]), "b": np.array([0, ABSENT, 1])}
    assert top(filled()).able(rows).tolist() == [True, False, True]


def test_a_row_with_a_null_that_is_read_is_not_able_and_is_given_at_once() -> None:
    driver = Driver(NESTED)
    first = driver.step(a=[(1, 0, 1)], b=[(1, 1, None)], c=[(1, 2, 5)])
    assert rows_of(first) == [(1, None, None)]


def test_no_rows_are_able() -> None:
    none = np.zeros(0, np.int64)
    assert not len(top(filled()).able({"a": none, "b": none}))


def test_rows_match_the_stored_tuples_of_a_stream() -> None:
    driver = filled()
    side = StreamSide("c", driver.cell.synopses["c"], retained=False)
    left, right = top(driver).with_stream({"a": np.array([1, 0]), "b": np.array([ABSENT, 0])}, side, ALL)
    assert (left.tolist(), right.tolist()) == ([1], [0])


def test_what_is_near_holds_all_that_agree_and_no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_matching, "FEW", 0)
    driver = filled()
    (waiting,) = driver.cell.tree.waiting
    assert isinstance(waiting, WaitingSide)
    everything, keys = waiting.rows(ALL)
    rows, near = top(driver).near({"c": np.array([2])}, waiting, ALL)
    assert set(near.tolist()) < set(keys.tolist())
    assert rows["a"].tolist() == [1] * len(near)
    assert sorted(everything["a"].tolist()) == [0, 1]
    places, matched, matched_keys = top(driver).with_rows({"c": np.array([0, 1, 2])}, waiting, ALL)
    assert sorted(zip(places.tolist(), matched["a"].tolist(), matched["b"].tolist(), strict=True)) == [
        (0, 0, 0),
        (2, 1, 1),
    ]
    assert set(matched_keys.tolist()) <= set(keys.tolist())


def test_where_no_key_ties_all_rows_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_matching, "FEW", 0)
    driver = Driver(NESTED.replace("a.k = c.k AND ", ""))
    driver.step(a=[(1, 0, 1), (2, 0, 2)], b=[(1, 1, 5), (2, 1, 6)], c=[(7, 0, 9)])
    (waiting,) = driver.cell.tree.waiting
    assert len(top(driver).near({"c": np.array([0])}, waiting, ALL)[1]) == len(waiting.rows(ALL)[1]) > 1


@pytest.mark.parametrize("worth", [False, True])
def test_a_test_of_an_absent_stream_is_worth_what_was_said(worth: bool) -> None:
    driver = Driver(f"{STREAMS} SELECT a.n FROM a LEFT JOIN b ON a.k = b.k AND a.n > 3;")
    (column,) = (test.column for test in driver.plan.tree.tests)
    driver.step(a=[(1, 0, 5), (1, 0, 2)], b=[])
    said = truth(driver.cell.synopses["a"], column, np.array([0, ABSENT]), {column: worth})
    assert said.tolist() == [True, worth]
