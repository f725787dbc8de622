"""A cell is kept within its share, however far a batch is above it."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk
from tests.runtime.driving import Driver, plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
SCRIPT = (
    STREAM.format("r") + STREAM.format("s") + "SELECT /*+ {} */ r.n, s.n AS m FROM r, s WHERE r.k = s.k "
    "AND s.ts - r.ts BETWEEN -60 AND 60;"
)


@pytest.mark.parametrize("budget", ["1 ROWS", "100 ROWS", "1 KB", "64 KB"])
@pytest.mark.parametrize("policy", ["gain", "prob", "life", "rand"])
def test_a_backfill_far_above_the_budget_is_joined_and_evicted_without_a_warning(budget: str, policy: str) -> None:
    plan = plan_of(SCRIPT.format(f"BUDGET({budget}), EVICT({policy})"))
    cell, random, rows = Cell(plan), np.random.default_rng(1), 60_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, size in enumerate((rows, rows, 3, rows)):
            tables = {
                name: pa.table(
                    {
                        "k": random.integers(0, rows, size),
                        "ts": number * rows + np.arange(size),
                        "n": np.arange(size),
                    }
                )
                for name in "rs"
            }
            step = cell.step(Batch(number, tuple(Chunk.of(plan, name, 0, table) for name, table in tables.items())))
            amount, unit = budget.split()
            held = sum(step.metrics.state_rows.values()) if unit == "ROWS" else step.metrics.state_bytes / 1024
            assert held <= int(amount)


def test_nothing_is_evicted_below_the_budget_and_a_batch_without_rows_is_none() -> None:
    driver = Driver(SCRIPT.format("BUDGET(4 ROWS)"))
    assert driver.step().metrics.loss is not None
    loss = driver.step(r=[(1, 1, 0), (2, 1, 0)], s=[(3, 1, 0), (4, 1, 0)]).metrics.loss
    assert loss is not None
    assert (loss.evicted, loss.recall()) == (0, (None, None))


def test_of_rows_worth_the_same_the_eldest_goes_first() -> None:
    driver = Driver(SCRIPT.format("BUDGET(2 ROWS), EVICT(prob)"))
    driver.step(r=[(1, 1, 1)])
    driver.step(r=[(2, 1, 2)])
    driver.step(r=[(3, 1, 3)])
    given = driver.step(s=[(1, 1, 0), (2, 1, 0), (3, 1, 0)])
    assert sorted(given.rows.column(0).to_pylist()) == [2, 3]
