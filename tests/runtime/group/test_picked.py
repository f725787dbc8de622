"""Picked values against Python's own, over random rows, groups and batches; ties and NULLs among them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.picked import Picked

Row = tuple[Any, Any]


def by_hand(rows: list[Row], *, greatest: bool) -> Any:
    sign = 1 if greatest else -1

    def rank(value: Any) -> Any:
        return (0,) if value is None else (1, sign * value)

    known = [row for row in rows if row[1] is not None]
    return max(known, key=lambda row: (rank(row[1]), rank(row[0])))[0] if known else None


def picked(rows: list[Row], *, greatest: bool) -> Picked:
    values, by = (pa.array([row[n] for row in rows], pa.int64()) for n in (0, 1))
    return Picked.of(values, by, greatest=greatest)


@pytest.mark.parametrize("greatest", [True, False])
def test_of_groups_and_of_what_comes_later_the_same_is_picked(greatest: bool) -> None:
    draw = random.Random(greatest)
    for _ in range(200):
        rows = [(draw.choice((None, 1, 2, 3)), draw.choice((None, 1, 2))) for _ in range(draw.randint(2, 9))]
        own = [draw.randint(0, 2) for _ in rows]
        groups = grouped([pa.array(own)], len(rows))
        found = picked(rows, greatest=greatest).summed(groups).values.to_pylist()
        names = [own[first] for first in groups.first]
        wanted = [by_hand([r for r, g in zip(rows, own, strict=True) if g == n], greatest=greatest) for n in names]
        assert found == wanted
        half = len(rows) // 2
        one, other = (picked(part, greatest=greatest) for part in (rows[:half], rows[half : 2 * half]))
        both = one.plus(np.arange(half), other).values.to_pylist()
        pairs = zip(rows[:half], rows[half : 2 * half], strict=True)
        assert both == [by_hand([*pair], greatest=greatest) for pair in pairs]


def test_texts_and_nested_values_are_picked_too() -> None:
    values = pa.array([{"a": 1}, {"a": 2}, None])
    found = Picked.of(values, pa.array(["x", "y", "z"]), greatest=True)
    groups = grouped([pa.array([1, 1, 2])], 3)
    assert found.summed(groups).values.to_pylist() == [{"a": 2}, None]
    assert found.where(np.array([True, False, True, True])).by.to_pylist() == ["x", None, "y", "z"]
