"""Bags against bags of whole results: joined and projected, they stand for as many rows and the same sums."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.aggregate import Fold
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.measures import measured

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(-5, 5)), max_size=12)


def bag(rows: list[tuple[int, int, int]], column: str, measure: str) -> Bag:
    """One row for each (owner, carried, value), in the order of owners."""
    rows = sorted(rows)
    owner, carried, values = (np.array([row[n] for row in rows], np.int64) for n in range(3))
    made = measured(Fold.SUM, pa.array(values))
    return Bag(owner, {column: pa.array(carried)}, np.ones(len(rows), np.int64), {measure: made})


def told(found: Bag, *names: str) -> dict[tuple[int, ...], tuple[int, ...]]:
    """By owner and carried columns: how many rows, and their sums."""
    columns = [found.columns[name].to_pylist() for name in sorted(found.columns)]
    sums = [found.measures[name].words.tolist() for name in names]  # type: ignore[union-attr]
    total: Counter[tuple[Any, ...]] = Counter()
    keys = list(zip(found.owner.tolist(), *columns, strict=True))
    parts = [Counter[Any]() for _ in range(len(names) + 1)]
    for n, key in enumerate(keys):
        parts[0][key] += int(found.count[n])
        for part, values in zip(parts[1:], sums, strict=True):
            part[key] += values[n]
    total.update(keys)
    return {key: tuple(part[key] for part in parts) for key in total}


@given(ROWS, ROWS)
def test_a_join_of_bags_is_the_bag_of_the_join(left: Any, right: Any) -> None:
    one, other = bag(left, "x", "p"), bag(right, "y", "q").owned(np.array(sorted(r[0] for r in right), np.int64))
    joined = one.joined(one.owner, other)
    wanted: dict[Any, list[int]] = {}
    for owner, x, p in left:
        for key, y, q in right:
            if key == owner:
                entry = wanted.setdefault((owner, x, y), [0, 0, 0])
                entry[0] += 1
                entry[1] += p
                entry[2] += q
    assert told(joined, "p", "q") == {key: tuple(entry) for key, entry in wanted.items()}


@given(ROWS)
def test_a_projection_adds_up_what_has_become_equal(rows: Any) -> None:
    found = bag(rows, "x", "p").owned(np.zeros(len(rows), np.int64))
    wanted: dict[Any, list[int]] = {}
    for _, x, p in rows:
        entry = wanted.setdefault((0, x), [0, 0])
        entry[0] += 1
        entry[1] += p
    assert told(found, "p") == {key: tuple(entry) for key, entry in wanted.items()}
    assert len(found) == len(wanted)


def test_rows_that_are_absent_stand_for_one_each() -> None:
    found = bag([(0, 1, 7)], "x", "p").where(np.array([False, True]))
    assert found.count.tolist() == [1, 1]
    assert found.columns["x"].to_pylist() == [None, 1]
    assert found.measures["p"].held.tolist() == [0, 1]  # type: ignore[union-attr]


def test_a_bag_without_carried_columns_keeps_its_count() -> None:
    bare = Bag(np.zeros(3, np.int64), {}, np.array([1, 2, 3]), {})
    assert bare.owned(np.array([0, 0, 1])).count.tolist() == [3, 3]
    assert bare.table().num_rows == 3
