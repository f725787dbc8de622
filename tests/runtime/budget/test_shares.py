"""Shares of cells: together never more than the budget, by need, and the same to the last row in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime import Chunk
from penstock.runtime.budget.shares import Shares, bucket_counts, buckets_of, is_shared_by_key
from penstock.runtime.input.headers import Header
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, j BIGINT, n BIGINT);"
STREAMS = "".join(map(STREAM.format, "rst"))
PAIR = STREAMS + "SELECT /*+ BUDGET({}) */ r.n FROM r, s WHERE r.k = s.k;"
CHAIN = STREAMS + "SELECT /*+ BUDGET({}) */ r.n FROM r, s, t WHERE r.k = s.k AND s.j = t.j;"


def headers(keys: Sequence[int | None], cells: int, script: str = PAIR) -> list[Header]:
    """Of a chunk of r and one of s that have these keys."""

    plan = plan_of(script.format("100 ROWS"))
    table = pa.table(
        {"k": pa.array(keys, pa.int64()), "j": pa.array(keys, pa.int64()), "n": pa.array(keys, pa.int64())}
    )
    found = []
    for stream in "rs":
        chunk = Chunk.of(plan, stream, 0, table)
        counts = bucket_counts(plan, stream, table, cells)
        by_cell = [0] * cells
        for bucket, rows in zip(counts[::2], counts[1::2], strict=True):
            by_cell[bucket % cells] += rows
        found.append(replace(chunk.header, by_cell=tuple(by_cell), by_key={stream: counts}))
    return found


def test_one_cell_has_all_and_many_without_rows_an_equal_part() -> None:
    plan = plan_of(PAIR.format("100 ROWS"))
    alone = Shares(plan, 0, 100)
    assert alone.of(100) == 100
    alone.read([])
    assert alone.of(100) == 100


@pytest.mark.parametrize("limit", [1, 7, 100, 100_000])
def test_all_shares_together_are_at_most_the_budget_and_nearly_all_of_it(limit: int) -> None:
    plan = plan_of(PAIR.format("100 ROWS"))
    cells = [Shares(plan, number, 100) for number in range(3)]
    random = np.random.default_rng(1)
    for _ in range(6):
        told = headers(random.zipf(1.5, 200).clip(max=50).tolist(), 3)
        for cell in cells:
            cell.read(told)
        shares = [cell.of(limit) for cell in cells]
        assert sum(shares) <= limit
        assert sum(shares) >= limit - len(cells)
        assert len({tuple(cell.needs) for cell in cells}) == 1


def test_a_cell_with_the_frequent_key_has_more_than_its_part_of_the_rows() -> None:
    """One key comes as often as forty others together."""
    plan = plan_of(PAIR.format("100 ROWS"))
    cells = [Shares(plan, number, 40) for number in range(2)]
    for _ in range(8):
        told = headers([7] * 40 + list(range(100, 140)), 2)
        for cell in cells:
            cell.read(told)
    home = next(n for n, rows in enumerate(told[0].by_cell) if rows >= 40)
    rows = [cell.of(40) for cell in cells]
    assert rows[home] > 40 * told[0].by_cell[home] / 80


def test_a_null_falls_into_no_bucket() -> None:
    plan = plan_of(PAIR.format("100 ROWS"))
    table = pa.table({"k": pa.array([None, None, 3], pa.int64())})
    assert bucket_counts(plan, "r", table, 4)[1::2] == (1,)
    assert bucket_counts(plan, "r", table.slice(0, 0), 4) == ()


def test_needs_by_key_want_one_key_over_all_and_room() -> None:
    assert is_shared_by_key(plan_of(PAIR.format("100 ROWS")))
    assert not is_shared_by_key(plan_of(CHAIN.format("100 ROWS")))
    assert not is_shared_by_key(plan_of(PAIR.format("1 MB")))
    assert is_shared_by_key(plan_of(PAIR.format("64 MB")))


@pytest.mark.parametrize("cells", [1, 3, 64, 5_000])
def test_a_bucket_lies_in_one_cell(cells: int) -> None:
    assert buckets_of(plan_of(PAIR.format("100 ROWS")), cells) % cells == 0
