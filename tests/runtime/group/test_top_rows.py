"""The first rows of groups against Python's own sort, row by row, over random rows and batches."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.plan.aggregate import COUNT, OrderColumn, TopPlan
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.top_rows import TopRows

Row = tuple[Any, ...]


def place(value: Any, by: OrderColumn) -> tuple[int, Any]:
    if value is None:
        return (0 if by.nulls_first else 2, 0)
    return (1, -value if by.descending else value)


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("keys", [(), ("g",)])
def test_the_first_rows_are_those_of_a_sort(most: int, keys: tuple[str, ...]) -> None:
    draw = random.Random(f"{most} {keys}")
    for number in range(30):
        orders = tuple(
            OrderColumn(name, draw.random() < 0.5, draw.random() < 0.5) for name in draw.sample(["x", "y", "z"], 3)
        )
        top = TopRows(TopPlan(most, orders, ("x", "y", "z")), keys)
        seen: list[Row] = []
        for batch in range(4):
            values = (None, *range(3 + number % 5))
            rows = [(draw.choice((1, 2, None)), *draw.choices(values, k=3)) for _ in range(draw.randint(1, 8))]
            seen += rows
            columns = {n: pa.array([r[i] for r in rows], pa.int64()) for i, n in enumerate(("g", "x", "y", "z"))}
            columns[COUNT] = pa.array(np.ones(len(rows), np.int64))
            first = pa.array(grouped([columns[name] for name in keys], len(rows)).first)
            top.add(batch, columns, {name: columns[name].take(first) for name in keys})
        groups = list(dict.fromkeys(row[0] for row in seen)) if keys else [None]
        asked = {name: pa.array(groups, pa.int64()) for name in keys}
        places, columns, numbers = top.first(asked)
        found: dict[int, list[Row]] = {}
        for n, at in enumerate(places):
            assert numbers[n] == len(found.setdefault(int(at), [])) + 1
            found[int(at)].append(tuple(columns[name][n].as_py() for name in ("x", "y", "z")))
        for at, group in enumerate(groups):
            own = [row[1:] for row in seen if not keys or row[0] == group]
            ranked = sorted(own, key=lambda r: [place(r["xyz".index(by.name)], by) for by in orders])
            assert found[at] == ranked[:most]
        assert top.tally.live <= most * len(groups)
