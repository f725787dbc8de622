"""What keeping a row is worth under outer joins and EXISTS, as far as it is other than the pairs to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.runtime.budget.outer_gain import OuterGain
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = "".join(map(STREAM.format, "rst"))
ON = "r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 100"
QUERIES = {
    "left": f"r.n FROM r LEFT JOIN s ON {ON}",
    "exists": f"r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {ON})",
    "not exists": f"r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {ON})",
}
PAIRS = np.array([0.0, 0.5, 8.0])


def gain(kind: str, alias: str, pairs: Any = PAIRS, keys: Any = (1, 2, 3)) -> list[float]:
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(1000 ROWS) */ {QUERIES[kind]};")
    rows: dict[str, list[tuple[int | None, ...]]] = {alias: [(k, 1, 0) for k in keys]}
    driver.step(**rows)
    gains = OuterGain(driver.plan, driver.cell.synopses)
    ids = driver.cell.synopses[alias].ids(ALL)
    assert len(ids) == len(keys)
    hashed = np.array(keys, np.uint64)
    ones = np.ones(len(keys))
    lives = np.arange(1, len(keys) + 1).astype(np.float64)
    found: list[float] = gains.of(alias, ids, pairs, ones, keys=hashed, lives=lives).tolist()
    return found


def test_a_kept_row_is_worth_its_pairs_and_the_chance_that_it_has_none() -> None:
    assert gain("left", "r") == pytest.approx([1.0, 0.5 + np.exp(-0.5), 8.0 + np.exp(-8.0)])
    assert gain("left", "s") == PAIRS.tolist()


def test_a_row_of_exists_is_given_once_however_many_match() -> None:
    assert gain("exists", "r") == pytest.approx([0.0, 1 - np.exp(-0.5), 1 - np.exp(-8.0)])


def test_of_the_rows_of_one_key_the_one_that_lives_longest_does_for_all() -> None:
    same = gain("exists", "s", np.full(3, 2.0), (7, 7, 8))
    assert same[1] == same[2] == 2.0
    assert same[0] < 0.01


def test_a_row_of_not_exists_is_worth_the_more_the_less_it_meets_and_what_it_meets_next_to_nothing() -> None:
    assert gain("not exists", "r") == pytest.approx([1.0, np.exp(-0.5), np.exp(-8.0)])
    assert max(gain("not exists", "s")) < 0.01


def test_no_rows_are_worth_nothing() -> None:
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(1000 ROWS) */ {QUERIES['left']};")
    gains = OuterGain(driver.plan, driver.cell.synopses)
    nothing = np.zeros(0)
    ids, keys = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    assert gains.of("r", ids, nothing, nothing, keys=keys, lives=nothing).tolist() == []


def test_in_a_tree_a_stream_counts_by_the_first_join_above_it_that_is_no_inner_one() -> None:
    query = f"r.n FROM r LEFT JOIN s ON {ON} WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = r.k)"
    driver = Driver(f"{STREAMS} SELECT /*+ BUDGET(1000 ROWS) */ {query};")
    roles = OuterGain(driver.plan, driver.cell.synopses).roles
    assert {alias: (node.kind.value, is_left) for alias, (node, is_left) in roles.items()} == {
        "r": ("left outer join", True),
        "s": ("left outer join", False),
        "t": ("not exists", False),
    }
